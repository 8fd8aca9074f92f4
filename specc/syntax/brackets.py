"""Finds brackets without a partner, and says where the missing ones belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from specc.diagnostics import Edit, Help, Report
from specc.source import Source, Span
from specc.syntax.patch import Cut
from specc.syntax.scan import BLANK, CLOSERS, OPENERS, Lexeme, line_heads
from specc.syntax.words import DECLARATIONS

MAX_DEPTH = 64
"""Levels of brackets in each other: far more than a model needs, few enough for any reader."""


@attrs.frozen
class _Open:
    """A bracket that waits for its partner; `line` counts the lines with code."""

    index: int
    line: int


def is_balanced(lexemes: Sequence[Lexeme]) -> bool:
    """Whether every bracket has its partner and none lies too deep."""
    open_: list[str] = []
    for lexeme in lexemes:
        if lexeme.kind != "sign":
            continue
        if lexeme.text in OPENERS:
            open_.append(lexeme.text)
            if len(open_) > MAX_DEPTH:
                return False
        elif lexeme.text in CLOSERS and (not open_ or open_.pop() != CLOSERS[lexeme.text]):
            return False
    return not open_


class Balance:
    """One pass over brackets of which some lack a partner.

    A declaration's word at the start of a line that is not indented closes all that is open, and a
    `}` at the start of a line closes the bracket whose line has the same indentation. Both only
    guess, so they are not used on texts whose brackets balance.

    Attributes:
        cuts: what to put into the text, and to take out of it, so that it balances.
        damaged: offsets of what is reported and cannot be read.
    """

    def __init__(
        self,
        source: Source,
        lexemes: Sequence[Lexeme],
        origin: Callable[[int], int],
        report: Report,
    ) -> None:
        self.source = source
        self.lexemes = lexemes
        self.origin = origin
        self.report = report
        self.heads = line_heads(lexemes)
        self.open: list[_Open] = []
        self.cuts: list[Cut] = []
        self.damaged: list[int] = []
        self.bare_head: int | None = None  # line of a declaration that waits for its `{`

    def run(self) -> None:
        """Look at every line."""
        ends = [index for index, _ in self.heads[1:]] + [len(self.lexemes)]
        skipping = False
        for line, ((head, indent), end) in enumerate(zip(self.heads, ends, strict=True)):
            if indent == 0 and _declares(self.lexemes, head):
                self._close_all(head)
                skipping = False
                has_body = DECLARATIONS[self.lexemes[head].text] is not None
                self.bare_head = line if has_body else None
            for index in range(head, end):
                lexeme = self.lexemes[index]
                if skipping or lexeme.kind != "sign":
                    continue
                if lexeme.text in OPENERS:
                    if lexeme.text == "{":
                        self._close_parentheses(index)
                    self.open.append(_Open(index, line))
                    skipping = self._too_deep()
                elif lexeme.text in CLOSERS:
                    self._pop(index, indent if index == head else None)
        self._close_all(None)

    def _too_deep(self) -> bool:
        """Whether to leave out what is open, and all up to the next declaration."""
        if len(self.open) <= MAX_DEPTH:
            return False
        self.report.error(
            "E0118",
            self._span(self.open[-1].index),
            f"brackets lie more than {MAX_DEPTH} deep in each other",
            f"level {MAX_DEPTH + 1}",
            helps=("give an inner part a name of its own",),
        )
        start = self.lexemes[self.open[0].index].start
        following = (
            self.lexemes[head].start
            for head, indent in self.heads[self.open[-1].line + 1 :]
            if indent == 0 and _declares(self.lexemes, head)
        )
        end = next(following, self.lexemes[-1].end)
        self.cuts.append(Cut(start, end, "\n"))
        head = self.heads[self.open[0].line][0]
        self.damaged.append(self.lexemes[head].start)
        self.open.clear()
        return True

    def _close_parentheses(self, brace: int) -> None:
        """Parentheses hold no braces: those that are open end before one."""
        while self.open and self.lexemes[self.open[-1].index].text != "{":
            self._missing(self.open.pop(), brace, "this `{` comes before it is closed")
        self.bare_head = None

    def _pop(self, index: int, indent: int | None) -> None:
        """Find the partner of a closing bracket.

        Args:
            indent: of the line, if the bracket is the first of it.
        """
        closer = self.lexemes[index].text
        depth = self._partner(closer, indent)
        if depth is None:
            self._stray(index)
            return
        while len(self.open) > depth + 1:
            self._missing(self.open.pop(), index, f"this `{closer}` comes before it is closed")
        self.open.pop()

    def _partner(self, closer: str, indent: int | None) -> int | None:
        """The place in the stack of what `closer` closes."""
        opener = CLOSERS[closer]
        found = None
        for depth in range(len(self.open) - 1, -1, -1):
            text = self.lexemes[self.open[depth].index].text
            if text == opener:
                found = depth if found is None else found
                if closer != "}" or indent is None or self._indent(depth) <= indent:
                    return depth if closer == "}" and self._indent(depth) == indent else found
            elif text == "{":
                # Parentheses never hold braces, so no partner lies beyond one.
                return found
        return found

    def _indent(self, depth: int) -> int:
        return self.heads[self.open[depth].line][1]

    def _stray(self, index: int) -> None:
        """Report a closing bracket that closes nothing, and take it and its false partner out."""
        lexeme = self.lexemes[index]
        self.cuts.append(Cut(lexeme.start, lexeme.end, " "))
        if self.open and self.lexemes[self.open[-1].index].text != "{":
            wrong = self.open.pop()
            opener = self.lexemes[wrong.index].text
            # The right partner stands where the wrong one stood.
            self.cuts[-1] = Cut(lexeme.start, lexeme.end, OPENERS[opener])
            self.report.error(
                "E0102",
                self._span(index),
                f"`{opener}` is closed by `{lexeme.text}`",
                f"expected `{OPENERS[opener]}`",
                also=((self._span(wrong.index), "opened here"),),
            )
            return
        if lexeme.text == "}" and not self.open and self.bare_head is not None:
            self._missing_opener(index, self.bare_head)
            return
        self.damaged.append(lexeme.start)
        self.report.error(
            "E0102",
            self._span(index),
            f"this `{lexeme.text}` closes nothing",
            f"no `{CLOSERS[lexeme.text]}` is open here",
            helps=(f"remove it, or open a `{CLOSERS[lexeme.text]}` before it",),
        )

    def _missing_opener(self, closer: int, line: int) -> None:
        """Report a `}` whose `{` is missing at the end of the line of a declaration."""
        following = self.heads[line + 1][0] if line + 1 < len(self.heads) else closer
        end = self.lexemes[self._code_before(following)].end
        self.cuts[-1] = Cut(end, end, " {")
        self.bare_head = None
        place = Span(self.source, self.origin(end), self.origin(end))
        way = Help("open it with `{`", (Edit(place, " {"),), "likely")
        self.report.error(
            "E0102",
            self._span(closer),
            "this `}` closes nothing",
            "no `{` is open here",
            also=((place, "a `{` is missing here"),),
            helps=(way,),
        )

    def _close_all(self, head: int | None) -> None:
        """Everything that is open ends before the lexeme `head`, or at the end of the file."""
        while self.open:
            self._missing(self.open.pop(), head, "the next declaration starts here")

    def _missing(self, opener: _Open, met: int | None, label: str) -> None:
        """Report a bracket without a partner, and put the partner where it seems to belong."""
        text = self.lexemes[opener.index].text
        closer = OPENERS[text]
        after = self._last_of(opener, met)
        self.cuts.append(Cut(self.lexemes[after].end, self.lexemes[after].end, closer))
        if text != "{":
            # Where a parenthesis ends is a guess that would change what the statement says.
            self.damaged.append(self.lexemes[opener.index].start)
        place = self.origin(self.lexemes[after].end)
        edit = Edit(Span(self.source, place, place), f" {closer}" if closer == "}" else closer)
        also = () if met is None else ((self._span(met), label),)
        self.report.error(
            "E0102",
            self._span(opener.index),
            f"this `{text}` is never closed",
            "opened here",
            also=also,
            helps=(
                Help(f"add the missing `{closer}` {self._where(after, met)}", (edit,), "likely"),
            ),
        )

    def _where(self, after: int, met: int | None) -> str:
        """In words, where a closing bracket is missing that belongs behind the lexeme `after`."""
        line = self._line(after)
        if met is None:
            return f"at the end of line {line}"
        if line == self._line(met):
            return f"before the `{self.lexemes[met].text}`"
        before_declaration = self.lexemes[met].text in DECLARATIONS
        return (
            f"before line {self._line(met)}" if before_declaration else f"at the end of line {line}"
        )

    def _line(self, index: int) -> int:
        return self.source.position(self.origin(self.lexemes[index].start))[0]

    def _last_of(self, opener: _Open, met: int | None) -> int:
        """The last lexeme that seems to belong into a bracket that nobody closed."""
        last = self._code_before(len(self.lexemes) if met is None else met)
        indent = self.heads[opener.line][1]
        is_block = self.lexemes[opener.index].text == "{" and self._ends_line(opener)
        for line in range(opener.line + 1, len(self.heads)):
            head, here = self.heads[line]
            if head > last:
                break
            if here <= indent:
                # Lines of a block that are not indented at all say nothing about its end.
                if is_block and line == opener.line + 1:
                    break
                return max(opener.index, self._code_before(head))
        return max(opener.index, last)

    def _ends_line(self, opener: _Open) -> bool:
        following = opener.line + 1
        end = self.heads[following][0] if following < len(self.heads) else len(self.lexemes)
        return self._code_before(end) == opener.index

    def _code_before(self, index: int) -> int:
        index -= 1
        while index > 0 and self.lexemes[index].kind in BLANK:
            index -= 1
        return index

    def _span(self, index: int) -> Span:
        lexeme = self.lexemes[index]
        return Span(self.source, self.origin(lexeme.start), self.origin(lexeme.end))


def _declares(lexemes: Sequence[Lexeme], head: int) -> bool:
    """Whether a line starts a declaration, rather than a setting named like one."""
    if lexemes[head].text not in DECLARATIONS:
        return False
    following = next((x.text for x in lexemes[head + 1 : head + 4] if x.kind != "space"), "")
    return following not in {"=", ":", ".", ","}
