"""The Program: names resolved, types known, sizes symbolic, `repeat` folded; the same on every mesh."""
