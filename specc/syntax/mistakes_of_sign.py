"""Rules for signs: one for another, missing, or doubled."""

from __future__ import annotations

from specc.syntax.brief import brief
from specc.syntax.fault import Fault, Finding, Rule, Way
from specc.syntax.patch import Cut
from specc.syntax.sentences import expectation

_ELEMENT = ("name", ".", "number")
_TERMINALS = {"COMMA": ",", "COLON": ":", "EQUAL": "="}


def colon_for_equal(fault: Fault) -> Finding | None:
    """`loss: mean(logits)` among settings, `dim d: 4096`, `Linear(d -> d, bias: false)`."""
    index = fault.at if fault.word() == ":" else None
    if index is None and fault.kind in {"train", "settings"}:
        # A type may follow a `:` there, so the fault shows later.
        index = fault.at_top(":")
    if index is None or index > fault.at or not fault.works(fault.replace(index, " =")):
        return None
    inside = fault.at_top(":") != index
    what = "arguments" if inside else {"axes": "axes", "file": "sizes"}.get(fault.kind, "settings")
    return Finding(
        "E0101",
        "expected `=`, found `:`",
        f"{what} are written `name = value`",
        first=index,
        ways=(Way("use `=` here", (fault.replace(index, " ="),)),),
    )


def equal_for_colon(fault: Fault) -> Finding | None:
    """`dp = shard B` in a layout, `model M(x = [B, d])`."""
    if fault.word() != "=" or "COLON" not in fault.accepts:
        return None
    expected = expectation(fault.accepts)
    form = "rules are written `axis: what`" if fault.kind == "layout" else "a type follows a `:`"
    return Finding(
        "E0101",
        f"expected {expected}, found `=`",
        f"expected {expected}",
        ways=(Way(f"{form}; use `:` here", (_tight_colon(fault),)),),
    )


def _tight_colon(fault: Fault) -> Cut:
    """A `:` right behind the name."""
    return Cut(fault.lexemes[fault.at - 1].end, fault.lexemes[fault.at].end, ":")


def equal_for_comparison(fault: Fault) -> Finding | None:
    """`check heads = kv`."""
    if fault.word() != "=" or "CMP" not in fault.accepts or fault.first() != "check":
        return None
    return Finding(
        "E0101",
        "expected a comparison, found `=`",
        "`=` gives a name its value",
        ways=(Way("write `==`", (fault.replace(fault.at, "=="),)),),
    )


def chained_comparison(fault: Fault) -> Finding | None:
    """`check 0 < a < b`."""
    signs = {"<", ">", "<=", ">=", "==", "!="}
    earlier = any(fault.first(index) in signs for index in range(fault.at))
    if fault.word() not in signs or not earlier or fault.first() != "check":
        return None
    return Finding(
        "E0101",
        f"comparisons do not chain: a second one, `{fault.word()}`",
        "second comparison",
        ways=(Way("write one `check` for each comparison"),),
    )


def sign_at_line_start(fault: Fault) -> Finding | None:
    """`+ b` on a line of its own: the operator ends a line, it does not begin one."""
    sign = fault.word()
    if fault.at or sign not in {"+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", ","}:
        return None
    ways: tuple[Way, ...] = ()
    if fault.before:
        end = fault.before.end
        cuts = (Cut(end, end, sign if sign == "," else f" {sign}"), fault.replace(0, ""))
        ways = (Way(f"end the line above with `{sign}`", cuts, fault.before.start),)
    return Finding(
        "E0101", f"a line cannot begin with `{sign}`", "the line above has ended", ways=ways
    )


def point_without_digit(fault: Fault) -> Finding | None:
    """`.5` and `5.`."""
    is_element = fault.kind_of(-1) == "name" and fault.touches()
    if fault.word() == "." and fault.kind_of(1) == "number" and fault.touches(1) and not is_element:
        first, better = fault.at, f"0.{fault.word(1)}"
    elif fault.word(-1) == "." and fault.kind_of(-2) == "number" and fault.touches(-1):
        first, better = fault.at - 2, f"{fault.word(-2)}.0"
    else:
        return None
    wrong = f"{fault.first(first)}{fault.first(first + 1)}"
    cut = Cut(fault.lexemes[first].start, fault.lexemes[first + 1].end, better)
    return Finding(
        "E0104",
        f"`{brief(wrong)}` lacks a digit on one side of its point",
        "digits on both sides",
        first=first,
        last=first + 1,
        ways=(Way(f"write `{brief(better)}`", (cut,)),),
    )


def number_as_element(fault: Fault) -> Finding | None:
    """`mlp.2`: an element of a list has its index in brackets."""
    offset = 1 if fault.word() == "." else 0  # at the start of a statement no `.` may follow
    name, point, index = (fault.lexeme(offset - back) for back in (2, 1, 0))
    if not (name and point and index) or (name.kind, point.text, index.kind) != _ELEMENT:
        return None
    return Finding(
        "E0101",
        f"expected a name, found `{brief(index.text)}`",
        "expected a name",
        first=fault.at + offset,
        ways=(
            Way(
                f"an element is written `{name.text}[{brief(index.text)}]`",
                (Cut(point.start, index.end, f"[{index.text}]"),),
            ),
        ),
    )


def missing_sign(fault: Fault) -> Way | None:
    """A `,`, `:` or `=` that makes the statement whole."""
    if not fault.at or fault.at >= len(fault.lexemes):
        return None
    signs = [sign for terminal, sign in _TERMINALS.items() if terminal in fault.accepts]
    if "_NL" in fault.accepts and "," not in signs:
        signs.append(",")
    part = fault.word()[:1].isupper()
    for sign in sorted(signs, key=lambda sign: (sign == ":") is not part):
        cut = fault.insert(f" {sign}" if sign == "=" else sign)
        if fault.works(cut):
            return Way(f"is a `{sign}` missing before `{brief(fault.word())}`?", (cut,))
    return None


SIGNS: tuple[Rule, ...] = (
    colon_for_equal,
    equal_for_colon,
    equal_for_comparison,
    chained_comparison,
    sign_at_line_start,
    point_without_digit,
    number_as_element,
)
