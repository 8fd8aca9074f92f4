"""The text of `specc explain CODE`."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

from specc.diagnostics.diagnostic import SpeccError
from specc.diagnostics.page import CODES, codes, page


def explain(code: str, folder: Path = CODES) -> str:
    """The page of a code in Markdown; `e0406`, `W0406` and `406` mean `E0406`.

    Raises:
        SpeccError: if there is no such code, with those that are near, or those about that word.
    """
    wanted = _normal(code)
    if wanted in codes(folder):
        return page(wanted, folder).text
    near = _near(wanted, folder)
    listed = "".join(f"\n  {each}  {page(each, folder).title}" for each in near)
    hint = f"; did you mean one of these?{listed}" if near else "; codes look like `E0406`"
    raise SpeccError(f"there is no code `{code}`{hint}", exit_code=2)


def _normal(code: str) -> str:
    digits = re.fullmatch(r"[ew]?(\d{3,4})", code.strip().strip("[]").lower())
    return f"E{digits[1]:0>4}" if digits else code.strip()


def _near(wanted: str, folder: Path) -> list[str]:
    known = codes(folder)
    if re.fullmatch(r"E\d{4}", wanted):
        family = [code for code in known if code[:3] == wanted[:3]]
        return sorted(get_close_matches(wanted, family or known, n=4, cutoff=0.6))
    word = wanted.lower()
    return [code for code in known if word and word in page(code, folder).title.lower()][:8]
