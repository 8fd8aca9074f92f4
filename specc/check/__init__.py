"""A Program in a Situation: every number, rule and setting evaluated, or diagnostics that say why not."""
