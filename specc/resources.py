"""Finds what specc reads from its own files: the grammar, the templates and the parts' source."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: str, package: Path = PACKAGE) -> Path:
    """Folder `name` of the installed package, or of the checkout that `package` lies in.

    A wheel carries `grammar` and `templates` inside the package; a checkout keeps them at its top.
    Plain paths suffice: torch itself cannot be imported from a zip file.

    Raises:
        FileNotFoundError: if the folder is in neither place, so the installation is incomplete.
    """
    installed = package / name
    if installed.is_dir():
        return installed
    checkout = package.parent
    in_checkout = checkout / name
    if (checkout / "pyproject.toml").is_file() and in_checkout.is_dir():
        return in_checkout
    raise FileNotFoundError(
        f"specc is installed without its folder `{name}`: looked for {installed} and {in_checkout}"
    )


def grammar_text() -> str:
    """The grammar of `.spec` files, in Lark's EBNF."""
    return (resource_dir("grammar") / "specc.lark").read_text(encoding="utf-8")


def template_text(name: str) -> str:
    """The Jinja template `name`, a path below `templates` such as `launch/slurm.sh.j2`.

    Raises:
        FileNotFoundError: if there is no such template.
    """
    return (resource_dir("templates") / name).read_text(encoding="utf-8")


def part_names() -> tuple[str, ...]:
    """Names of the modules in `specc.parts`, sorted."""
    paths = (PACKAGE / "parts").glob("*.py")
    return tuple(sorted(path.stem for path in paths if path.stem != "__init__"))


def part_source(name: str) -> str:
    """Source text of the module `specc.parts.<name>`, read without importing it, so without torch.

    Raises:
        FileNotFoundError: if there is no such part.
    """
    return (PACKAGE / "parts" / f"{name}.py").read_text(encoding="utf-8")
