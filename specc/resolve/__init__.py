"""From the Tree of a file and its imports to the Program: names, types and shapes."""

from specc.resolve.program import resolve

__all__ = ["resolve"]
