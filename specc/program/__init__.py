"""The Program: names resolved, types known, sizes symbolic; the same on every mesh."""
