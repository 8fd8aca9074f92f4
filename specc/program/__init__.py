"""The Program: names resolved, types known, sizes symbolic, `repeat` folded.

The same on every mesh.
"""
