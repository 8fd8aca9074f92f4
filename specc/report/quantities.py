"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def bytes_text(number: int) -> str:
    """`1.87 GiB`, `416 MiB`: three digits that count."""
    value, unit = float(number), UNITS[0]
    for unit in UNITS:
        if value < 1000 or unit == UNITS[-1]:
            break
        value /= 1024
    if unit == "B":
        return f"{number} B"
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def sizes_text(sizes: Iterable[int]) -> str:
    """`[16, 4096]`."""
    return "[" + ", ".join(str(size) for size in sizes) + "]"


def table(rows: Sequence[Sequence[str]], indent: int = 2, numbers: Sequence[int] = ()) -> list[str]:
    """Rows in columns; those in `numbers` are flush right.

    Args:
        rows: all of one length.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.rjust(width) if index in numbers else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(" " * indent + "  ".join(cells).rstrip())
    return lines
