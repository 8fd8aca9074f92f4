"""The printed text of what moves to the host."""

from __future__ import annotations

import pytest

from specc.emit.link import run_text
from specc.printing.text import print_text
from tests.unit.check.specs import MODEL, TRAIN, facts, spec

FSDP = "dp: shard B\ndp: shard params per Block"
GPUS = ["cuda", "musa"]


def text(layout: str, target: str, **more: str) -> str:
    return run_text(print_text(facts(spec(layout, **more), target=target)))


def function(code: str, name: str) -> str:
    """The lines of one function."""
    return code.partition(f"\ndef {name}(")[2].partition("\n\n\n")[0]


@pytest.mark.parametrize("target", GPUS)
def test_units_have_a_policy_and_parameters_their_memory_on_the_host(target: str) -> None:
    code = text(f"{FSDP}\noffload {{ to = cpu }}", target)

    assert "from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard\n" in code
    shard = function(code, "shard")
    assert "    host = CPUOffloadPolicy()  # t.spec:" in shard
    assert "        fully_shard(block, mesh=mesh, offload_policy=host)\n" in shard
    assert shard.endswith("    fully_shard(model, mesh=mesh, offload_policy=host)")
    build = function(code, "build")
    assert '    model.to_empty(device="cpu")  # parameters stay on the host\n' in build
    assert "torch.optim.AdamW(model.parameters(), lr=LR, fused=True)\n" in build  # on the host


@pytest.mark.parametrize(("target", "flag"), [("cuda", "fused"), ("musa", "foreach")])
def test_units_on_the_device_stay_as_they_are(target: str, flag: str) -> None:
    code = text(f"{FSDP}\noffload each Block {{ to = cpu }}", target)

    assert function(code, "shard").endswith("    fully_shard(model, mesh=mesh)")
    table = code.partition("\nON_HOST = [\n")[2].partition("]")[0]
    assert [line.strip(' ",') for line in table.splitlines()] == [
        f"blocks.*.{name}"
        for name in (
            "norm.weight",
            *(f"attn.{w}.weight" for w in ("wq", "wk", "wv", "wo")),
            *(f"mlp.{n}.{w}" for n in (0, 2) for w in ("weight", "bias")),
        )
    ]
    build = function(code, "build")
    assert "    to_empty(model, device, ON_HOST)\n" in build
    assert f"torch.optim.AdamW(model.parameters(), lr=LR, {flag}=True)\n" in build


def test_buffers_are_on_the_device_though_all_parameters_are_not() -> None:
    model = MODEL.replace("  return ids ->", "  drop: Dropout(0.1)\n  return ids ->").replace(
        "-> blocks ->", "-> drop -> blocks ->"
    )
    code = text(f"{FSDP}\noffload {{ to = cpu }}", "cuda", model=model)
    assert "    to_empty(model, device, ON_HOST)\n" in function(code, "build")


@pytest.mark.parametrize(
    ("layout", "mesh"),
    [
        ("a: shard B\nb: shard B\nb: shard params per Block", "a = 2, b = 2"),
        ("dp: shard B", "dp = 2"),
        ("dp: shard B", "dp = world"),  # a script for any number of ranks
    ],
)
def test_copies_over_ranks_are_not_pinned(layout: str, mesh: str) -> None:
    dims = "dim d = 16, ff = 4*d, vocab = 32, depth = 4\ndim heads = 4, kv = 2, hd = d/heads\n"
    more = {"dims": f"{dims}dim S = 8\ndim B = 8\n", "mesh": mesh}
    code = text(f"{layout}\noffload {{ to = cpu }}", "cuda", **more)
    assert "    host = CPUOffloadPolicy(pin_memory=False)  # t.spec:" in function(code, "shard")


@pytest.mark.parametrize("target", GPUS)
@pytest.mark.parametrize("layout", [FSDP, "dp: shard B"])
def test_the_state_alone_is_one_line_after_the_optimizer(layout: str, target: str) -> None:
    moved = text(f"{layout}\noffload optim {{ to = cpu }}", target)
    plain = text(layout, target)

    build = function(moved, "build")
    assert ", lr=LR, fused=True)\n    step_on_host(optimizer)  # t.spec:" in build
    assert function(moved, "shard") == function(plain, "shard")
    assert function(moved, "train") == function(plain, "train")


@pytest.mark.parametrize("rule", ["offload { to = cpu }", "offload optim { to = cpu }"])
def test_on_the_cpu_the_text_has_no_trace_of_it(rule: str) -> None:
    train = TRAIN + "clip = 1.0\n"
    for layout in ("dp: shard B\n", f"{FSDP}\n"):
        assert text(f"{layout}{rule}", "cpu", train=train) == text(layout, "cpu", train=train)
