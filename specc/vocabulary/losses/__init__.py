"""Losses, each a sum over elements with a count."""
