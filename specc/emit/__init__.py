"""What leaves specc: the standalone script, and what starts it."""
