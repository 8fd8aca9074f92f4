"""What a random spec is to be: drawn first, so that its model and its layout fit each other."""

from __future__ import annotations

from random import Random

import attrs

CONTEXT = (
    *("ulysses",) * 4, *("copies",) * 3, *("ring",) * 4, "zigzag", "mixed", "mixed", "nested"
)  # fmt: skip
TENSORS = ("heads", "kv", "ff", "vocab")


@attrs.frozen
class Aim:
    """The choices that model and layout share.

    Args:
        kind: `tokens` has ids and logits; `floats` has [B, S, d] and a result; `rows` has [B, d].
        context: how an axis splits S: a method, `plain` (no method), or None.
        data: axes that split B: `plain`, `nested` (sub-axes) or `two`.
        copies: an axis of ranks that do the same work.
        tensors: dims that an axis `tp` splits; empty without one.
        otherwise: `else S` under that axis.
        has_attention: somewhere in the model.
        sizes: of every dim that a model may use, in the order of declaration.
    """

    kind: str
    context: str | None
    data: str | None
    copies: bool
    tensors: tuple[str, ...]
    otherwise: bool
    has_attention: bool
    sizes: dict[str, int]

    @property
    def lead(self) -> tuple[str, ...]:
        """Dims before the last one of the values that run through the model."""
        return ("B",) if self.kind == "rows" else ("B", "S")


def draw_aim(rng: Random) -> Aim:
    """One aim; the same for the same state of the generator."""
    kind = rng.choice(("tokens", "tokens", "tokens", "floats", "floats", "rows"))
    has_attention = kind != "rows" and rng.random() < 0.8
    context = None
    if kind != "rows" and rng.random() < 0.65:
        context = rng.choice(CONTEXT) if has_attention else "plain"
    tensors = _tensors(rng) if rng.random() < 0.15 else ()
    return Aim(
        kind=kind,
        context=context,
        data=rng.choice(("plain", "plain", "plain", "nested", "two", None)),
        copies=rng.random() < 0.1,
        tensors=tensors,
        otherwise=bool(tensors) and kind != "rows" and rng.random() < 0.6,
        has_attention=has_attention,
        sizes=_sizes(rng),
    )


def _tensors(rng: Random) -> tuple[str, ...]:
    if rng.random() < 0.4:
        return TENSORS
    return tuple(sorted(rng.sample(TENSORS, rng.randint(1, 3)), key=TENSORS.index))


def _sizes(rng: Random) -> dict[str, int]:
    """Sizes that differ, so that a dim in another's place shows."""
    heads = rng.choice((2, 4, 4, 6, 8, 8))
    sizes = {
        "B": rng.choice((2, 4, 6, 8, 8, 12, 16)),
        "S": rng.choice((4, 6, 8, 8, 12, 16, 24)),
        "heads": heads,
        "kv": rng.choice([n for n in range(1, heads + 1) if heads % n == 0]),
        "hd": rng.choice((4, 4, 4, 6, 8)),  # over two elements a norm gives signs
    }
    others = {
        "T": (3, 5, 6, 10),
        "vd": (3, 4, 5, 6, 8),
        "d": (8, 10, 12, 14, 16, 20, 24),
        "ff": (12, 16, 18, 24, 28, 32, 40),
        "small": (4, 6, 8, 9, 10, 12),
        "out": (3, 5, 7, 8, 12),
        "vocab": (16, 24, 30, 32, 40, 48, 64),
        "ctx": (24, 25, 32),
    }
    for name, choices in others.items():
        free = [size for size in choices if size not in sizes.values()]
        sizes[name] = rng.choice(free or list(choices))
    return sizes
