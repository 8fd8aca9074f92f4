"""All situations of a file, and what a target lacks."""

from __future__ import annotations

from specc.check.situations import difference, situations
from tests.unit.check.specs import examined, facts, findings, only, program, situation, spec

FILE = spec(
    "dp: shard B\ndp: shard params per Block\nprecision { params = bf16 }",
    more="on cuda { train.seed = 1 }\non musa { train.seed = 2 }\n"
    "profile small { depth = 1 }\nlayout long { dp: shard B\n dp: shard params\n"
    "precision { params = bf16 } }",
)


def test_the_base_comes_first_then_targets_profiles_and_layouts() -> None:
    base = situation()
    found = situations(program(FILE), base)
    assert found[0] == base
    assert [difference(s, base) for s in found[1:]] == [
        "on cuda",
        "on musa",
        "profile small",
        "layout long",
    ]


def test_what_the_base_chooses_is_not_varied() -> None:
    base = situation(profile="small", layout="long")
    assert [s.target for s in situations(program(FILE), base)] == ["cpu", "cuda", "musa"]


def test_a_finding_of_all_situations_is_said_once_and_bare() -> None:
    text = FILE.replace("steps = 5", "stepz = 5")
    assert [(d.code, d.situation) for d in examined(text)] == [("E0610", ""), ("E0601", "")]


def test_a_finding_of_one_situation_says_which() -> None:
    text = FILE.replace("dp: shard params\n", "dp: shard prams\n")
    assert [(d.code, d.situation) for d in examined(text)] == [("E0405", "layout long")]


def test_an_open_world_is_tried_with_more_ranks() -> None:
    text = spec(mesh="dp = world").replace("B = 2*dp", "B = 2")
    assert [(d.code, d.situation) for d in examined(text)] == [("E0406", "world 4")]
    assert not examined(text, world=2)


def test_all_is_well_with_a_good_file() -> None:
    assert not examined(FILE)


def test_names_that_nothing_uses_are_warned_of_in_the_base() -> None:
    text = spec(more="dim lonely = 4, first = 2*second, second = 3\nlet rate = 1/S")
    found = examined(text)
    assert [(d.code, d.title, d.severity) for d in found] == [
        ("E0237", f"dim `{name}` is never used", "warning")
        for name in ("lonely", "first", "second")
    ] + [("E0237", "let `rate` is never used", "warning")]
    assert not examined(
        text.replace("lonely", "k")
        .replace("S = 8", "S = 2*k*first*rows")
        .replace("let rate = 1/S", "let rows = 1")
    )


# ------------------------------------------------------------------------------------ target


def test_an_unknown_target_lists_those_there_are() -> None:
    finding = only(findings(spec(), target="cudo"), "E0608")
    assert finding.notes == ("targets: cpu, cuda, musa",)
    assert finding.helps[0].text == "did you mean `cuda`?"
    assert (
        only(findings(spec(more="on mush { train.seed = 1 }")), "E0608").labels[0].span.text
        == "mush"
    )


def test_what_a_target_lacks_is_said_where_it_is_asked_for() -> None:
    rule = 'compile each Block { mode = "reduce-overhead" }'
    finding = only(findings(spec(f"dp: shard B\n{rule}")), "E0702")
    assert (finding.severity, finding.labels[0].span.text) == ("warning", rule)
    assert not findings(spec(f"dp: shard B\n{rule}"), target="cuda")


def test_a_captured_graph_must_not_free_its_parameters() -> None:
    layout = (
        "dp: shard B\ndp: shard params per Block { reshard_after_forward = KEEP }\n"
        'compile each Block { mode = "reduce-overhead" }'
    )
    freed = findings(spec(layout.replace("KEEP", "true")), target="cuda")
    assert "parameters that stay" in only(freed, "E0702").title
    assert not findings(spec(layout.replace("KEEP", "false")), target="cuda")


def test_machines_that_are_not_known_are_only_warned_of() -> None:
    text = spec("dp: shard B\nfsdp: shard params per Block", "dp = 4 { rep = 2, fsdp = 2 }")
    assert only(findings(text), "E0702").severity == "warning"
    assert facts(text, target="cuda")


def test_large_heads_are_told_where_the_kernel_has_a_limit() -> None:
    text = spec("dp: shard B\nprecision { params = bf16 }").replace("hd = d/heads", "hd = 256")
    titles = [d.title for d in findings(text, target="musa")]
    assert any("heads are too large" in title for title in titles)
    small = [
        d.title for d in findings(spec("dp: shard B\nprecision { params = bf16 }"), target="musa")
    ]
    assert not any("heads are too large" in title for title in small)


def test_a_library_has_no_facts_and_no_faults() -> None:
    block = "block Twice[d](x: [.., d]) -> [.., d] {\n  return x + x\n}\n"
    assert not findings("specc 1\n" + block)
    assert findings("specc 1\ndim a = 7/2\n" + block)[0].code == "E0206"
