"""Facts of a Plan: mesh, modules, parameters, units, placements and settings, evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specc.plan.placing import Placed
    from specc.program.dims import Shape
    from specc.program.model import ApplyFunction, BlockClass, Scalar, Statement, What
    from specc.program.program import Field, LossTerm, Program
    from specc.situation import Situation
    from specc.source import Span
    from specc.targets.target import Target
    from specc.vocabulary.record import Constructor, SettingValue


@attrs.frozen
class Size:
    """A number with the Python text that a script shows for it.

    Args:
        value: for the stated world.
        text: over named constants: `32 * DP`, `WORLD // CP`; equal to `str(value)` for a plain
            number.
    """

    value: int
    text: str


@attrs.frozen
class Axis:
    """One dimension of the device mesh (a leaf of the spec's axes).

    Args:
        stride: how far apart the ranks of one group lie.
    """

    name: str
    size: Size
    stride: int
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Mesh:
    """The mesh: leaf axes, outermost first.

    Args:
        products: leaf names of every name that a rule may use: leaves themselves, and axes with
            sub-axes.
        world: number of ranks.
        world_is_open: the spec says `world` or `rest`, so a script runs at any size that fits.
    """

    axes: tuple[Axis, ...]
    products: Mapping[str, tuple[str, ...]] = attrs.field(eq=False)
    world: int
    world_is_open: bool

    def axis(self, name: str) -> Axis:
        """The leaf axis of that name."""
        return next(axis for axis in self.axes if axis.name == name)

    def degree(self, names: tuple[str, ...]) -> int:
        """Number of ranks along the product of leaf axes."""
        degree = 1
        for name in names:
            degree *= self.axis(name).size.value
        return degree


@attrs.frozen
class Precision:
    """Dtypes of one module: `fp32`, `bf16`; `compute` is None where it equals `params`."""

    params: str = "fp32"
    compute: str | None = None
    reduce: str = "fp32"


@attrs.frozen
class Draw:
    """How a parameter starts: a word of the init vocabulary and its evaluated settings."""

    name: str
    settings: Mapping[str, SettingValue] = attrs.field(eq=False)


@attrs.frozen
class Parameter:
    """One tensor of the model with its global shape.

    Args:
        name: state-dict name, `blocks.0.attn.wq.weight`.
        shape: named entries.
        sizes: global sizes.
        tied_to: name of the parameter whose storage this one is; None for its own.
        frozen: no gradient, no optimizer state.
        group: optimizer settings that differ from the optimizer's own, by name.
        trained: false for a Buffer.
    """

    name: str
    shape: Shape
    sizes: tuple[int, ...]
    draw: Draw
    precision: Precision
    trained: bool = True
    frozen: bool = False
    tied_to: str | None = None
    group: tuple[tuple[str, SettingValue], ...] = ()

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.sizes:
            count *= size
        return count


@attrs.frozen
class Recompute:
    """Recompute a module in backward, all of it or all but the kept values."""

    keep: tuple[str, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Compile:
    """Compile a module; `mode` is None for torch's default."""

    mode: str | None
    fullgraph: bool
    dynamic: bool | None
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Module:
    """One part of the model, unfolded: every element of every list is its own module.

    Args:
        path: state-dict prefix, `blocks.0.attn`; empty for the model.
        name: last word of the path; the number for an element of a list or chain.
        type: the name that `each T` selects by: of the block, the vocabulary part or the extern;
            empty for lists
            and chains.
        block: class of the Program, for blocks and the model.
        statics: the block's settings, evaluated; `index` names of lists as plain numbers.
        settings: of a vocabulary part, defaults filled in.
        parameters: its own tensors, not those of its children.
        calls: settings of every function call in the block's statements, defaults filled in.
        numbers: every plain number of the block's value expressions, evaluated.
    """

    path: str
    name: str
    type: str
    what: What | None
    block: BlockClass | None
    statics: Mapping[str, SettingValue] = attrs.field(eq=False)
    settings: Mapping[str, SettingValue] = attrs.field(eq=False)
    children: tuple[Module, ...]
    parameters: tuple[Parameter, ...]
    precision: Precision
    recompute: Recompute | None
    compile: Compile | None
    calls: Mapping[ApplyFunction, Mapping[str, SettingValue]] = attrs.field(
        factory=dict["ApplyFunction", "Mapping[str, SettingValue]"], eq=False
    )
    numbers: Mapping[Scalar, float] = attrs.field(factory=dict["Scalar", float], eq=False)

    def walk(self) -> Iterator[Module]:
        """This module and everything inside, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def child(self, name: str) -> Module:
        """The direct child of that name."""
        return next(child for child in self.children if child.name == name)


@attrs.frozen
class Unit:
    """One FSDP2 unit: modules whose parameters are gathered and reduced together.

    Args:
        modules: paths, several for ties and for precision islands; empty string for the root.
        parameters: names, each parameter of the model in exactly one unit.
        reshard: whether parameters are freed after forward; None for the root, which keeps torch's
            default.
        span: the rule that made it.
        on_host: parameters, gradients and optimizer state lie in the memory of the host.
    """

    modules: tuple[str, ...]
    parameters: tuple[str, ...]
    precision: Precision
    reshard: bool | None
    span: Span | None = attrs.field(eq=False, repr=False)
    on_host: bool = False


@attrs.frozen
class Storage:
    """Where parameters, gradients and optimizer state lie.

    Args:
        kind: `ddp` (fp32 on every rank), `replicate` (FSDP2 over a mesh (n, 1): lower precision on
            every rank, or parameters on the host), or
            `params`, `grads`, `optim` (FSDP2 with ZeRO-3, -2, -1).
        shard: leaf axes that parameters are split over, in mesh order; empty for `ddp` and
            `replicate`.
        replicate: leaf axes that hold copies, in mesh order.
        rule: the rule that says so; None when nothing does.
    """

    kind: str
    shard: tuple[str, ...]
    replicate: tuple[str, ...]
    units: tuple[Unit, ...]
    rule: Span | None = attrs.field(eq=False, repr=False)


@attrs.frozen
class Split:
    """A dim of activations split over leaf axes (outermost first), and the rule that says so."""

    dim: str
    axes: tuple[str, ...]
    rule: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class TensorSplit:
    """`tp: shard heads, kv, ff, vocab else S`: dims of parameters and values split over leaf axes.

    Args:
        axes: leaf axes, in mesh order.
        dims: a tensor with one of them is split along it.
        otherwise: the dim along which a value without any of them is split, inside the axes that
            split this dim anyhow; None keeps such values whole. It never splits a parameter.
        rules: the place where each dim is named.
    """

    axes: tuple[str, ...]
    dims: tuple[str, ...]
    otherwise: str | None
    rules: Mapping[str, Span] = attrs.field(eq=False, repr=False)

    @property
    def rule(self) -> Span:
        """Where the first dim is named."""
        return self.rules[self.dims[0]]


@attrs.frozen
class Method:
    """`via ulysses(heads)`: how a split dim is moved around the parts that need it whole.

    Args:
        axes: leaf axes.
        dim: the dim that the rule splits (`S`).
        settings: evaluated; dim names stay words.
        within: paths of the modules it is restricted to; None for all.
    """

    name: str
    axes: tuple[str, ...]
    dim: str
    settings: Mapping[str, SettingValue] = attrs.field(eq=False)
    within: frozenset[str] | None
    rule: Span = attrs.field(eq=False, repr=False)

    def acts_in(self, path: str) -> bool:
        """Whether it moves values of the module at that path."""
        return self.within is None or path in self.within


@attrs.frozen
class Offload:
    """What lies in the memory of the host; nothing where the device is the host.

    Args:
        rule: the first rule that says so.
        parameters: names; their gradients and optimizer state lie there, too.
        state: whether the optimizer state of all parameters does, and the optimizer steps there.
    """

    rule: Span = attrs.field(eq=False, repr=False)
    parameters: frozenset[str] = frozenset()
    state: bool = False


@attrs.frozen
class Layout:
    """All of the layout's axis rules, and what its rules move to the host."""

    name: str
    splits: tuple[Split, ...]
    methods: tuple[Method, ...]
    storage: Storage
    duplicate: tuple[str, ...]
    """Leaf axes whose ranks all do the same work (`rep: replicate`)."""
    tensor: TensorSplit | None = None
    offload: Offload | None = None

    def axes_of(self, dim: str) -> tuple[str, ...]:
        """Leaf axes that split a dim of the data wherever it occurs."""
        return next((split.axes for split in self.splits if split.dim == dim), ())


@attrs.frozen
class Training:
    """The settings of `train`, evaluated.

    Args:
        schedule: None for a constant rate.
        clip: None where gradients are not clipped.
        log_every, log_warmup, save_every, save_dir, save_keep, evaluate_every, evaluate_batches:
            None where the
            block is missing.
        timeout_s: of collectives; endpoint: rendezvous of several nodes, from `launch`.
    """

    fields: tuple[Field, ...]
    sources: Mapping[str, Constructor] = attrs.field(eq=False)
    loss: tuple[LossTerm, ...]
    loss_settings: tuple[Mapping[str, SettingValue], ...] = attrs.field(eq=False)
    loss_factors: tuple[float, ...]
    optimizer: Constructor
    schedule: Constructor | None
    steps: int
    accumulate: int
    clip: float | None
    seed: int
    matmul: str
    deterministic: bool
    log_every: int | None
    log_warmup: int | None
    save_every: int | None
    save_dir: str | None
    save_keep: int | None
    evaluate_every: int | None
    evaluate_batches: int | None
    endpoint: str | None
    timeout_s: float | None


@attrs.frozen
class Cluster:
    """Figures of the machine, where the mesh names a cluster; bytes and bytes per second.

    Args:
        memory_bytes: of a device.
        host_bytes: of the host memory of a node.
    """

    name: str
    device: str | None
    nodes: int | None
    gpus: int | None
    memory_bytes: int | None
    host_bytes: int | None = None


@attrs.frozen
class Facts:
    """Everything that is known of a spec in a situation.

    Args:
        dims: every dim with its size and text, in the order of declaration.
        model: root of the unfolded modules.
        placed: by key of a block's class, its statements with the exchanges that the layout's
            tensor split needs; empty where there is none.
        summed: parameters whose gradients are summed over the axes of the tensor split, for every
            rank of these uses the whole parameter on a piece of a value.
    """

    program: Program
    situation: Situation
    target: Target
    dims: Mapping[str, Size] = attrs.field(eq=False)
    lets: Mapping[str, SettingValue] = attrs.field(eq=False)
    mesh: Mesh
    cluster: Cluster | None
    layout: Layout
    model: Module
    training: Training
    placed: Mapping[str, Placed] = attrs.field(factory=dict[str, "Placed"], eq=False)
    summed: tuple[str, ...] = ()

    def statements(self, block: BlockClass) -> tuple[Statement, ...]:
        """The statements of a block with all exchanges between ranks."""
        placed = self.placed.get(block.key)
        return block.statements if placed is None else placed.statements

    @property
    def sizes(self) -> dict[str, int]:
        """Size of every dim by name."""
        return {name: size.value for name, size in self.dims.items()}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every tensor of the model in state-dict order."""
        return tuple(p for module in self.model.walk() for p in module.parameters)
