"""Everything that a spec can call by name: one record per name, found by discovery."""
