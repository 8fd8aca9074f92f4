"""Writes the pages of all codes: `python -m specc.diagnostics.pages docs/errors`."""

from __future__ import annotations

import sys
from pathlib import Path

from specc.diagnostics.page import CODES, FAMILIES, codes, page

ORIGIN = (
    "<!-- From specc/diagnostics/codes, by `python -m specc.diagnostics.pages docs/errors`. -->"
)


def documents(folder: Path = CODES) -> dict[str, str]:
    """File name and text of the index and of every page."""
    pages = [page(code, folder) for code in codes(folder)]
    written = {f"{each.code}.md": f"{ORIGIN}\n\n{each.text.rstrip()}\n" for each in pages}
    index = [ORIGIN, "", "# Errors and warnings", ""]
    index += ["`specc explain CODE` prints the same pages. One code has one meaning for ever.", ""]
    for prefix, name in FAMILIES.items():
        members = [each for each in pages if each.code.startswith(prefix)]
        if members:
            index += [f"## {name}", "", "| code | finding |", "|---|---|"]
            index += [
                f"| [{each.code}]({each.code}.md) | {_cell(each.title)} |" for each in members
            ]
            index.append("")
    written["index.md"] = "\n".join(index).rstrip() + "\n"
    return written


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def stale(target: Path, folder: Path = CODES) -> list[str]:
    """Names of files in `target` that are missing, differ, or belong to no code."""
    wanted = documents(folder)
    there = {path.name: path.read_text(encoding="utf-8") for path in target.glob("*.md")}
    return sorted(name for name in wanted.keys() | there if wanted.get(name) != there.get(name))


def main(arguments: list[str]) -> int:
    """Write the pages into the folder given; 0 if that worked, 2 without a folder."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m specc.diagnostics.pages FOLDER\n")
        return 2
    target = Path(arguments[0])
    target.mkdir(parents=True, exist_ok=True)
    wanted = documents()
    for name in stale(target):
        if name in wanted:
            (target / name).write_text(wanted[name], encoding="utf-8")
        else:
            (target / name).unlink()
    sys.stdout.write(f"{len(wanted)} pages in {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
