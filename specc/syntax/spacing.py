"""The space between two lexemes on a line, as the format of specs has it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from specc.syntax.scan import CLOSERS, OPENERS, Lexeme, scan

_BEFORE_NOTHING = frozenset({",", ";", ")", "]", ":"})
_SPACED = frozenset({"=", "->", "+", "-", "%", "==", "!=", "<", "<=", ">", ">="})
_NAMES = frozenset({"name", "foreign"})
_TEXTS = frozenset({"number", "string", "quoted", "open_string"})
_KNOWN = frozenset({"sign", *_NAMES, *_TEXTS})
# These are keywords where a statement starts, ...
_STARTERS = frozenset({"return", "check", "tie"})
# ... and these behind a value.
_INFIX_WORDS = frozenset({"as", "in", "except", "per", "via", "within", "else", "use", "on"})


@attrs.frozen
class Spacing:
    """What must be known of a whole text to set the space before each piece of its code.

    Args:
        code: lexemes without white space and comments.
        partner: for each bracket that has one, the index of its partner.
        ends_value: for each lexeme, whether a value may end in it.
        count_ends: indices of lexemes behind which the body of a `repeat` begins.
        num_parentheses: for each lexeme, how many `(` stand before it.
    """

    code: Sequence[Lexeme]
    partner: dict[int, int]
    ends_value: Sequence[bool]
    count_ends: frozenset[int]
    num_parentheses: Sequence[int]

    def gap(self, index: int) -> str:
        """What stands between a lexeme and the one before it on the same line."""
        left, right = self.code[index - 1], self.code[index]
        apart = left.end < right.start
        if left.kind not in _KNOWN or right.kind not in _KNOWN:
            return " " if apart else ""
        if self._has_space(index, left.text, right.text) or (apart and _merges(left, right)):
            return " "
        return ""

    def _has_space(self, index: int, left: str, right: str) -> bool:
        if right in _BEFORE_NOTHING:
            return False
        if left == "{" or right == "}":
            return left + right != "{}"
        if left in {",", ";", ":", "}"} or right == "{":
            return True
        if left in {"(", "[", ".", ".."} or right == ".":
            return False
        if self._is_tight_behind(index - 1):
            return False
        if right in {"(", "["}:
            return not self.ends_value[index - 1] or index - 1 in self.count_ends
        if right in {"*", "/"} and self.ends_value[index - 1]:
            return not self._is_tight_product(index)
        return right != ".." or left in _SPACED

    def _is_tight_behind(self, index: int) -> bool:
        """Whether nothing stands behind an operator: a sign of a number, a tight product."""
        sign = self.code[index].text
        if sign == "-":
            return index == 0 or not self.ends_value[index - 1]
        return sign in {"*", "/"} and self._is_tight_product(index)

    def _is_tight_product(self, index: int) -> bool:
        """Whether `*` or `/` stands close: all products do, but for those of larger calls.

        `heads*hd`, `norm(x)*(1 + scale)`, `embed(ids)*sqrt(d)`, but `silu(gate(x)) * up(x)`.
        """
        calls = self._call_before(index), self._call_after(index)
        return None in calls or not any(self._nests(*call) for call in calls if call)

    def _nests(self, opener: int, closer: int) -> bool:
        return self.num_parentheses[closer] > self.num_parentheses[opener] + 1

    def _call_before(self, index: int) -> tuple[int, int] | None:
        """The brackets of the call that ends before a lexeme."""
        opener = self.partner.get(index - 1)
        if opener is None or self.code[index - 1].text != ")":
            return None
        return (opener, index - 1) if opener and self.ends_value[opener - 1] else None

    def _call_after(self, index: int) -> tuple[int, int] | None:
        """The brackets of the call of a plain name that begins behind a lexeme."""
        closer = self.partner.get(index + 2)
        if closer is None or self.code[index + 1].kind != "name":
            return None
        return (index + 2, closer) if self.code[index + 2].text == "(" else None


def spacing(code: Sequence[Lexeme], starts: frozenset[int]) -> Spacing:
    """What the space in a text depends on.

    Args:
        starts: indices of lexemes that start a line.
    """
    partner: dict[int, int] = {}
    open_: list[int] = []
    num_parentheses: list[int] = []
    for index, lexeme in enumerate(code):
        num_parentheses.append(
            (num_parentheses[-1] if index else 0) + (code[index - 1].text == "(")
        )
        if lexeme.kind != "sign":
            continue
        if lexeme.text in OPENERS:
            open_.append(index)
        elif lexeme.text in CLOSERS and open_ and code[open_[-1]].text == CLOSERS[lexeme.text]:
            opener = open_.pop()
            partner[index], partner[opener] = opener, index
    count_ends = frozenset(_count_end(code, partner, index) for index in range(len(code)))
    return Spacing(code, partner, _value_ends(code, starts), count_ends, num_parentheses)


def _value_ends(code: Sequence[Lexeme], starts: frozenset[int]) -> list[bool]:
    ends: list[bool] = []
    for index, lexeme in enumerate(code):
        is_first = index in starts or code[index - 1].text in {"{", ";"}
        if lexeme.kind not in _NAMES:
            is_end = lexeme.kind in _TEXTS or lexeme.text in {")", "]"}
        elif lexeme.text in _STARTERS:
            is_end = not is_first
        elif lexeme.text in _INFIX_WORDS:
            is_end = is_first or not ends[-1]
        else:
            is_end = lexeme.text != "repeat"
        ends.append(is_end)
    return ends


def _count_end(code: Sequence[Lexeme], partner: dict[int, int], index: int) -> int:
    """Where the count of a `repeat` at an index ends, its `as i` included; -1 for none."""
    if code[index].text != "repeat" or index + 2 >= len(code):
        return -1
    end = partner.get(index + 1, -1) if code[index + 1].text == "(" else index + 1
    if end < 0 or (code[end].kind not in {"name", "number"} and code[end].text != ")"):
        return -1
    if end + 2 < len(code) and code[end + 1].text == "as" and code[end + 2].kind == "name":
        return end + 2
    return end


def _merges(left: Lexeme, right: Lexeme) -> bool:
    """Whether two lexemes would be read as something else without a space between them."""
    if "." in (left.text, right.text) and "number" in (left.kind, right.kind):
        return True  # with the digits on the other side
    return [lexeme.text for lexeme in scan(left.text + right.text)] != [left.text, right.text]
