"""Places in test sources, found by their text."""

from specc.diagnostics import Label
from specc.source import Source, Span


def at(source: Source, text: str, nth: int = 0) -> Span:
    """The place of the nth occurrence of `text`, counted from 0."""
    start = -1
    for _ in range(nth + 1):
        start = source.text.index(text, start + 1)
    return Span(source, start, start + len(text))


def label(source: Source, text: str, remark: str = "", nth: int = 0) -> Label:
    return Label(at(source, text, nth), remark)


def file(name: str, **lines: str) -> Source:
    """A source whose line N is the keyword `lN`; the lines between are empty."""
    numbered = {int(key.removeprefix("l")): text for key, text in lines.items()}
    text = "\n".join(numbered.get(number, "") for number in range(1, max(numbered) + 1))
    return Source(name, text + "\n")
