"""`dropout(x, p)`: use the part `Dropout`, whose place in the model keys the mask."""

from __future__ import annotations

from specc.vocabulary.record import Later

RECORD = Later("dropout", "functions", "declare a part: `drop: Dropout(0.1)`, then `drop(x)`")
