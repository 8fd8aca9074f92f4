"""Every name of a spec that can be set: its value, and who gave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specc.check.overrides import settable, settle
from specc.diagnostics import Report, SpeccError, nearest
from specc.report.program import one_line
from specc.report.quantities import table
from specc.report.settings import setting_text

if TYPE_CHECKING:
    from specc.check.assignments import Choice
    from specc.check.overrides import Settled
    from specc.plan.facts import Facts
    from specc.program.program import Field

Row = tuple[str, str, str]


def values_text(facts: Facts, path: str | None = None) -> str:
    """A line for each name: path, value, origin; ends in a line end.

    Args:
        path: one name alone, or a block of them such as `train`.

    Raises:
        SpeccError: nothing of that name can be set.
    """
    settled = settle(facts.program, facts.situation, Report())
    known = list(dict.fromkeys(settable(facts.program)))
    chosen = [name for name in known if path is None or name == path or name.startswith(f"{path}.")]
    if not chosen:
        near = nearest(path or "", known)
        hint = f"; did you mean `{near}`?" if near else f"; there are: {', '.join(known)}"
        raise SpeccError(f"the spec has no `{path}` that can be set{hint}", exit_code=2)
    return "\n".join(table([_row(facts, settled, name) for name in chosen], indent=0)) + "\n"


def _row(facts: Facts, settled: Settled, path: str) -> Row:
    fields = {f"train.data.{field.name}": field for field in settled.fields}
    if path in fields:
        return (path, one_line(fields[path].source.span), _place_of(fields[path]))
    if path == "layout":
        return _layout(facts, settled)
    choice = settled.get(path)
    if choice is None:
        return (path, _default(facts, path), "default")
    return (path, _value(facts, path, choice), _origin(choice))


def _value(facts: Facts, path: str, choice: Choice) -> str:
    """As written, and the number that it comes to where that is not the same."""
    written = one_line(choice.value.span)
    number = facts.dims[path].value if path in facts.dims else None
    axis = path.removeprefix("mesh.")
    if path.startswith("mesh.") and axis in facts.mesh.products:
        number = facts.mesh.degree(facts.mesh.products[axis])
    if number is None or written.replace("_", "") == str(number):
        return written
    return f"{written} = {number}"


def _origin(choice: Choice) -> str:
    if choice.level == "--set":
        return f"--set {choice.span.text}"
    place = choice.span.place
    return place if choice.level == "file" else f"{choice.level}, {place}"


def _place_of(field: Field) -> str:
    return field.source.span.place


def _layout(facts: Facts, settled: Settled) -> Row:
    choice = settled.get("layout")
    name = facts.layout.name or "default"
    if choice is not None and settled.layout == facts.layout.name:
        return ("layout", name, _origin(choice))
    return ("layout", name, "--layout" if facts.situation.layout and choice is None else "default")


def _default(facts: Facts, path: str) -> str:
    """What holds where nobody has said anything."""
    block, _, rest = path.partition(".")
    if block not in {"train", "launch"}:
        return "none"
    name = {"timeout": "timeout_s", "save.async": ""}.get(rest, rest.replace(".", "_"))
    return setting_text(getattr(facts.training, name)) if name else "false"
