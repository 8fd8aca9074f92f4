"""Plain torch functions and modules that a training text calls.

Their source is what a script carries.
"""
