"""The mesh: sizes, strides, worlds, clusters."""

from __future__ import annotations

import pytest

from specc.check.mesh import worlds
from tests.unit.check.specs import facts, findings, only, program, says, situation, spec

RULES = {
    "dp": "dp: shard B",
    "cp": "cp: replicate",
    "rep": "rep: replicate",
    "fsdp": "fsdp: shard B",
}


def run(mesh: str, *axes: str, more: str = "", on: str = "") -> str:
    """A run whose mesh has these axes, `dp` the data axis."""
    rules = "\n".join(RULES[axis] for axis in axes)
    return spec(rules, mesh, more=more).replace("mesh {", f"mesh {on} {{")


def test_leaf_axes_lie_outermost_first_with_strides() -> None:
    mesh = facts(run("dp = 4, cp = 2", "dp", "cp")).mesh
    assert [(a.name, a.size.value, a.size.text, a.stride) for a in mesh.axes] == [
        ("dp", 4, "4", 2),
        ("cp", 2, "2", 1),
    ]
    assert (mesh.world, mesh.world_is_open) == (8, False)


def test_an_axis_with_sub_axes_is_the_product_of_its_leaves() -> None:
    found = facts(run("dp = 8 { rep = 2, fsdp = rest }", "dp"))
    assert found.mesh.products["dp"] == ("rep", "fsdp")
    assert [(a.name, a.size.value, a.stride) for a in found.mesh.axes] == [
        ("rep", 2, 4),
        ("fsdp", 4, 1),
    ]
    assert (found.sizes["B"], found.dims["B"].text) == (16, "2 * REP * FSDP")
    assert not found.mesh.world_is_open


@pytest.mark.parametrize(
    ("mesh", "axes", "world", "texts"),
    [
        ("dp = world", ("dp",), 6, ["WORLD"]),
        ("dp = rest, cp = 2", ("dp", "cp"), 6, ["WORLD // CP", "2"]),
        ("dp = world/2, cp = 2", ("dp", "cp"), 6, ["WORLD // 2", "2"]),
        (
            "dp = rest { rep = 3, fsdp = rest }, cp = 2",
            ("dp", "cp"),
            12,
            ["3", "WORLD // (REP * CP)", "2"],
        ),
    ],
)
def test_open_axes_follow_the_world_and_stay_texts(
    mesh: str, axes: tuple[str, ...], world: int, texts: list[str]
) -> None:
    found = facts(run(mesh, *axes), world=world).mesh
    assert (found.world, found.world_is_open) == (world, True)
    assert [axis.size.text for axis in found.axes] == texts


@pytest.mark.parametrize(
    ("mesh", "axes", "expected"),
    [
        ("dp = world", ("dp",), (2, 4)),
        ("dp = rest, cp = 3", ("dp", "cp"), (6, 12)),
        ("dp = world/2, cp = 2", ("dp", "cp"), (4, 8)),
        ("dp = rest { rep = 3, fsdp = rest }", ("dp",), (6, 12)),
        ("dp = 4", ("dp",), ()),
    ],
)
def test_an_unknown_world_is_tried_small(
    mesh: str, axes: tuple[str, ...], expected: tuple[int, ...]
) -> None:
    text = run(mesh, *axes)
    assert worlds(program(text), situation()) == expected
    assert worlds(program(text), situation(world=12)) == ()
    assert facts(text).mesh.world == (expected[0] if expected else 4)


def test_the_text_of_a_dim_names_the_axis_and_its_value_is_for_the_world() -> None:
    found = facts(run("dp = world", "dp"), world=8)
    assert (found.dims["B"].value, found.dims["B"].text) == (16, "2 * DP")
    assert (found.dims["hd"].value, found.dims["hd"].text) == (4, "D // HEADS")
    assert (found.dims["S"].value, found.dims["S"].text) == (8, "8")


def test_an_override_gives_a_dim_a_plain_text() -> None:
    assert facts(run("dp = 2", "dp"), sets={"B": "12"}).dims["B"].text == "12"


@pytest.mark.parametrize(
    ("mesh", "world", "code", "expected"),
    [
        ("dp = 4, cp = 3", 8, "E0301", "mesh has 12 ranks but the world has 8"),
        ("dp = world, cp = 3", 6, "E0301", "mesh has 18 ranks but the world has 6"),
        ("dp = rest, cp = 2", 15, "E0302", "world size 15 is not divisible by 2"),
        ("dp = rest, cp = rest", 4, "E0304", "only one axis can be `rest`"),
        ("dp = 8 { rep = 2, fsdp = 3 }", 8, "E0303", "sub-axes of `dp` multiply to 6, not 8"),
        ("dp = 0", None, "E0235", "`0` must be at least 1"),
        ("dp = 7/2", None, "E0206", "`7/2` is not a whole number: 7 / 2"),
        ("dp = B", None, "E0231", "the size of a mesh axis depends on the mesh itself"),
    ],
)
def test_a_mesh_that_does_not_hold_is_reported(
    mesh: str, world: int | None, code: str, expected: str
) -> None:
    assert says(findings(run(mesh, "dp"), world=world), code).startswith(expected)


def test_rest_is_allowed_once_on_every_level() -> None:
    text = run("dp = rest { rep = rest, fsdp = 2 }", "dp")
    assert [a.size.value for a in facts(text, world=8).mesh.axes] == [4, 2]


CLUSTER = (
    "cluster box { device = musa, nodes = 2, gpus = 4, memory = 48GiB, intra = 64GBps, "
    "inter = 200Gbps }"
)


def test_a_cluster_says_the_world_unless_a_person_does() -> None:
    text = run("dp = rest", "dp", more=CLUSTER, on="on box")
    assert facts(text).mesh.world == 8
    assert facts(text, world=2).mesh.world == 2
    cluster = facts(text).cluster
    assert cluster is not None
    assert (cluster.device, cluster.nodes, cluster.gpus, cluster.memory_bytes) == (
        "musa",
        2,
        4,
        48 * 2**30,
    )


def test_a_mesh_must_fill_its_cluster_but_a_profile_may_leave_it() -> None:
    text = run("dp = 4", "dp", more=CLUSTER + "\nprofile p { mesh.dp = 2 }", on="on box")
    assert says(findings(text), "E0301").startswith("mesh has 4 ranks but `box` has 8")
    assert facts(text, profile="p").mesh.world == 2


def test_figures_of_a_cluster_have_units() -> None:
    faulty = CLUSTER.replace("48GiB", "48").replace("64GBps", "64GB")
    found = findings(run("dp = 8", "dp", more=faulty, on="on box"))
    assert [d.title for d in found] == [
        "`cluster.memory` is a size in bytes; 48 has no unit",
        "`cluster.intra` is a rate; `64GB` has another unit or none",
    ]


def test_unknown_figures_and_devices_of_a_cluster_are_reported() -> None:
    faulty = CLUSTER.replace("memory", "memry").replace("musa", "mush")
    found = findings(run("dp = 8", "dp", more=faulty, on="on box"))
    assert [(d.code, d.helps[0].text) for d in found] == [
        ("E0603", "did you mean `musa`?"),
        ("E0601", "did you mean `memory`?"),
    ]


def test_an_axis_that_moves_activations_over_more_nodes_than_it_must_is_warned_of() -> None:
    layout = "dp: shard B\ncp: shard S via ulysses(heads)"
    crossing = spec(layout, "cp = 2, dp = 4", more=CLUSTER).replace("mesh {", "mesh on box {")
    finding = only(findings(crossing), "E0305")
    assert finding.title == "each `cp` group spans 2 nodes"
    assert finding.labels[0].text == "stride 4: ranks 0 4"
    inside = spec(layout, "dp = 4, cp = 2", more=CLUSTER).replace("mesh {", "mesh on box {")
    assert not findings(inside)


@pytest.mark.parametrize(
    ("mesh", "rules", "axis", "way_out"),
    [
        ("tp = 2, dp = 4", "tp: shard heads, kv, ff", "tp", "put `tp` last in the mesh"),
        (
            "dp = 1, tp = 8",
            "tp: shard vocab",
            "tp",
            "split tensors over at most the 4 ranks of a node",
        ),
        (
            "cp = 2, dp = 2, tp = 2",
            "tp: shard ff\ncp: shard S via ulysses(heads)",
            "cp",
            "put `cp` right before `tp` in the mesh",
        ),
        (
            "r = 2, dp = 2, u = 2",
            "r: shard S via ring\nu: shard S via ulysses(heads)",
            "r",
            "put `r` right before `u` in the mesh",
        ),
    ],
)
def test_what_moves_most_belongs_inside(mesh: str, rules: str, axis: str, way_out: str) -> None:
    text = spec(f"dp: shard B\n{rules}", mesh, more=CLUSTER).replace("mesh {", "mesh on box {")
    finding = only(findings(text), "E0305")
    assert finding.labels[0].span.text.startswith(axis)
    assert finding.helps[0].text == way_out


def test_an_axis_that_cannot_lie_inside_a_node_is_right() -> None:
    rules = "dp: shard B\ncp: shard S via ring\ntp: shard ff"
    text = spec(rules, "dp = 1, cp = 2, tp = 4", more=CLUSTER)
    assert not findings(text.replace("mesh {", "mesh on box {"))


def test_a_spec_without_a_mesh_is_for_one_rank() -> None:
    text = spec(
        dims="dim d = 16, ff = 64, vocab = 32, depth = 1, heads = 4, kv = 2\n"
        "dim hd = 4, S = 8, B = 2\n"
    )
    text = text.replace("mesh { dp = 2 }\nlayout {\ndp: shard B\n}\n", "")
    assert facts(text).mesh.world == 1
    assert only(findings(text, world=2), "E0301").labels == ()
