"""A Program in a Situation: all numbers and rules evaluated, or diagnostics that say why not."""
