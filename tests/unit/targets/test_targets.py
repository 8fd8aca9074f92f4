"""Device families as data: complete, with sources, and right about what a machine lacks."""

from __future__ import annotations

import ast

import pytest

from specc.diagnostics.render import render_text
from specc.source import Source, Span
from specc.targets import TARGETS, UNKNOWN, Platform, Target
from specc.targets.platform import ALWAYS

S4000_2_7 = Platform(torch=(2, 7, 1), plugin=(2, 7, 1), arch=(2, 2))
S5000_2_7 = Platform(torch=(2, 7, 1), plugin=(2, 7, 1, 1), arch=(3, 1))
S5000_2_11 = Platform(torch=(2, 11), plugin=(2, 11, 0, 2), arch=(3, 1))
S80 = Platform(torch=(2, 7, 1), plugin=(2, 7, 1), arch=(2, 1))

ALL = pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
CPU, CUDA, MUSA = TARGETS["cpu"], TARGETS["cuda"], TARGETS["musa"]


def is_certain(
    target: Target, name: str, platform: Platform, sizes: tuple[int, ...] = ()
) -> bool | None:
    """None if the machine has it, else whether that is certain."""
    lack = target.lack(name, platform, sizes)
    return None if lack is None else lack.is_certain


def test_the_families_are_found_by_their_modules() -> None:
    assert list(TARGETS) == ["cpu", "cuda", "musa"]
    assert all(name == target.name == target.device for name, target in TARGETS.items())


@ALL
def test_every_family_answers_for_every_capability_once(target: Target) -> None:
    names = sorted(capability.name for capability in target.capabilities)
    everywhere = {each.name for other in TARGETS.values() for each in other.capabilities}
    assert names == sorted(everywhere)


def test_a_capability_that_no_table_has_is_a_bug_of_the_caller() -> None:
    with pytest.raises(KeyError, match="teleport"):
        MUSA.lack("teleport", UNKNOWN)


@ALL
def test_what_can_be_missing_says_so_and_why(target: Target) -> None:
    for row in target.capabilities:
        if row.needs == ALWAYS:
            continue
        assert row.title, row.name
        assert row.help, row.name
        assert row.source, row.name
        assert row.title[0].islower() or row.title.startswith(("FSDP", "GPU")), row.title
        assert not row.title.endswith(".")


@ALL
def test_every_variable_has_a_source(target: Target) -> None:
    for variable in (*target.variables, *target.harmless):
        assert variable.source
        assert variable.why


@ALL
def test_texts_for_scripts_are_python(target: Target) -> None:
    calls = [text for text in (getattr(target.calls, name) for name in CALLS) if text]
    for text in (*calls, "\n".join(target.full_fp32), "\n".join(target.tf32)):
        ast.parse(text)
    assert bool(target.calls.set_device) == target.binds_device


CALLS = (
    "set_device",
    "synchronize",
    "peak_bytes",
    "reset_peak",
    "total_bytes",
    "capability",
)


# --- what a machine lacks ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name", "platform", "expected"),
    [
        # gloo of torch 2.7 refuses the average that FSDP2 over two axes asks for.
        (CPU, "hsdp", Platform(torch=(2, 7, 1)), True),
        (CPU, "hsdp", Platform(torch=(2, 9, 1)), None),
        (CPU, "hsdp", UNKNOWN, False),
        (CPU, "reduce_overhead", UNKNOWN, True),
        (CUDA, "bf16", UNKNOWN, None),
        (CUDA, "bf16", Platform(arch=(7, 0)), True),
        (CUDA, "fp8", Platform(arch=(8, 9)), None),
        (CUDA, "fp8", Platform(arch=(8, 0)), True),
        (CUDA, "graph_resharding", UNKNOWN, True),
        (MUSA, "bf16", UNKNOWN, None),
        (MUSA, "bf16", S80, True),
        (MUSA, "distributed", S80, True),
        (MUSA, "fp8", S4000_2_7, True),
        (MUSA, "fp8", S5000_2_7, None),
        (MUSA, "fp8", UNKNOWN, False),
        (MUSA, "reduce_overhead", S5000_2_7, True),
        (MUSA, "reduce_overhead", S5000_2_11, None),
        (MUSA, "reduce_overhead", Platform(plugin=(2, 9)), False),
        (MUSA, "graph_collectives", S5000_2_11, True),
        (MUSA, "overlap", S4000_2_7, True),
        (MUSA, "ipv6", UNKNOWN, True),
    ],
)
def test_a_machine_lacks(
    target: Target, name: str, platform: Platform, expected: bool | None
) -> None:
    assert is_certain(target, name, platform) is expected


@pytest.mark.parametrize(
    ("sizes", "platform", "expected"),
    [
        ((128, 128), S4000_2_7, None),
        ((192, 128), S4000_2_7, None),
        ((128, 192), S4000_2_7, True),
        ((256, 256), S4000_2_7, True),
        ((256, 256), UNKNOWN, False),
        ((256, 256), S5000_2_11, None),
    ],
)
def test_the_flash_kernel_of_musa_has_a_largest_head(
    sizes: tuple[int, ...], platform: Platform, expected: bool | None
) -> None:
    assert is_certain(MUSA, "fused_attention_heads", platform, sizes) is expected
    assert CPU.lack("fused_attention_heads", platform, sizes) is None


def test_the_finding_names_both_what_is_needed_and_what_is_there() -> None:
    source = Source("run.spec", '  compile each Block { mode = "reduce-overhead" }\n')
    span = Span(source, 23, 47)
    lack = MUSA.lack("reduce_overhead", S4000_2_7)
    assert lack
    assert render_text(lack.diagnostic(span)).splitlines() == [
        'error[E0702]: compile mode "reduce-overhead" does not work on every musa machine',
        " --> run.spec:1:24",
        "  |",
        '1 |   compile each Block { mode = "reduce-overhead" }',
        "  |                        ^^^^^^^^^^^^^^^^^^^^^^^^ captures device graphs",
        "  |",
        (
            "  = note: it needs torch_musa 2.9 or newer and mp_31 (S5000) or newer; "
            "here: mp_22 (S4000), torch 2.7.1, torch_musa 2.7.1"
        ),
        "  = note: source: rel v2.9.0; MooreThreads/vllm-musa issue 184: capture crashes on S4000",
        '  = help: set the mode to "default" in `on musa`',
    ]


def test_a_machine_that_is_not_known_gets_a_warning() -> None:
    span = Span(Source("a.spec", "fp8"), 0, 3)
    certain, unknown = MUSA.lack("fp8", S4000_2_7), MUSA.lack("fp8", UNKNOWN)
    assert certain
    assert unknown
    assert certain.diagnostic(span).severity == "error"
    assert unknown.diagnostic(span).severity == "warning"
    assert "the machine is not known here" in unknown.diagnostic(span).notes[0]


# --- choices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        (S4000_2_7, []),
        (S5000_2_7, ["TORCH_MUSA_FSDP2_OVERLAP_LEVEL=2"]),
        (S5000_2_11, ["TORCH_MUSA_FSDP2_COMM_TYPE=1"]),
        (UNKNOWN, []),
    ],
)
def test_the_launcher_of_musa_sets_overlap_by_version_and_hardware(
    platform: Platform, expected: list[str]
) -> None:
    variables = MUSA.environment(platform)
    assert [f"{variable.name}={variable.value}" for variable in variables] == expected


def test_overlap_that_somebody_forces_on_an_s4000_is_harmful() -> None:
    forced = {"TORCH_MUSA_FSDP2_OVERLAP_LEVEL": "2"}
    assert [variable.name for variable in MUSA.harmful(S4000_2_7, forced)] == list(forced)
    assert MUSA.harmful(S4000_2_7, {}) == ()
    assert MUSA.harmful(S4000_2_7, {"TORCH_MUSA_FSDP2_OVERLAP_LEVEL": "0"}) == ()
    assert MUSA.harmful(S5000_2_7, forced) == ()


@ALL
def test_a_static_graph_is_never_combined_with_accumulation(target: Target) -> None:
    assert target.ddp_options(1) == {"gradient_as_bucket_view": True, "static_graph": True}
    assert target.ddp_options(4) == {"gradient_as_bucket_view": True}


def test_only_gloo_of_torch_2_7_sums_where_an_average_is_asked_for() -> None:
    assert [(2, 7, 1) in target.averages for target in TARGETS.values()] == [False, True, True]
    assert all((2, 8) in target.averages for target in TARGETS.values())
