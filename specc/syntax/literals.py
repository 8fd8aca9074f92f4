"""Values of numbers with their units, and of strings."""

from __future__ import annotations

import re
from fractions import Fraction

from specc.diagnostics import Edit, Help, Report, nearest
from specc.source import Span
from specc.syntax import tree
from specc.syntax.brief import brief

_COUNTS = {"K": 2**10, "M": 2**20, "G": 2**30}
_BYTES = {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
_SECONDS = {"ms": Fraction(1, 1000), "s": 1, "min": 60, "h": 3600, "d": 86_400}
_RATES = {"GBps": 10**9, "Gbps": Fraction(10**9, 8)}
_UNITS: dict[str, tuple[str, Fraction]] = {
    word: (kind, Fraction(size))
    for kind, sizes in (
        ("", _COUNTS),
        ("bytes", _BYTES),
        ("seconds", _SECONDS),
        ("rate", _RATES),
    )
    for word, size in sizes.items()
}
_UNITS_NOTE = "units: K M G (1024s), KiB MiB GiB TiB, KB MB GB TB, ms s min h d, GBps Gbps"
# What people write for a unit of the language, lower case; the rest is found by likeness.
_OTHER_SPELLINGS = {
    "k": "K",
    "m": "M",
    "g": "G",
    "kb": "KB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "tib": "TiB",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "minutes": "min",
    "mins": "min",
    "hours": "h",
    "hour": "h",
    "days": "d",
    "day": "d",
}
_POWERS = {"B": "e9", "T": "e12"}

_NUMBER = re.compile(r"([0-9][0-9_]*)(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?([A-Za-z0-9_]*)")
_MAX_COUNT = 2**63 - 1
# No number that a person means has more digits or a larger exponent; exact arithmetic stays fast.
_MAX_EXPONENT = 400
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def number_of(text: str, span: Span, report: Report) -> tree.Number:
    """The value of a number as written; a faulty one is reported and gives 1."""
    if text.isdigit() and len(text) < 19 and not text.startswith("0"):
        return tree.Number(int(text), "", text, span)
    match = _NUMBER.fullmatch(text)
    assert match is not None, f"the grammar takes {text!r} for a number"
    whole, decimals, exponent, unit = match.groups(default="")
    if _is_misspelt(text, whole, decimals, span, report):
        return tree.Number(1, "", text, span)
    if unit and unit not in _UNITS:
        _report_unit(text, unit, span, report)
        return tree.Number(1, "", text, span)
    kind, factor = _UNITS.get(unit, ("", Fraction(1)))
    digits = (whole + decimals).replace("_", "")
    value = _value(digits, exponent, factor, is_real=bool(decimals) and not exponent and not unit)
    if value is None or (isinstance(value, int) and value > _MAX_COUNT):
        report.error("E0107", span, f"`{brief(text)}` does not fit into 64 bits", "too large")
        return tree.Number(1, kind, text, span)
    return tree.Number(value, kind, text, span)


def _value(digits: str, exponent: str, factor: Fraction, *, is_real: bool) -> int | float | None:
    """The number in base units, an int where it is whole; None where no 64 bits hold it."""
    if len(digits) > _MAX_EXPONENT or (exponent and abs(int(exponent[1:])) > _MAX_EXPONENT):
        return None
    exact = Fraction(digits + exponent) * factor
    if exact.denominator == 1 and not is_real and (exact <= _MAX_COUNT or not exponent):
        return exact.numerator
    try:
        value = float(exact)
    except OverflowError:
        return None
    return None if exact and not value else value


def _is_misspelt(text: str, whole: str, decimals: str, span: Span, report: Report) -> bool:
    """Report underscores that part no digits, and zeros in front."""
    plain = whole.replace("_", "").lstrip("0") or "0"
    loose = re.search(r"__|_$", whole) or re.search(r"\._|__|_$", decimals)
    if loose:
        title, label = f"`_` in `{brief(text)}` does not part two digits", "between digits only"
    elif len(whole) > 1 and whole.startswith("0"):
        title, label = f"`{brief(text)}` begins with a zero", "octal? decimal?"
    else:
        return False
    # The repaired number keeps single underscores where they part digits.
    repaired = re.sub(r"_+", "_", whole).strip("_")
    repaired = repaired.lstrip("0_") or plain
    fraction = re.sub(r"_+", "_", decimals).replace("._", ".").rstrip("_")
    better = repaired + fraction + text[len(whole) + len(decimals) :]
    fix = Help(f"write `{brief(better)}`", (Edit(span, better),), "sure")
    report.error("E0104", span, title, label, helps=(fix,))
    return True


def _report_unit(text: str, unit: str, span: Span, report: Report) -> None:
    value = text[: len(text) - len(unit)]
    if unit in _POWERS:
        better, reason = value + _POWERS[unit], f"; `{unit}` could mean bytes" * (unit == "B")
    else:
        near = _OTHER_SPELLINGS.get(unit.lower()) or nearest(unit, _UNITS)
        better, reason = (value + near, "") if near else (f"{value}*{unit}", " for the product")
    way = Help(f"write `{brief(better)}`{reason}", (Edit(span, better),), "likely")
    title = f"unknown unit `{brief(unit)}`"
    report.error("E0105", span, title, "not a unit", notes=(_UNITS_NOTE,), helps=(way,))


def text_of(text: str, span: Span, report: Report) -> tree.Text:
    """The value of a string as written; an unknown escape is reported and stays as it is."""

    def value(match: re.Match[str]) -> str:
        letter = match[1]
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        start = span.start + match.start()
        place = Span(span.source, start, start + 2)
        fix = Help(
            f"for a backslash write `\\\\{letter}`", (Edit(place, f"\\\\{letter}"),), "likely"
        )
        report.error(
            "E0120",
            place,
            f"unknown escape `\\{letter}` in a string",
            "not an escape",
            notes=('escapes: \\" \\\\ \\n \\t',),
            helps=(fix,),
        )
        return match[0]

    body = text[1:-1]
    if "\\" not in body:
        return tree.Text(body, span)
    # One character of the quote stands before the body, so match positions are those of `text`.
    return tree.Text(re.sub(r"(?s)\\(.)", value, text)[1:-1], span)
