"""From the facts of a Plan to the one text of the training."""
