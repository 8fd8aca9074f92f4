"""Methods by which an axis moves."""
