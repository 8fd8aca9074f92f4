"""Where the grammar, the templates and the parts' source are found."""

from pathlib import Path

import pytest

from specc import resources


def test_a_wheel_carries_the_folder_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "specc"
    (package / "grammar").mkdir(parents=True)

    assert resources.resource_dir("grammar", package) == package / "grammar"


def test_a_checkout_keeps_the_folder_beside_its_pyproject(tmp_path: Path) -> None:
    package = tmp_path / "specc"
    package.mkdir()
    (tmp_path / "grammar").mkdir()
    (tmp_path / "pyproject.toml").touch()

    assert resources.resource_dir("grammar", package) == tmp_path / "grammar"


def test_the_folder_inside_the_package_wins(tmp_path: Path) -> None:
    package = tmp_path / "specc"
    (package / "grammar").mkdir(parents=True)
    (tmp_path / "grammar").mkdir()
    (tmp_path / "pyproject.toml").touch()

    assert resources.resource_dir("grammar", package) == package / "grammar"


def test_a_neighbour_in_site_packages_is_not_taken_for_ours(tmp_path: Path) -> None:
    package = tmp_path / "specc"
    package.mkdir()
    (tmp_path / "grammar").mkdir()

    with pytest.raises(FileNotFoundError, match="without its folder `grammar`") as caught:
        resources.resource_dir("grammar", package)
    assert str(package / "grammar") in str(caught.value)
    assert str(tmp_path / "grammar") in str(caught.value)


def test_the_grammar_is_read_as_text() -> None:
    assert "start" in resources.grammar_text()


def test_parts_are_listed_sorted_and_each_can_be_read() -> None:
    names = resources.part_names()

    assert list(names) == sorted(set(names))
    assert "__init__" not in names
    assert all(resources.part_source(name).startswith('"""') for name in names)


def test_a_part_or_template_that_does_not_exist_is_said() -> None:
    with pytest.raises(FileNotFoundError, match=r"no_such_part\.py"):
        resources.part_source("no_such_part")
    with pytest.raises(FileNotFoundError):
        resources.template_text("no_such_template.j2")
