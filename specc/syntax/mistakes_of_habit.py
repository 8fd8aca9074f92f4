"""Rules for what other languages have and a spec has not."""

from __future__ import annotations

from specc.syntax.brief import brief
from specc.syntax.fault import Fault, Finding, Rule, Way
from specc.syntax.patch import Cut

_STATEMENTS = {
    "if": "choose between named layouts, or change sizes in a `profile`",
    "else": "choose between named layouts, or change sizes in a `profile`",
    "elif": "choose between named layouts, or change sizes in a `profile`",
    "for": "repeat a part with `repeat n Block`",
    "while": "repeat a part with `repeat n Block`",
    "def": "declare a `block`",
    "class": "declare a `block`",
    "import": 'bring in blocks with `from "file.spec" use Block`',
    "include": 'bring in blocks with `from "file.spec" use Block`',
    "lambda": "declare a `block`",
    "with": "precision and recomputation are rules of `layout`",
}
_OPERATORS = {
    "and": "write one `check` for each condition",
    "or": "a `check` holds one comparison; use `min` and `max`",
    "not": "use the opposite comparison",
    "if": "choose between named layouts, or change sizes in a `profile`",
    "for": "repeat a part with `repeat n Block`",
    "is": "compare with `==`",
}


def statement_of_another_language(fault: Fault) -> Finding | None:
    """`if ..`, `for ..`, `import ..`."""
    way = _STATEMENTS.get(fault.first())
    if way is None or fault.at > 1 or fault.first(1) in {":", "=", ","}:
        return None
    word = fault.first()
    return Finding(
        "E0122", f"there is no `{word}` in a spec", "not a keyword", first=0, ways=(Way(way),)
    )


def operator_of_another_language(fault: Fault) -> Finding | None:
    """`a and b`, `not a`, `x if y else z`."""
    for offset in (0, -1):
        way = _OPERATORS.get(fault.word(offset))
        if way is not None and fault.at + offset > 0:
            word = fault.word(offset)
            title = f"there is no `{word}` in a spec"
            index = fault.at + offset
            return Finding("E0122", title, "not an operator", first=index, ways=(Way(way),))
    return None


def double_slash(fault: Fault) -> Finding | None:
    """`// a comment`, or `a // b`."""
    if fault.word() == "/" and fault.kind_of(1) and fault.first(1) in {"/", "*"} and not fault.at:
        return _comment(fault, 0)
    if fault.word() not in {"/", "*"} or fault.word(-1) != "/" or not fault.touches():
        return None
    cut = Cut(fault.lexemes[fault.at - 1].start, fault.lexemes[fault.at].end, "/")
    if fault.word() == "*" or not fault.works(cut):
        return _comment(fault, fault.at - 1)
    return Finding(
        "E0122",
        "there is no operator `//`",
        "not an operator",
        first=fault.at - 1,
        last=fault.at,
        ways=(
            Way("`/` divides, in a size without a rest", (cut,), is_guess=True),
            Way("a comment begins with `#`"),
        ),
    )


def _comment(fault: Fault, index: int) -> Finding:
    first, second = fault.lexemes[index : index + 2]
    return Finding(
        "E0122",
        f"comments begin with `#`, not with `{first.text}{second.text}`",
        "not a comment",
        first=index,
        last=index + 1,
        ways=(Way("write `#`", (Cut(first.start, second.end, "#"),)),),
    )


def power(fault: Fault) -> Finding | None:
    """`x**2`."""
    if fault.word() != "*" or fault.word(-1) != "*" or not fault.touches():
        return None
    base = fault.lexeme(-2)
    name = base.text if base and base.kind in {"name", "number"} else "x"
    ways = (Way(f"write `{name}*{name}`; `sqrt` and `exp` are functions"),)
    if base and base.kind in {"name", "number"} and fault.word(1) == "2":
        cut = Cut(base.start, fault.lexemes[fault.at + 1].end, f"{name}*{name}")
        ways = (Way(f"write `{name}*{name}`", (cut,)),)
    return Finding(
        "E0122",
        "there is no operator `**`",
        "not an operator",
        first=fault.at - 1,
        last=fault.at,
        ways=ways,
    )


_PAIRS = {":=": "=", "=>": "->", "::": ":", "<-": "="}


def _pair(fault: Fault) -> int | None:
    """Index of the first of two signs side by side, of which one is the fault."""
    for first in (fault.at - 1, fault.at):
        if first < 0 or first + 1 >= len(fault.lexemes):
            continue
        left, right = fault.lexemes[first : first + 2]
        if left.kind == right.kind == "sign" and left.end == right.start:
            return first
    return None


def compound_assignment(fault: Fault) -> Finding | None:
    """`x += y`."""
    first = _pair(fault)
    if first is None or fault.first(first + 1) != "=" or fault.first(first) not in set("+-*/%"):
        return None
    operator, name = fault.first(first), fault.first(first - 1)
    cuts = ()
    if first == 1:
        ends = fault.lexemes[first].start, fault.lexemes[first + 1].end
        cuts = (Cut(*ends, f"= {name} {operator}"),)
    return Finding(
        "E0122",
        f"there is no operator `{operator}=`",
        "not an operator",
        first=first,
        last=first + 1,
        ways=(Way(f"write `{name} = {name} {operator} ..`", cuts, is_guess=True),),
    )


def operator_with_extra_sign(fault: Fault) -> Finding | None:
    """`x := y`, `x => f`."""
    first = _pair(fault)
    if first is None:
        return None
    pair = fault.first(first) + fault.first(first + 1)
    better = _PAIRS.get(pair)
    if better is None:
        return None
    cut = Cut(fault.lexemes[first].start, fault.lexemes[first + 1].end, better)
    return Finding(
        "E0122",
        f"there is no `{pair}` in a spec",
        "not a sign",
        first=first,
        last=first + 1,
        ways=(Way(f"write `{better}`", (cut,)),),
    )


def path_without_quotes(fault: Fault) -> Finding | None:
    """`from lib.llama use Block`."""
    if fault.first() != "from" or fault.at != 1 or fault.kind != "file" or not fault.word():
        return None
    use = fault.at_top("use")
    last = len(fault.lexemes) - 1 if use is None else use - 1
    path = fault.text[fault.lexemes[1].start : fault.lexemes[max(last, 1)].end]
    return Finding(
        "E0101",
        f"expected a path in double quotes, found `{brief(path)}`",
        "not a string",
        first=1,
        last=max(last, 1),
        ways=(Way('the path of a file is a string: `from "lib/llama.spec" use Block`'),),
    )


HABITS: tuple[Rule, ...] = (
    double_slash,
    statement_of_another_language,
    operator_of_another_language,
    power,
    compound_assignment,
    operator_with_extra_sign,
    path_without_quotes,
)
