"""Text of `shard()`, the table of initial weights, `build_model()` and `build()`."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING

from specc.check.texts import entry_text
from specc.plan.tensor import parameter_dim
from specc.printing.context import DTYPES, Context, literal
from specc.printing.externs import are_pieces, own_lines, own_modules
from specc.printing.fit import fit
from specc.printing.offload import (
    empty_line,
    names_on_host,
    optimizer_flag,
    policy_lines,
    policy_words,
    step_lines,
)
from specc.printing.paths import access, folded, loops, patterns
from specc.printing.values import has_dropout
from specc.program import model
from specc.vocabulary.find import find

if TYPE_CHECKING:
    from specc.plan.facts import Compile, Facts, Module, Parameter, Precision, Unit
    from specc.printing.classes import ClassText
    from specc.vocabulary.record import SettingValue


def list_counts(root: Module) -> dict[str, int]:
    """Number of elements of every list of parts, by path."""
    return {m.path: len(m.children) for m in root.walk() if isinstance(m.what, model.PartList)}


STORED = {
    "replicate": "Every rank keeps all parameters",
    "params": "Parameters, gradients and optimizer state sharded",
    "grads": "Gradients and optimizer state sharded",
    "optim": "Optimizer state sharded",
}

# ---------------------------------------------------------------------------------------- shard


def shard_lines(context: Context) -> list[str]:
    """`shard(model, mesh)`: one `fully_shard` for each unit, the root last."""
    storage = context.facts.layout.storage
    if storage.kind == "ddp":
        return []
    policies = _policies(storage.units)
    rule = f"  # {context.place(storage.rule)}" if storage.rule is not None else ""
    lines = [f"def shard(model, mesh):{rule}", *_shard_doc(context)]
    for name, precision in policies.items():
        lines.extend(fit(f"{name} = {_policy_text(precision)}", 4))
    lines.extend(policy_lines(context))
    actions = [(u.modules, _unit_words(u, policies)) for u in storage.units if u.modules != ("",)]
    for loop in loops(actions, list_counts(context.facts.model)):
        indent, base = (8, loop.variable) if loop.variable else (4, loop.source)
        if loop.variable:
            lines.append(f"    for {loop.variable} in {loop.source}:")
        for below, words in loop.actions:
            modules = [access(base, path) for path in below]
            what = modules[0] if len(modules) == 1 else f"[{', '.join(modules)}]"
            lines.extend(fit(f"fully_shard({what}, mesh=mesh{words})", indent))
    root = next(unit for unit in storage.units if unit.modules == ("",))
    words = _unit_words(root, policies)
    lines.extend(fit(f"fully_shard(model, mesh=mesh{words})", 4))
    return lines


def _policy_text(precision: Precision) -> str:
    words = f"param_dtype={DTYPES[precision.params]}, reduce_dtype={DTYPES[precision.reduce]}"
    return f"MixedPrecisionPolicy({words})"


def _policies(units: tuple[Unit, ...]) -> dict[str, Precision]:
    """A name for each precision that units have; plain fp32 needs none."""
    counted = Counter((u.precision.params, u.precision.reduce) for u in units)
    counted.pop(("fp32", "fp32"), None)
    seen = {(u.precision.params, u.precision.reduce): u.precision for u in units}
    ranked = [seen[key] for key, _ in counted.most_common()]
    names = ["policy", *(f"{p.params}_policy" for p in ranked[1:])]
    return dict(zip(names, ranked, strict=False))


def _unit_words(unit: Unit, policies: dict[str, Precision]) -> str:
    words = ""
    for name, precision in policies.items():
        if (precision.params, precision.reduce) == (unit.precision.params, unit.precision.reduce):
            words += f", mp_policy={name}"
    if unit.reshard is False:
        words += ", reshard_after_forward=False"
    return words + policy_words(unit)


def _shard_doc(context: Context) -> list[str]:
    facts = context.facts
    storage = facts.layout.storage
    root = storage.units[-1].precision
    modules = {module.path: module for module in facts.model.walk()}
    inner = [unit for unit in storage.units if unit.modules != ("",)]
    alike = [u for u in inner if len(u.modules) == 1 and u.precision.params == root.params]
    types = dict.fromkeys(modules[u.modules[0]].type or u.modules[0] for u in alike)
    each = ", ".join(f"each {name}" for name in types)
    units = f"one unit for {each}, one for the rest" if each else "one unit"
    rest = [f"FSDP2 with {units}."]
    if (root.params, root.reduce) != ("fp32", "fp32"):
        rest.append(f"Arithmetic in {root.params}, reduction of gradients in {root.reduce}.")
    if len(alike) < len(inner):
        rest.append("Parts of another precision, and tied ones, are units of their own.")
    lines = wrap(" ".join(rest), 96)
    return [f'    """{STORED[storage.kind]}.', "", *(f"    {line}" for line in lines), '    """']


# ----------------------------------------------------------------------------------------- init


def init_lines(context: Context) -> list[str]:
    """The table of initial weights, one row for each parameter of each class."""
    facts = context.facts
    counts = list_counts(facts.model)
    own = tuple(f"{module.path}." for module in own_modules(facts.model))
    draws = {
        p.name: _draw(module, p)
        for module in facts.model.walk()
        for p in module.parameters
        if p.tied_to is None and not p.name.startswith(own)
    }
    lines = [
        "# How each parameter starts; drawn by seed, name and row: the same on every mesh.",
        "INIT = {",
    ]
    for form, members in folded(list(draws), counts).items():
        common, _ = Counter(draws[name] for name in members).most_common(1)[0]
        lines.append(f'    "{form}": {common},')
        lines.extend(f'    "{name}": {draws[name]},' for name in members if draws[name] != common)
    return [*lines, "}", *own_lines(context, counts)]


def _draw(module: Module, parameter: Parameter) -> str:
    draw = parameter.draw
    match draw.name:
        case "fan_in":
            return f"uniform({_root(entry_text(parameter.shape[-1]))})"
        case "fan_in_bias":
            assert isinstance(module.what, model.Leaf)
            return f"uniform({_root(entry_text(module.what.dims['I']))})"
        case "ones" if not draw.settings:
            offset = module.settings.get("offset", 0)
            assert isinstance(offset, (int, float))
            return f"constant({1.0 - offset})"
        case "zeros" if not draw.settings:
            return "constant(0.0)"
        case "normal" if not draw.settings:
            return "normal(1.0)"
        case _:
            pass
    settings = dict(draw.settings)
    if draw.name == "xavier_uniform":
        settings |= {
            "fan_in": entry_text(parameter.shape[-1]),
            "fan_out": entry_text(parameter.shape[0]),
        }
    return find("inits", draw.name).construct(settings)


def _root(size: str) -> str:
    """Text of one over the square root of a size."""
    return f"{size}**-0.5" if size.replace("_", "").isalnum() else f"({size}) ** -0.5"


# ---------------------------------------------------------------------------------------- build


def build_lines(context: Context, root: ClassText) -> list[str]:
    """`build_model()` and `build(device)`."""
    facts = context.facts
    sharded = "" if facts.layout.storage.kind == "ddp" else ", sharded"
    lines = [
        "def build_model():",
        f'    """The model without memory yet{sharded}."""',
    ]
    meshes, storage = _meshes(context, root)
    lines.extend(meshes)
    lines.append('    with torch.device("meta"):')
    tensor = facts.layout.tensor
    groups = ", ".join(_group(context, axes) for axes in root.groups.values())
    lines.append(f"        model = {root.name}({groups})")
    frozen = [p.name for p in facts.parameters if p.frozen]
    if frozen:
        lines.append("    freeze(model, FROZEN)")
    if tensor is not None:
        place, over = context.place(tensor.rule), "_".join(tensor.axes)
        tables = "SPLIT, OWN" if are_pieces(context) else "SPLIT"
        lines.append(f'    split_parameters(model, {storage}["{over}"], {tables})  # {place}')
    lines.extend(_compile_lines(context))
    if storage:
        lines.append(f"    shard(model, {_stored_over(context, storage)})")
    lines.append("    return model")
    return [*lines, "", "", *_build(context)]


def _group(context: Context, axes: tuple[str, ...]) -> str:
    """The process group of an axis, or of a product of axes."""
    name = "_".join(axes)
    storage, mesh = _storage(context)
    is_stored = len(axes) > 1 and (_joint_mesh(context, axes) == mesh)
    if is_stored or _is_split_by(context, axes):
        return f'{storage}["{name}"].get_group()'
    return f'{name if len(axes) > 1 else "mesh"}["{name}"].get_group()'


def _is_split_by(context: Context, axes: tuple[str, ...]) -> bool:
    """Whether parameters are split over these axes, so that the mesh of storage has their group."""
    tensor = context.facts.layout.tensor
    return tensor is not None and axes == tensor.axes


def _meshes(context: Context, root: ClassText) -> tuple[list[str], str]:
    """Lines that make the meshes, and the name of the one that parameters are stored over."""
    groups = [axes for axes in root.groups.values() if not _is_split_by(context, axes)]
    made = {"mesh": _base(context)} if any(len(axes) == 1 for axes in groups) else {}
    name, text = _storage(context)
    joint = [axes for axes in groups if len(axes) > 1 and _joint_mesh(context, axes) != text]
    made |= {"_".join(axes): _joint_mesh(context, axes) for axes in joint}
    made |= {name: text} if name else {}
    return [line for key, value in made.items() for line in fit(f"{key} = {value}", 4)], name


def _base(context: Context) -> str:
    names = _axis_names(context)
    return f"init_device_mesh(DEVICE, ({_sizes(names)}), mesh_dim_names=({_quoted(names)}))"


def _axis_names(context: Context) -> list[str]:
    return [axis.name for axis in context.facts.mesh.axes]


def _storage(context: Context) -> tuple[str, str]:
    """Name and text of the mesh that parameters are stored over; none under DDP."""
    if context.facts.layout.storage.kind == "ddp":
        return "", ""
    dims = _storage_dims(context.facts)
    if [axes for _, axes in dims] == [[name] for name in _axis_names(context)]:
        return "mesh", _base(context)  # each axis has one use, so its mesh serves for storage too
    return "storage", _mesh_of(context, dims)


def _storage_dims(facts: Facts) -> list[tuple[str, list[str]]]:
    """Names of the dims of the mesh of storage with the axes of each, none for one of size 1.

    Copies come first, then what parameters are stored over, then what splits them by their dims.
    """
    storage, tensor = facts.layout.storage, facts.layout.tensor
    copies, shard = list(storage.replicate), list(storage.shard)
    split = list(tensor.axes) if tensor is not None else []
    if storage.kind != "replicate":
        return [("_".join(axes), axes) for axes in (copies, shard, split) if axes]
    found = [("replicate", copies), ("shard", shard), ("_".join(split), split)]
    return [(name, axes) for name, axes in found if axes or name == "shard"]


def _stored_over(context: Context, storage: str) -> str:
    """Text of the mesh that parameters are stored over, less the axes that split them by dims."""
    tensor = context.facts.layout.tensor
    if tensor is None:
        return storage
    names = [name for name, axes in _storage_dims(context.facts) if axes != list(tensor.axes)]
    return f"{storage}[{_quoted(names).rstrip(',')}]"


def _joint_mesh(context: Context, axes: tuple[str, ...]) -> str:
    """Text of the mesh in which a product of axes is one axis."""
    others = [name for name in _axis_names(context) if name not in axes]
    dims = [("_".join(part), part) for part in (others, list(axes)) if part]
    return _mesh_of(context, dims)


def _mesh_of(context: Context, dims: list[tuple[str, list[str]]]) -> str:
    """Text of a mesh from the names of its dims and the axes of each."""
    names = _axis_names(context)
    sizes = ", ".join(_product(axes) or "1" for _, axes in dims) + ("," if len(dims) == 1 else "")
    labels = _quoted([name for name, _ in dims])
    used = [name for _, axes in dims for name in axes]
    if used == names:
        return f"init_device_mesh(DEVICE, ({sizes}), mesh_dim_names=({labels}))"
    order = ", ".join(str(names.index(name)) for name in used)
    view = f"torch.arange(WORLD).view({_sizes(names).rstrip(',')}).permute({order})"
    ranks = f"{view}.reshape({sizes.rstrip(',')})"
    return f"DeviceMesh(DEVICE, {ranks}, mesh_dim_names=({labels}))"


def _sizes(names: list[str]) -> str:
    return ", ".join(name.upper() for name in names) + ("," if len(names) == 1 else "")


def _product(names: list[str]) -> str:
    return " * ".join(name.upper() for name in names)


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) + ("," if len(names) == 1 else "")


def _compile_lines(context: Context) -> list[str]:
    facts = context.facts
    rules = {m.path: m.compile for m in facts.model.walk() if m.compile is not None}
    actions = [((path,), _compile_call(context, rule)) for path, rule in rules.items()]
    lines: list[str] = []
    for loop in loops(actions, list_counts(facts.model)):
        indent, base = (8, loop.variable) if loop.variable else (4, loop.source)
        if loop.variable:
            lines.append(f"    for {loop.variable} in {loop.source}:")
        lines.extend(
            f"{' ' * indent}{access(base, below[0])}{call}" for below, call in loop.actions
        )
    return lines


def _compile_call(context: Context, rule: Compile) -> str:
    words: list[str] = []
    if rule.mode is not None:
        words.append(f'mode="{rule.mode}"')
    if rule.fullgraph:
        words.append("fullgraph=True")
    if rule.dynamic is not None:
        words.append(f"dynamic={rule.dynamic}")
    return f".compile({', '.join(words)})  # {context.place(rule.span)}"


def _build(context: Context) -> list[str]:
    facts = context.facts
    storage = facts.layout.storage
    ddp = storage.kind == "ddp"
    lines = ["def build(device):"]
    what = "The model on this rank with its weights drawn, and its optimizer"
    lines += [
        f'    """{what}."""',
        "    model = build_model()",
        f"    {empty_line(facts)}",
    ]
    if ddp:
        for module in facts.model.walk():
            for tie in module.block.ties if module.block is not None else ():
                left = access("model", ".".join(filter(None, (module.path, *tie.left))))
                right = access("model", ".".join(filter(None, (module.path, *tie.right))))
                lines.append(f"    {left} = {right}  # to_empty took them apart")
    if own_modules(facts.model):
        lines.append("    init_weights(model, INIT, SEED, skip=init_own(model, OWN, SEED))")
    else:
        lines.append("    init_weights(model, INIT, SEED)")
    if ddp:
        options = facts.target.ddp_options(facts.training.accumulate)
        words = ", ".join(f"{name}={value}" for name, value in options.items())
        lines.extend(fit(f"model = DistributedDataParallel(model, {words})", 4))
        if has_dropout(facts):
            # the argument has another name since torch 2.13, which warns of the old one
            lines.append(
                "    model.broadcast_buffers = False  # dropout keys are alike on all ranks"
            )
    lines.extend(fit(f"optimizer = {_optimizer(context)}", 4))
    return [*lines, *step_lines(context), "    return model, optimizer"]


def _optimizer(context: Context) -> str:
    facts = context.facts
    chosen = facts.training.optimizer
    record = find("optimizers", chosen.name)
    trained = [p for p in facts.parameters if p.trained and p.tied_to is None]
    if any(p.group for p in trained if not p.frozen):
        whole = "model.module" if facts.layout.storage.kind == "ddp" else "model"
        parameters = f"parameter_groups({whole}, GROUPS)"
    elif any(p.frozen for p in trained):
        parameters = "[p for p in model.parameters() if p.requires_grad]"
    else:
        parameters = "model.parameters()"
    return record.construct(parameters, chosen.settings, optimizer_flag(facts))


def group_lines(context: Context) -> list[str]:
    """`FROZEN` and `GROUPS`: parameters not trained, or with optimizer settings of their own."""
    facts = context.facts
    counts = list_counts(facts.model)
    own = [p for p in facts.parameters if p.trained and p.tied_to is None]
    names = [p.name for p in own]
    lines: list[str] = []
    frozen = [p.name for p in own if p.frozen]
    if frozen:
        lines += [
            "# Parameters that are not trained.",
            *_table("FROZEN", patterns(frozen, names, counts)),
        ]
    groups: dict[tuple[tuple[str, SettingValue], ...], list[str]] = {}
    for parameter in own:
        if parameter.group and not parameter.frozen:
            groups.setdefault(parameter.group, []).append(parameter.name)
    if groups:
        lines += ["# Parameters with optimizer settings of their own.", "GROUPS = ["]
        for settings, members in groups.items():
            words = ", ".join(f'"{name}": {literal(value)}' for name, value in settings)
            lines += ["    (", f"        {{{words}}},", "        ["]
            lines += [f'            "{pattern}",' for pattern in patterns(members, names, counts)]
            lines += ["        ],", "    ),"]
        lines.append("]")
    host = names_on_host(facts)
    if host:
        every = [p.name for p in facts.parameters if p.trained]
        lines += [
            "# Parameters in the memory of the host, with their gradients and optimizer state.",
            *_table("ON_HOST", patterns(host, every, counts)),
        ]
    return [*lines, *_split_lines(context, names)]


def _split_lines(context: Context, names: list[str]) -> list[str]:
    """`SPLIT` and `SUMMED`: how the ranks of the tensor split share parameters and gradients."""
    facts = context.facts
    tensor = facts.layout.tensor
    if tensor is None:
        return []
    counts = list_counts(facts.model)
    axes = "*".join(tensor.axes)
    dims: dict[int, list[str]] = {}
    for parameter in facts.parameters:
        dim = parameter_dim(parameter.shape, tensor)
        if parameter.trained and parameter.tied_to is None and dim is not None:
            dims.setdefault(dim, []).append(parameter.name)
    lines = [f"# The dim along which {axes} splits a parameter; others are whole on each rank."]
    lines.append("SPLIT = {")
    for dim, members in dims.items():
        lines += [f'    "{pattern}": {dim},' for pattern in patterns(members, names, counts)]
    lines.append("}")
    if facts.summed:
        lines += [
            f"# Whole parameters that each rank of {axes} uses on its piece: gradients are summed.",
            *_table("SUMMED", patterns(facts.summed, names, counts)),
        ]
    return lines


def _table(name: str, items: list[str]) -> list[str]:
    return [f"{name} = [", *(f'    "{item}",' for item in items), "]"]
