"""Constructor words inside settings."""
