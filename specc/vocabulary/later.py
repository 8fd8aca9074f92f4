"""Names of the closed vocabulary that this version knows and cannot build yet."""

from __future__ import annotations

from specc.vocabulary.record import Later

_NAMES = {
    "parts": ("CausalConv", "Experts", "RelativeBias", "Router"),
    "functions": (
        "argmax",
        "balance_loss",
        "drop_path",
        "l2_normalize",
        "sinusoid",
        "ssd",
        "stack",
        "take",
        "unstack",
    ),
    "losses": ("contrastive",),
    "optimizers": ("Adafactor", "Lion", "Muon"),
    "data": (
        "arrays",
        "diffuse",
        "drop",
        "images",
        "jsonl",
        "mask_tokens",
        "pairs",
        "parquet",
        "random",
        "spans",
    ),
    "inits": ("inverse_softplus", "log_uniform", "sincos"),
    "words": ("yarn",),
    "methods": ("all_to_all", "pipeline"),
}
_INSTEAD = {
    "data": "write the ids to a file and read it with `tokens(..)`",
    "optimizers": "use `AdamW` or `SGD`",
    "methods": "use `ulysses`, `ring`, or another axis",
}
LATER = {
    (kind, name): Later(name, kind, _INSTEAD.get(kind, ""))
    for kind, names in _NAMES.items()
    for name in names
}
