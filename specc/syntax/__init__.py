"""The text of specs: its typed tree, what is wrong with it, and its format."""
