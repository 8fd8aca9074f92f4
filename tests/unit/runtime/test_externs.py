"""`check --externs` compares an extern with its declaration, and puts sure things right."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.checking import check, run_cli
from tests.repository import ROOT

Found = Callable[..., list[dict[str, Any]]]

OWN = """
import torch
from torch import nn


class Own(nn.Module):
    def __init__(self, width, state, bias=False):
        super().__init__()
        if width % 4:
            raise ValueError(f"width {width} is no multiple of 4")
        self.inside = nn.Linear(width, 2 * state, bias=bias)
        self.outside = nn.Linear(2 * state, width, bias=False)
        self.register_buffer("scale", torch.ones(3))
        self.register_buffer("cache", torch.ones(5), persistent=False)

    def forward(self, x):
        return self.outside(self.inside(x)) * self.scale.sum()


class Odd(nn.Module):
    def __init__(self, width, state):
        super().__init__()
        assert (width, state) == (32, 16), "built with other sizes"
        self.weight = nn.Parameter(torch.empty(width, width))

    def forward(self, x):
        return x @ self.weight


def last(x):
    return x[..., 0]


def chosen(x):
    return x if x.sum().item() > 0 else -x


def pair(x):
    return x, "text"


def broken(x):
    raise RuntimeError("no kernel\\nfor this shape")
"""
PARAMS = """\
  param inside.weight:  [2*state, d]
  param outside.weight: [d, 2*state]  # rows are features
  buffer scale: [3]
"""


def text(path: str = "own:Own", body: str = PARAMS, init: str = "d, state = state") -> str:
    return f"""\
specc 1
extern "{path}" block Own[B, d, state](x: [B, d]) -> [B, d] {{
  init({init})
{body}  split B
}}
dim B = 4, d = 32, state = 16
model M(x: [B, d]) -> y: [B, d] {{
  a: Linear(d -> state) -> Linear(state -> d)
  own: Own(state = state)
  return own(a(x))
}}
train {{
  data {{ x = randn }}
  loss = mean(y)
  optimizer = SGD(lr = 0.1)
  steps = 1
}}
"""


def function(name: str) -> str:
    """As `text`, with an extern function."""
    plain = text(f"own:{name}", "  call = function\n").replace("  init(d, state = state)\n", "")
    plain = plain.replace("Own[B, d, state](", "Own[B, d](")
    plain = plain.replace("  own: Own(state = state)\n", "")
    return plain.replace("own(a(x))", "Own(a(x))")


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Found]:
    """Check a text whose module `own` lies beside it, in `m.spec`."""

    def findings(spec: str, *flags: str) -> list[dict[str, Any]]:
        files = [("m.spec", spec), ("own.py", OWN), ("bad.py", "1 / 0\n")]
        return check(files, ["--externs", "--target", "cpu", *flags], tmp_path)

    yield findings
    for name in ("own", "bad"):  # the next test has another folder
        sys.modules.pop(name, None)


def said(findings: list[dict[str, Any]]) -> list[str]:
    return [f"{f['code']} {f['title']}" for f in findings]


def test_an_extern_as_declared_is_clean(found: Found) -> None:
    assert found(text()) == []
    assert found(text(init="d, state = state, bias = false")) == []


def test_what_is_not_there_is_told_with_what_is_near(found: Found) -> None:
    [finding] = found(text("own:Wn"))
    assert said([finding]) == ["E0501 `own` has no `Wn`"]
    assert finding["labels"][0]["start"]["col"] == 13
    [finding] = found(text("own:Owm"))
    assert [way["text"] for way in finding["help"]] == ["did you mean `Own`?"]
    [finding] = found(text("owns:Own"))
    assert said([finding]) == ["E0501 there is no module `owns` here"]
    assert [way["text"] for way in finding["help"]] == ["did you mean `own`?"]


def test_what_an_import_a_constructor_or_a_call_raises_is_told(found: Found) -> None:
    expected = "E0504 importing `bad` raises ZeroDivisionError: division by zero"
    assert said(found(text("bad:Own"))) == [expected]
    [finding] = found(text(init="30, state = state"))
    assert finding["title"] == (
        "`Own(30, state=16)` raises ValueError: width 30 is no multiple of 4"
    )
    [finding] = found(function("broken"))
    assert finding["title"] == "calling `broken` with [4, 32] raises RuntimeError: no kernel"
    assert finding["notes"] == ["`Own` is `own:broken`", "for this shape"]


def test_a_result_that_depends_on_values_is_a_warning(found: Found) -> None:
    [finding] = found(function("chosen"))
    assert (finding["code"], finding["severity"]) == ("E0504", "warning")


def test_results_are_compared(found: Found) -> None:
    expected = "E0502 `last` gives [4], its declaration says [4, 32]"
    assert said(found(function("last"))) == [expected]
    expected = "E0502 `pair` gives [4, 32], str, its declaration says [4, 32]"
    assert said(found(function("pair"))) == [expected]


def test_a_shape_is_put_right_by_what_follows_the_dims(found: Found, tmp_path: Path) -> None:
    wrong = text(body=PARAMS.replace("[2*state, d]", "[d, state]"))
    [finding] = found(wrong)
    assert finding["title"] == (
        "`Own.inside.weight` is [32, 32], its declaration says [d, state] = [32, 16]"
    )
    assert found(wrong, "--fix") == []  # 32 is d, and 2*state: another size has told them apart
    assert (tmp_path / "m.spec").read_text() == text()


def test_a_parameter_that_is_not_there_is_told_with_what_is_near(found: Found) -> None:
    findings = found(text(body=PARAMS.replace("inside.weight", "insid.weight")))
    assert said(findings)[-1] == "E0502 `Own` has no parameter `insid.weight`"
    assert findings[-1]["help"][0]["text"] == "did you mean `inside.weight`?"


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_missing_lines_are_written(found: Found, tmp_path: Path, kept: int) -> None:
    body = "".join(PARAMS.splitlines(keepends=True)[:kept])
    [finding] = found(text(body=body))
    count = f"{3 - kept} tensors" if kept < 2 else "a buffer"
    assert said([finding]) == [f"E0503 `Own` has {count} its declaration does not list"]
    assert found(text(body=body), "--fix") == []
    written = (tmp_path / "m.spec").read_text()
    assert "  param outside.weight: [d, 2*state]" in written
    assert "  buffer scale: [3]\n" in written


def test_lines_are_written_into_one_line(found: Found, tmp_path: Path) -> None:
    declared, rest = text(body="").split("\n  init", 1)
    one_line = f"{declared} init{rest}".replace("\n  split B\n}", "\n split B }", 1)
    assert [f["code"] for f in found(one_line)] == ["E0503"]
    assert found(one_line, "--fix") == []


def test_sizes_that_cannot_be_told_apart_are_left_to_the_reader(found: Found) -> None:
    [finding] = found(text("own:Odd", body=""))
    assert finding["code"] == "E0503"
    assert finding["help"][0]["applicability"] == "likely"


def test_saved_buffers_count_and_others_do_not(found: Found) -> None:
    [finding] = found(text(body=PARAMS.replace("  buffer scale: [3]\n", "")))
    assert finding["labels"][0]["text"] == "missing: scale [3]"


def test_a_buffer_is_no_parameter(found: Found, tmp_path: Path) -> None:
    wrong = text(body=PARAMS.replace("buffer scale", "param scale"))
    [finding] = found(wrong)
    assert finding["title"] == "`Own.scale` is a buffer, its declaration says `param`"
    assert found(wrong, "--fix") == []
    assert (tmp_path / "m.spec").read_text() == text()


PIECES = """
import torch
from torch import nn


class Feed(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(self.up(x).relu())


class Fixed(Feed):
    def __init__(self, width, inner):
        super().__init__(width, 32)


class Cached(Feed):
    def __init__(self, width, inner):
        super().__init__(width, inner)
        self.register_buffer("slopes", torch.ones(inner), persistent=False)


class Kept(Feed):
    def forward(self, x):
        return self.down(self.up(x).relu()) if self.up.out_features == 32 else self.up(x)


class Whole(Feed):
    def __init__(self, width, inner):
        super().__init__(width, inner)
        assert inner == 32, "another width"
"""


def pieces(name: str) -> str:
    return f"""\
specc 1
extern "pieces:{name}" block Feed[B, d, ff](x: [B, d]) -> [B, d] {{
  init(d, ff)
  param up.weight:   [ff, d]
  param up.bias:     [ff]
  param down.weight: [d, ff]
  split B
  sum ff
}}
dim B = 4, d = 8, ff = 32
model M(x: [B, d]) -> y: [B, d] {{
  feed: Feed
  return feed(x)
}}
mesh {{ tp = 2 }}
layout {{ tp: shard ff }}
train {{
  data {{ x = randn }}
  loss = mean(y)
  optimizer = SGD(lr = 0.1)
  steps = 1
}}
"""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Feed", []),
        (
            "Fixed",
            [
                "E0502 `Fixed.up.weight` is [32, 8] on a rank of `tp`, and its piece is [ff, d] =",
                "E0502 `Fixed.up.bias` is [32] on a rank of `tp`, and its piece is [ff] = [16]",
                "E0502 `Fixed.down.weight` is [8, 32] on a rank of `tp`, and its piece is ",
            ],
        ),
        (
            "Cached",
            ["E0502 the buffer `Cached.slopes` is [32], and [16] on a rank of `tp`: a buffer is"],
        ),
        (
            "Kept",
            ["E0502 `Kept` gives [4, 16] on a rank of `tp`, its declaration says [4, 8]"],
        ),
        (
            "Whole",
            ["E0504 `Whole(8, 16)` on a rank of `tp` raises AssertionError: another width"],
        ),
    ],
)
def test_an_extern_is_made_with_a_rank_s_sizes(name: str, says: list[str], tmp_path: Path) -> None:
    files = [("m.spec", pieces(name)), ("pieces.py", PIECES)]
    findings = check(files, ["--externs", "--target", "cpu"], tmp_path)
    sys.modules.pop("pieces", None)
    shown = said(findings)
    assert [text[: len(want)] for text, want in zip(shown, says, strict=True)] == says


def test_what_an_extern_prints_is_not_part_of_the_findings(found: Found, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(f"print('hello')\n{OWN}")
    assert found(text("loud:Own")) == []
    sys.modules.pop("loud")


def test_without_externs_nothing_is_imported(tmp_path: Path) -> None:
    files = [("m.spec", text("bad:Own")), ("bad.py", "1 / 0\n")]
    assert check(files, ["--target", "cpu"], tmp_path) == []


def test_the_example_of_the_repository_is_as_declared() -> None:
    code, _, err = run_cli(["check", "--externs", str(ROOT / "specs" / "extern.spec")])
    assert code == 0, err
