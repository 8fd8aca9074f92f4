"""Where parameters lie, and the units in which they are gathered."""

from __future__ import annotations

from tests.unit.check.specs import MODEL, facts, findings, only, spec

FSDP = "dp: shard B\ndp: shard params per Block"
BF16 = "\nprecision { params = bf16, reduce = fp32 }"
TIED = MODEL.replace("  return ids ->", "  tie head.weight = embed.weight\n  return ids ->")


def units(layout: str, mesh: str = "dp = 2", model: str = MODEL):  # noqa: ANN201
    """Modules, number of parameters and dtype of every unit."""
    found = facts(spec(layout, mesh, model=model), sets={"depth": "2"})
    return [(u.modules, len(u.parameters), u.precision.params) for u in found.layout.storage.units]


def test_plain_data_parallel_in_fp32_is_ddp() -> None:
    store = facts(spec()).layout.storage
    assert (store.kind, store.shard, store.replicate, store.units) == ("ddp", (), ("dp",), ())


def test_lower_precision_on_every_rank_is_fsdp_over_copies_with_a_unit_for_each_block() -> None:
    store = facts(spec("dp: shard B" + BF16)).layout.storage
    assert (store.kind, store.shard, store.replicate) == ("replicate", (), ("dp",))
    assert [u.modules for u in store.units] == [(f"blocks.{i}",) for i in range(4)] + [("",)]
    assert {u.reshard for u in store.units[:-1]} == {False}


def test_a_unit_for_each_selected_part_and_the_root_last() -> None:
    assert units(FSDP) == [
        (("blocks.0",), 9, "fp32"),
        (("blocks.1",), 9, "fp32"),
        (("",), 3, "fp32"),
    ]
    store = facts(spec(FSDP)).layout.storage
    assert (store.kind, store.shard, store.replicate) == ("params", ("dp",), ())
    assert [u.reshard for u in store.units] == [True] * 4 + [None]


def test_every_parameter_is_in_exactly_one_unit() -> None:
    found = facts(spec(FSDP + ", each Attention, head" + BF16, model=TIED))
    held = [name for unit in found.layout.storage.units for name in unit.parameters]
    assert sorted(held) == sorted(p.name for p in found.parameters if p.tied_to is None)


def test_inner_units_come_before_the_ones_around_them() -> None:
    found = facts(spec(FSDP + ", each Attention"), sets={"depth": "1"}).layout.storage.units
    assert [(u.modules, len(u.parameters)) for u in found] == [
        (("blocks.0.attn",), 4),
        (("blocks.0",), 5),
        (("",), 3),
    ]


def test_storage_over_fewer_axes_than_the_data_is_hsdp() -> None:
    layout = "dp: shard B\ncp: shard S via ulysses(heads)\ndp: shard params per Block"
    store = facts(spec(layout, "dp = 2, cp = 2")).layout.storage
    assert (store.shard, store.replicate) == (("dp",), ("cp",))


def test_a_product_of_axes_shards_over_both() -> None:
    layout = "dp: shard B\ncp: shard S via ulysses(heads)\ncp*dp: shard params per Block"
    store = facts(spec(layout, "dp = 2, cp = 2")).layout.storage
    assert (store.shard, store.replicate) == (("dp", "cp"), ())


def test_sub_axes_replicate_and_shard() -> None:
    text = spec("dp: shard B\nfsdp: shard params per Block", "dp = 4 { rep = 2, fsdp = 2 }")
    store = facts(text).layout.storage
    assert (store.shard, store.replicate) == (("fsdp",), ("rep",))


def test_zero_stages_keep_whole_parameters() -> None:
    text = spec("dp: shard B, grads per Block")
    store = facts(text).layout.storage
    assert (store.kind, {u.reshard for u in store.units[:-1]}) == ("grads", {False})
    assert not findings(text)


def test_optim_without_accumulation_does_what_grads_does_and_says_so() -> None:
    finding = only(findings(spec("dp: shard B, optim")), "E0416")
    assert finding.severity == "warning"
    assert not findings(spec("dp: shard B, optim"), sets={"train.accumulate": "2"})


def test_params_imply_the_other_stages() -> None:
    assert facts(spec("dp: shard B, optim, params")).layout.storage.kind == "params"


def test_parts_of_another_precision_are_one_more_unit_inside_each() -> None:
    layout = FSDP + BF16 + "\nprecision each RMSNorm { params = fp32 }"
    assert units(layout) == [
        (("blocks.0.norm",), 1, "fp32"),
        (("blocks.0",), 8, "bf16"),
        (("blocks.1.norm",), 1, "fp32"),
        (("blocks.1",), 8, "bf16"),
        (("norm",), 1, "fp32"),
        (("",), 2, "bf16"),
    ]


def test_an_island_is_the_largest_part_of_its_precision() -> None:
    layout = FSDP + BF16 + "\nprecision each Block.mlp { params = fp32 }"
    assert units(layout)[:2] == [(("blocks.0.mlp",), 4, "fp32"), (("blocks.0",), 5, "bf16")]


def test_a_unit_takes_the_precision_of_its_part() -> None:
    layout = FSDP + BF16 + "\nprecision blocks[0] { params = fp32 }"
    assert units(layout) == [
        (("blocks.0",), 9, "fp32"),
        (("blocks.1",), 9, "bf16"),
        (("",), 3, "bf16"),
    ]


def test_arithmetic_in_fp32_needs_no_unit_of_its_own() -> None:
    layout = FSDP + BF16 + "\nprecision each RMSNorm { compute = fp32 }"
    assert [u[0] for u in units(layout)] == [("blocks.0",), ("blocks.1",), ("",)]


def test_a_tie_joins_its_units() -> None:
    assert units(FSDP + ", head", model=TIED)[2:] == [
        (("head", "embed"), 1, "fp32"),
        (("",), 1, "fp32"),
    ]
    assert units(FSDP + ", head, embed", model=TIED)[2:] == [
        (("embed", "head"), 1, "fp32"),
        (("",), 1, "fp32"),
    ]


def test_a_tie_inside_the_root_changes_nothing() -> None:
    assert units(FSDP, model=TIED)[2:] == [(("",), 2, "fp32")]


def test_tensors_of_one_part_share_a_precision() -> None:
    layout = FSDP + BF16 + "\nprecision each Linear.bias { params = fp32 }"
    finding = findings(spec(layout))[0]
    assert (finding.code, "one tensor of `blocks[0].mlp[0]`" in finding.title) == ("E0494", True)


def test_both_sides_of_a_tie_have_one_precision() -> None:
    layout = FSDP + BF16 + "\nprecision head { params = fp32 }"
    finding = only(findings(spec(layout, model=TIED)), "E0407")
    assert finding.notes == (
        "head.weight: params fp32, reduce fp32; embed.weight: params bf16, reduce fp32",
    )


def test_a_list_stands_for_its_elements() -> None:
    assert units("dp: shard B\ndp: shard params per blocks") == units(FSDP)
    found = facts(spec("dp: shard B\nrecompute blocks\ncompile blocks"))
    assert [m.path for m in found.model.walk() if m.recompute and m.compile] == [
        f"blocks.{i}" for i in range(4)
    ]


def test_a_part_without_parameters_is_no_unit() -> None:
    finding = only(findings(spec("dp: shard B\ndp: shard params per GELU")), "E0402")
    assert finding.title == "`blocks[0].mlp[1]` holds no parameters, so it is no unit"


def test_a_unit_inside_a_compiled_part_is_refused() -> None:
    finding = only(
        findings(spec(FSDP + ", each Attention\ncompile each Block"), sets={"depth": "1"}), "E0417"
    )
    assert "`blocks[0].attn` inside it is gathered" in finding.title
