"""The Plan: a Program in a Situation, every number known."""
