"""Which value of a name holds: the file's, then `on TARGET`, then the profile's, then `--set`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.assignments import Assignment, Choice, flatten
from specc.check.fields import override_fields
from specc.check.names import Definition
from specc.diagnostics import nearest
from specc.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from specc.diagnostics import Report
    from specc.program.program import Field, Program
    from specc.situation import Situation
    from specc.source import Span

# What these blocks can have may be set, also where the file leaves it out.
TRAIN_PATHS = (
    "optimizer", "schedule", "clip", "accumulate", "steps", "seed", "deterministic",
    "log.every", "log.warmup", "save.every", "save.dir", "save.keep", "save.async",
    "evaluate.every", "evaluate.batches",
)  # fmt: skip
LAUNCH_PATHS = ("endpoint", "timeout")
CLUSTER_PATHS = ("device", "nodes", "gpus", "memory", "intra", "inter")


@attrs.frozen
class Settled:
    """Every value after its levels.

    Args:
        values: by dotted path: `d`, `mesh.dp`, `train.steps`, `launch.timeout`, `layout`.
        fields: of `train.data`.
        names: dims and lets, in the order of declaration.
        layout: name of the layout that holds; "" is the plain one.
    """

    values: Mapping[str, Choice]
    fields: tuple[Field, ...]
    names: Mapping[str, Definition]
    layout: str

    def get(self, path: str) -> Choice | None:
        """The value of a path, if anybody gave it."""
        return self.values.get(path)

    def part(self, prefix: str) -> dict[str, Choice]:
        """All values under `prefix`, without it."""
        return {
            path.removeprefix(f"{prefix}."): choice
            for path, choice in self.values.items()
            if path.startswith(f"{prefix}.")
        }


def settle(program: Program, situation: Situation, report: Report) -> Settled:
    """Apply the levels of a situation; unknown paths are reported for every level of the file."""
    _check_levels(program, report)
    values = _file_values(program)
    fields = program.train.fields if program.train else ()
    for assignments in _levels(program, situation, report):
        data = [a for a in assignments if a.paths[0][:2] == ("train", "data")]
        fields = override_fields(program, fields, data, report)
        for assignment in assignments:
            if assignment not in data and _exists(program, assignment, report):
                choice = Choice(assignment.value, assignment.span, assignment.level)
                values[".".join(assignment.paths[0])] = choice
                _warn_of_dims(program, assignment, report)
    layout = _layout(program, situation, values.get("layout"), report)
    return Settled(values, fields, _definitions(program, values), layout)


# -------------------------------------------------------------------------------------- file


def _file_values(program: Program) -> dict[str, Choice]:
    values: dict[str, Choice] = {}
    for name, dim in program.dims.items():
        values[name] = Choice(dim.size, dim.span)
    for name, constant in program.lets.items():
        values[name] = Choice(constant.value, constant.span)
    for axis in axes_of(program.mesh):
        values[f"mesh.{axis.name}"] = Choice(axis.size, axis.span)
    blocks: dict[str, Mapping[str, tree.Setting]] = {"launch": program.launch}
    if program.train is not None:
        blocks["train"] = program.train.settings
    for block, settings in blocks.items():
        for path, setting in settings.items():
            values[f"{block}.{path}"] = Choice(setting.value, setting.span)
    if program.cluster:
        for assignment in flatten(program.cluster.attrs, ("cluster",), "file"):
            values[".".join(assignment.paths[0])] = Choice(assignment.value, assignment.span)
    return values


def axes_of(mesh: tree.Mesh | None) -> Iterator[tree.Axis]:
    """Every axis of a mesh, parents before their sub-axes."""
    waiting = list(mesh.axes) if mesh else []
    while waiting:
        axis = waiting.pop(0)
        yield axis
        waiting[:0] = axis.axes


def _definitions(program: Program, values: Mapping[str, Choice]) -> dict[str, Definition]:
    dims = {name: Definition(values[name].value, is_size=True) for name in program.dims}
    lets = {name: Definition(values[name].value, is_size=False) for name in program.lets}
    return {**dims, **lets}


# ------------------------------------------------------------------------------------ levels


def _levels(program: Program, situation: Situation, report: Report) -> Iterator[list[Assignment]]:
    target = program.targets.get(situation.target)
    if target is not None:
        yield flatten(target.attrs, (), f"on {target.name}")
    if situation.profile is not None:
        profile = program.profiles.get(situation.profile)
        if profile is None:
            _report_choice("profile", situation.profile, None, program.profiles, report)
        else:
            yield flatten(profile.attrs, (), f"profile {profile.name}")
    given = [Assignment((o.path,), None, o.value, o.span, "--set") for o in situation.overrides]
    _check_once(given, report)
    yield given


def _check_levels(program: Program, report: Report) -> None:
    """Every level of the file must be sound, also those that this situation does not use."""
    blocks = [(f"on {t.name}", t.attrs) for t in program.targets.values()]
    blocks += [(f"profile {p.name}", p.attrs) for p in program.profiles.values()]
    for level, body in blocks:
        assignments = flatten(body, (), level)
        _check_once(assignments, report)
        for assignment in assignments:
            if assignment.paths[0][:2] != ("train", "data"):
                _exists(program, assignment, report)


def _check_once(assignments: Iterable[Assignment], report: Report) -> None:
    first: dict[tuple[str, ...], Assignment] = {}
    for assignment in assignments:
        for path in assignment.paths:
            if path in first:
                report.error(
                    "E0203",
                    assignment.span,
                    f"`{'.'.join(path)}` is set twice in `{assignment.level}`",
                    "again here",
                    also=[(first[path].span, "first here")],
                )
            first.setdefault(path, assignment)


def _warn_of_dims(program: Program, assignment: Assignment, report: Report) -> None:
    name = assignment.paths[0][0]
    if name not in program.dims or not assignment.level.startswith("on "):
        return
    report.warning(
        "E0607",
        assignment.span,
        f"`{assignment.level}` changes the dim `{name}`: another model trains there",
        "a size of the model, not of the device",
        also=[(program.dims[name].span, "the file's size")],
        helps=["put sizes into a profile: `profile small { .. }`"],
    )


# ------------------------------------------------------------------------------------- paths


def settable(program: Program) -> tuple[str, ...]:
    """Every path that a level may set."""
    paths = [*program.dims, *program.lets]
    paths += [f"mesh.{axis.name}" for axis in axes_of(program.mesh)]
    if program.train:
        paths += [f"train.{path}" for path in TRAIN_PATHS]
        paths += [f"train.data.{field.name}" for field in program.train.fields]
    paths += [f"launch.{path}" for path in LAUNCH_PATHS]
    if program.cluster:
        paths += [f"cluster.{path}" for path in CLUSTER_PATHS]
    return (*paths, "layout")


def _exists(program: Program, assignment: Assignment, report: Report) -> bool:
    first = assignment.paths[0]
    path = ".".join(first)
    known = settable(program)
    if len(assignment.paths) == 1 and path in known and assignment.type is None:
        return True
    if len(assignment.paths) > 1 or (path in known and assignment.type is not None):
        title = f"only fields of `train.data` take several names or a type, not `{path}`"
        report.error("E0606", assignment.span, title, "one name, and no type")
        return False
    prefix = f"--set {path}={assignment.value.span.text}: " if assignment.level == "--set" else ""
    report.error(
        "E0606",
        assignment.span,
        f"{prefix}the spec has no `{path}` that can be set",
        "no such path",
        notes=_why_not(program, first),
        helps=_near_paths(path, known),
    )
    return False


def _why_not(program: Program, path: tuple[str, ...]) -> list[str]:
    if path[0] == "layout" or path[0] in program.layouts:
        return ["overrides do not reach into rules: let a rule use a `let`, and set the `let`"]
    if path == ("train", "loss"):
        return ["the loss is part of what is trained; only the file says it"]
    return []


def _near_paths(path: str, known: tuple[str, ...]) -> list[str]:
    longer = [name for name in known if name.endswith(f".{path}")]
    near = longer[0] if longer else nearest(path, known)
    return [f"did you mean `{near}`?"] if near else []


# ------------------------------------------------------------------------------------ layout


def _layout(program: Program, situation: Situation, choice: Choice | None, report: Report) -> str:
    if situation.layout is not None:
        name, span = situation.layout, None
    elif choice is not None:
        value = choice.value
        name = value.value if isinstance(value, tree.Text) else value.span.text
        span = value.span
    else:
        return ""
    if name not in program.layouts:
        _report_choice("layout", name, span, program.layouts, report)
        return ""
    return name


def _report_choice(
    what: str, name: str, span: Span | None, known: Mapping[str, object], report: Report
) -> None:
    names = [key for key in known if key]
    near = nearest(name, names)
    report.error(
        "E0608",
        span,
        f"the spec has no {what} `{name}`",
        "not declared",
        notes=[f"{what}s here: {', '.join(names)}" if names else f"it declares no {what}"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )
