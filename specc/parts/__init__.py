"""Plain torch functions and modules that a training text calls; their source is what a script carries."""
