"""Ways to draw a weight."""
