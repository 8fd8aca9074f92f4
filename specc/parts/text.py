"""Text as tokens: each byte is one."""

from pathlib import Path
from pydoc_data.topics import topics

import torch

from specc.parts.files import matching_files


def text_tokens(
    pattern: str, length: int, held_out: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """The bytes of a text, in uint8: those to train on, and the last ones, held out from it.

    Args:
        pattern: text files, read whole; "builtin" is the reference of the Python language that
            comes with Python, some 500 kB, a little different in each version.
        length: of a sample; each part must hold one, that is `length` + 1 tokens.
        held_out: fraction of the bytes; 0 leaves the second part empty.

    Exits with a message if no file matches or a part is too short.
    """
    data = builtin_text() if pattern == "builtin" else read_files(pattern)
    cut = len(data) - int(len(data) * held_out)
    for part in (cut, len(data) - cut) if held_out else (cut,):
        if part <= length:
            raise SystemExit(
                f"{pattern}: {part:,} of its {len(data):,} bytes are too few for one sample of "
                f"{length + 1:,}: shorten the samples or give more text"
            )
    tokens = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return tokens[:cut], tokens[cut:]


def builtin_text() -> bytes:
    """The language reference of the running Python, topics in the order of their names."""
    return "\n\n".join(text for _, text in sorted(topics.items())).encode()


def read_files(pattern: str) -> bytes:
    """The files that match `pattern`, in the order of their names, a newline between them."""
    return b"\n".join(Path(path).read_bytes() for path in matching_files(pattern))
