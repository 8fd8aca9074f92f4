"""Sources of data fields."""
