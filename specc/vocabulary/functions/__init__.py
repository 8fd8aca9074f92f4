"""Functions on values."""
