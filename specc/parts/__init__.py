"""The torch code that a training text calls; its source is what a script carries."""
