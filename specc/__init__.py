"""A small language that says a distributed training once."""

__version__ = "0.1.0"
