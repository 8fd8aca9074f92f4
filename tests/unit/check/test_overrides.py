"""Levels of values: file, `on TARGET`, profile, `--set`."""

from __future__ import annotations

import pytest

from specc.check.overrides import settle
from specc.diagnostics import Report
from tests.unit.check.specs import (
    TRAIN,
    examined,
    facts,
    findings,
    only,
    program,
    says,
    situation,
    spec,
)

LEVELS = spec(
    more="on cpu { train.steps = 7, train.seed = 7 }\n"
    "profile small { depth = 2, train.steps = 8\n  mesh { dp = 4 } }"
)


def test_each_level_beats_the_one_before() -> None:
    assert facts(spec()).training.steps == 5
    assert facts(LEVELS).training.steps == 7
    assert facts(LEVELS, profile="small").training.steps == 8
    found = facts(LEVELS, profile="small", sets={"train.steps": "2*3"})
    assert (found.training.steps, found.training.seed) == (6, 7)


def test_nested_settings_are_sugar_for_paths() -> None:
    found = facts(LEVELS, profile="small")
    assert (found.mesh.world, found.sizes["depth"]) == (4, 2)


def test_a_block_of_another_target_does_nothing() -> None:
    assert facts(LEVELS, target="cuda").training.steps == 5


def test_the_origin_of_every_value_is_known() -> None:
    settled = settle(program(LEVELS), situation(profile="small"), Report())
    levels = {path: settled.values[path].level for path in ("d", "depth", "mesh.dp", "train.seed")}
    assert levels == {
        "d": "file",
        "depth": "profile small",
        "mesh.dp": "profile small",
        "train.seed": "on cpu",
    }


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("mesh.pd", "did you mean `mesh.dp`?"),
        ("steps", "did you mean `train.steps`?"),
        ("train.stpes", "did you mean `train.steps`?"),
        ("dpeth", "did you mean `depth`?"),
    ],
)
def test_a_path_that_does_not_exist_has_a_near_match(path: str, near: str) -> None:
    finding = only(findings(spec(), sets={path: "4"}), "E0606")
    assert finding.title == f"--set {path}=4: the spec has no `{path}` that can be set"
    assert [h.text for h in finding.helps] == [near]
    assert finding.labels[0].span.source.name == "<command line>"


def test_rules_cannot_be_overridden() -> None:
    finding = only(findings(spec(more="profile p { layout.dp.per = 4 }"), profile="p"), "E0606")
    assert "let a rule use a `let`" in finding.notes[0]


def test_a_path_twice_on_one_level_is_an_error() -> None:
    text = spec(more="profile p { train.steps = 1, train { steps = 2 } }")
    assert says(findings(text), "E0203") == "`train.steps` is set twice in `profile p` @ steps = 2"
    double = situation(sets={"d": "4"})
    again = double.overrides * 2
    report = Report()
    settle(program(spec()), type(double)("cpu", overrides=again), report)
    assert [d.code for d in report.diagnostics] == ["E0203"]


def test_faulty_levels_are_found_even_where_they_are_not_used() -> None:
    text = spec(more="on musa { train.stepz = 1 }")
    assert says(findings(text), "E0606").startswith("the spec has no `train.stepz`")


def test_a_named_layout_is_chosen_by_a_level_or_from_outside() -> None:
    text = spec(
        more="layout long { dp: shard B\n dp: shard params per Block }\non cuda { layout = long }"
    )
    assert facts(text).layout.name == ""
    assert facts(text, target="cuda").layout.name == "long"
    assert facts(text, layout="long").situation.layout == "long"
    finding = only(findings(text, layout="lng"), "E0608")
    assert finding.title == "the spec has no layout `lng`"
    assert finding.helps[0].text == "did you mean `long`?"


def test_an_unknown_profile_lists_those_there_are() -> None:
    finding = only(findings(LEVELS, profile="smal"), "E0608")
    assert finding.notes == ("profiles here: small",)


def test_a_device_block_that_changes_the_model_is_warned_of() -> None:
    finding = only(findings(spec(more="on cpu { depth = 1 }")), "E0607")
    assert finding.severity == "warning"
    assert "changes the dim `depth`" in finding.title
    assert not findings(spec(more="on cpu { depth = 1 }"), target="cuda")


# ---------------------------------------------------------------------------- data fields

TUPLE = spec(
    train=TRAIN.replace(
        "ids = randint(vocab), labels: i64[B, S] = randint(vocab)",
        'ids, labels = text("builtin")',
    ).replace("AdamW", "AdamW"),
    dims="""\
dim d = 16, ff = 4*d, vocab = 256, depth = 1
dim heads = 4, kv = 2, hd = d/heads
dim S = 8
dim B = 2*dp
""",
    more="profile all { train.data { ids = randint(vocab), labels = randint(vocab) } }\n"
    'profile both { train.data { ids, labels = tokens("x.bin") } }',
)


def test_overriding_every_name_of_a_tuple_removes_its_source() -> None:
    fields = facts(TUPLE, profile="all").training.fields
    assert [(f.name, f.group) for f in fields] == [("ids", ("ids",)), ("labels", ("labels",))]
    assert {s.name for s in facts(TUPLE, profile="all").training.sources.values()} == {"randint"}


def test_a_tuple_may_get_another_source_for_all_its_names() -> None:
    found = facts(TUPLE, profile="both").training
    assert [f.group for f in found.fields] == [("ids", "labels")] * 2
    assert found.sources["labels"].name == "tokens"


def test_overriding_some_names_of_a_tuple_names_the_rest() -> None:
    finding = only(findings(TUPLE, sets={"train.data.ids": "randint(4)"}), "E0606")
    assert finding.helps[0].text == "set `labels` too"


def test_a_field_that_does_not_exist_has_a_near_match() -> None:
    finding = only(findings(spec(), sets={"train.data.label": "randint(4)"}), "E0606")
    assert finding.helps[0].text == "did you mean `train.data.labels`?"


def test_examination_labels_what_the_base_lacks() -> None:
    text = spec(more="profile p { heads = 3 }")
    found = examined(text)
    assert [(d.code, d.situation) for d in found] == [("E0206", "profile p")]
