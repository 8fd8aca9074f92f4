"""What README and docs show is true: specs check, commands exist and print this, links lead on.

The first line of a block says what holds for its text:

- `spec`: a whole file without findings; `spec file=NAME` also lies there for later blocks;
- `spec fragment`: declarations that parse;
- `spec E0212`: a whole file whose findings are of this code;
- `bash`: every line that starts with `specc` has flags that exist;
- `console`: every line that starts with `$` is run, and the lines below it are what it prints,
  where a line `...` stands for any number of lines, and at the end of a line for any text;
- `python emitted=FILE`: pieces, parted by lines `...`, of the script of an earlier block;
- `python`: compiles; `python run` is run by tests/runs/test_docs.py.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from specc.cli.verbs import VERBS, verb
from specc.source import Source
from specc.syntax.parse import parse
from tests.checking import check, run_cli
from tests.repository import ROOT
from tests.unit.docs.markdown import FENCE, Block, all_blocks, blocks, pages, text_of

CODE = re.compile(r"E\d{4}")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
NEEDS_TORCH = {"run", "doctor", "verify"}  # what they print depends on the machine


def named(found: list[Block]) -> list[object]:
    return [pytest.param(block, id=block.place) for block in found]


def files_before(block: Block) -> list[tuple[str, str]]:
    """Name and text of every file that the page has shown before a block."""
    shown = [b for b in blocks(block.page) if b.line < block.line and b.setting("file")]
    return [(b.setting("file"), b.text) for b in shown]


def codes_of(block: Block) -> set[str]:
    return {word for word in block.words if CODE.fullmatch(word)}


# ---------------------------------------------------------------------------------------- specs

SPECS = all_blocks("spec")


@pytest.mark.parametrize("block", named([b for b in SPECS if "fragment" not in b.words]))
def test_a_spec_has_the_findings_that_the_page_says(block: Block, tmp_path: Path) -> None:
    name = block.setting("file") or "run.spec"

    found = check([(name, block.text), *files_before(block)], ["--target", "cpu"], tmp_path)

    assert {finding["code"] for finding in found} == codes_of(block), found


@pytest.mark.parametrize("block", named([b for b in SPECS if "fragment" in b.words]))
def test_a_fragment_parses(block: Block) -> None:
    _, found = parse(Source(block.place, block.text))

    assert [finding.title for finding in found] == []


def test_specs_are_formatted(tmp_path: Path) -> None:
    for number, block in enumerate(b for b in SPECS if not codes_of(b)):
        (tmp_path / f"{number}_{block.page.replace('/', '_')}_{block.line}.spec").write_text(
            block.text, encoding="utf-8"
        )

    _, out, err = run_cli(["fmt", "--diff", *sorted(map(str, tmp_path.glob("*.spec")))])

    assert out == "", err


# ------------------------------------------------------------------------------------- commands


def commands() -> Iterator[tuple[str, str]]:
    """Place and text of every specc command in a block."""
    for block in all_blocks("bash", "console"):
        for line, text in block.lines:
            command = text.removeprefix("$ ")
            if command.startswith("specc "):
                yield f"{block.page}:{line}", command.partition("  #")[0]


def parser_of(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"specc {name}", exit_on_error=False, allow_abbrev=False)
    verb(name).add_arguments(parser)
    return parser


@pytest.mark.parametrize(("place", "command"), [pytest.param(p, c, id=p) for p, c in commands()])
def test_a_command_has_only_flags_that_exist(place: str, command: str) -> None:
    _, name, *arguments = shlex.split(command)

    assert name in VERBS, place
    parser_of(name).parse_args(arguments)


def test_a_command_with_a_wrong_flag_is_seen() -> None:
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parser_of("check").parse_args(["a.spec", "--tarqet", "cpu"])


def test_files_that_commands_name_are_there() -> None:
    words = {word for _, command in commands() for word in shlex.split(command)}
    missing = {word for word in words if word.startswith("specs/") and not (ROOT / word).exists()}

    assert missing == set()


def test_every_verb_is_on_the_front_page() -> None:
    shown = {command.split()[1] for place, command in commands() if place.startswith("README.md")}

    assert shown == set(VERBS)


@pytest.mark.parametrize("block", named(all_blocks("console")))
def test_commands_print_what_the_page_shows(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    for name, text in files_before(block):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command, expected in transcript(block):
        if command.split()[1] not in NEEDS_TORCH or "--emit" in command:
            assert fits(printed(command), expected), printed(command)


def transcript(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Every command of a block with the lines that it prints."""
    for piece in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *lines = piece.splitlines()
        yield command, lines


def printed(command: str) -> list[str]:
    """What a command prints, remarks first; a redirected output is written to its file."""
    command, _, file = command.partition(" > ")
    if not command.startswith("specc "):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        out, err = done.stdout, done.stderr
    else:
        _, out, err = run_cli(shlex.split(command)[1:])
    if file:
        Path(file.strip()).write_text(out, encoding="utf-8")
        out = ""
    return [line.rstrip() for line in (err + out).splitlines()]


def fits(lines: list[str], expected: list[str]) -> bool:
    """Whether lines are as expected, where `...` stands for any number of them."""
    if not expected:
        return not lines
    if expected[0].strip() == "...":
        return any(fits(lines[skipped:], expected[1:]) for skipped in range(len(lines) + 1))
    return bool(lines) and alike(lines[0], expected[0]) and fits(lines[1:], expected[1:])


def alike(line: str, expected: str) -> bool:
    """Whether a line is as expected, where `...` at its end stands for any text."""
    if expected.endswith("..."):
        return line.startswith(expected.removesuffix("..."))
    return line == expected.rstrip()


def test_an_output_that_differs_is_seen() -> None:
    assert fits(["a", "b", "c"], ["a", "...", "c"])
    assert not fits(["a", "b", "c"], ["a", "c"])
    assert not fits(["a"], [])


# --------------------------------------------------------------------------------------- python


@pytest.mark.parametrize("block", named(all_blocks("python")))
def test_python_compiles(block: Block) -> None:
    if not block.setting("emitted"):
        compile(block.text, block.place, "exec")


@pytest.mark.parametrize("block", named([b for b in all_blocks("python") if b.setting("emitted")]))
def test_a_piece_of_a_script_is_what_is_emitted(block: Block, tmp_path: Path) -> None:
    for name, text in files_before(block):
        (tmp_path / name).write_text(text, encoding="utf-8")
    target = block.setting("target") or "cpu"

    code, out, err = run_cli(["emit", str(tmp_path / block.setting("emitted")), "--target", target])

    assert code == 0, err
    for piece in re.split(r"^\.\.\.\n", block.text, flags=re.MULTILINE):
        assert piece.strip("\n") in out, piece


# ---------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("page", pages())
def test_links_lead_to_files(page: str) -> None:
    folder = (ROOT / page).parent
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text_of(page)))  # `blocks[3](x)` is no link
    targets = [t for t in LINK.findall(prose) if not t.startswith(("http", "mailto"))]

    assert [t for t in targets if not (folder / t).exists()] == []
