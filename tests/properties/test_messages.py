"""Whatever the text and the places, a message can be drawn and its carets stand below its place."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from specc.diagnostics import Diagnostic, Label
from specc.diagnostics.display import displayed
from specc.diagnostics.render import render_github, render_json, render_text
from specc.source import Source, Span

LETTERS = st.sampled_from("ab =(标签\t")
ANYTHING = st.text(st.characters(codec="utf-8"), max_size=200)


@st.composite
def spans(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> Span:
    text = draw(texts)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, len(text)))
    return Span(
        Source(draw(st.sampled_from(("a.spec", "<command line>", "中.spec"))), text), start, end
    )


@given(spans(st.text(LETTERS, min_size=1, max_size=300)), st.integers(8, 120))
def test_carets_stand_below_the_first_character_of_the_place(span: Span, width: int) -> None:
    lines = render_text(Diagnostic("E0204", "t", (Label(span),)), width=width).splitlines()
    shown, under = lines[3].split("| ", 1)[-1], lines[4].split("| ", 1)[-1]
    caret = under.index("^")
    columns = displayed(shown).columns
    first = span.source.text[span.start : span.start + 1].strip()
    if first:
        assert shown[columns.index(caret)] == first
    assert displayed(shown).columns[-1] <= width + 2 * len("...")


@given(st.lists(spans(ANYTHING), min_size=1, max_size=5), ANYTHING, st.integers(1, 120))
def test_any_places_in_any_files_can_be_drawn(places: list[Span], title: str, width: int) -> None:
    labels = tuple(Label(place, title) for place in places)
    diagnostic = Diagnostic("E0204", title, labels, (title,))
    text = render_text(diagnostic, width=width)
    assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"}
    assert render_json(diagnostic).isascii()
    assert len(render_json(diagnostic).splitlines()) == 1
    assert len(render_github(diagnostic).splitlines()) == 1
