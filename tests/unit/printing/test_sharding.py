"""The printed meshes and their process groups."""

from pathlib import Path

import pytest

from specc.api import load

SPEC = Path(__file__).parents[2] / "cases" / "parity" / "local.spec"


@pytest.mark.parametrize(
    ("layout", "mesh", "model"),
    [
        (
            None,
            'mesh = init_device_mesh(DEVICE, (DP, R, U), mesh_dim_names=("dp", "r", "u"))',
            'model = Local(mesh["u"].get_group(), mesh["r"].get_group())',
        ),
        (  # a group of all axes of the product, where it once was one of the first axis alone
            "product",
            'r_u = init_device_mesh(DEVICE, (DP, R * U), mesh_dim_names=("dp", "r_u"))',
            'model = Local(r_u["r_u"].get_group())',
        ),
    ],
)
def test_a_method_has_the_group_of_all_its_axes(layout: str | None, mesh: str, model: str) -> None:
    grid = ("mesh.cp=4", "mesh.r=2", "mesh.u=2")
    text = load(SPEC, target="cpu", layout=layout, world=4, overrides=grid).text()
    assert mesh in text
    assert model in text
