"""The meshes that `build_model()` makes, and the groups that methods get."""

from specc.emit.link import run_text
from specc.printing.text import print_text
from tests.unit.check.specs import facts, spec


def built(mesh: str, *rules: str) -> str:
    """Text of `build_model()` of a small transformer."""
    text = run_text(print_text(facts(spec("\n".join(rules), mesh))))
    return text.partition("def build_model():")[2].partition("return model")[0]


def test_a_method_over_an_axis_has_the_group_of_the_axis() -> None:
    text = built("dp = 2, cp = 2", "dp: shard B", "cp: shard S via ulysses(heads)")
    assert 'mesh = init_device_mesh(DEVICE, (DP, CP), mesh_dim_names=("dp", "cp"))' in text
    assert 'model = Small(mesh["cp"].get_group())' in text


def test_a_method_over_an_axis_with_sub_axes_has_the_group_of_all_of_it() -> None:
    text = built(
        "dp = 2, cp = 4 { r = 2, u = 2 }",
        "dp: shard B",
        "cp: shard S via ulysses(heads, repeat_kv = true)",
    )
    assert 'r_u = init_device_mesh(DEVICE, (DP, R * U), mesh_dim_names=("dp", "r_u"))' in text
    assert 'model = Small(r_u["r_u"].get_group())' in text
    assert "mesh = " not in text


def test_the_mesh_of_the_storage_serves_a_method_over_the_same_product() -> None:
    text = built(
        "dp = 2, cp = 4 { r = 2, u = 2 }",
        "dp: shard B",
        "cp: shard S via ring",
        "cp: shard params per Block",
    )
    assert text.count("init_device_mesh") == 1
    assert 'storage = init_device_mesh(DEVICE, (DP, R * U), mesh_dim_names=("dp", "r_u"))' in text
    assert 'model = Small(storage["r_u"].get_group())' in text


def test_axes_of_a_product_need_not_be_neighbours() -> None:
    text = built("c = 2, dp = 2, e = 2", "dp: shard B", "c*e: shard S via ring")
    assert "DeviceMesh(\n        DEVICE,\n        torch.arange(WORLD).view(C, DP, E)" in text
    assert 'model = Small(c_e["c_e"].get_group())' in text
