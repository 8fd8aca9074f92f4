"""Records: what a name takes and gives, how an axis may split it, what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from specc.program.dims import Entry
    from specc.program.model import ValueType

Kind = Literal[
    "int",
    "float",
    "bool",
    "word",
    "dim",
    "string",
    "duration",
    "bytes",
    "list",
    "constructor",
    "value",
]


@attrs.frozen
class Constructor:
    """An evaluated constructor word in a setting: `llama3(factor = 8, ..)`, `normal(0.02)`."""

    name: str
    settings: Mapping[str, SettingValue] = attrs.field(eq=False)


SettingValue: TypeAlias = "int | float | bool | str | tuple[SettingValue, ...] | Constructor | None"
Settings: TypeAlias = "Mapping[str, SettingValue]"
# Python text of an expression, by letter of the signature: {"I": "D", "O": "HEADS * HD"}.
DimTexts: TypeAlias = "Mapping[str, str]"


@attrs.frozen
class Setting:
    """A setting that a record accepts.

    Args:
        kind: what its value is; a bare number is refused where a duration or bytes are due.
        default: used when it is not given; REQUIRED when it must be.
        choices: for words, and for constructors the names allowed.
        optional: whether `none` is a value.
        lowered: false for a setting that the language has and this version does not lower yet;
            giving it anything
            but its default is E0291.
    """

    name: str
    kind: Kind
    default: SettingValue | object = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    lowered: bool = True


REQUIRED = object()


@attrs.frozen
class Weight:
    """One tensor of a part.

    Args:
        name: last word of the state-dict name.
        dims: letters of its shape, `("O", "I")`.
        init: default draw: `fan_in` (uniform within 1/sqrt of the last dim, as torch's Linear),
            `fan_in_bias` (the
            same bound for a bias: needs `I`), `normal`, `ones`, `zeros`.
        when: the boolean setting that switches it on, if there is one.
        unless: the boolean setting that must be true for it, with several: see `RMSNorm(affine =
            false)`.
    """

    name: str
    dims: tuple[str, ...]
    init: str
    when: str | None = None


@attrs.frozen
class Lie:
    """How the weights of a part lie on the ranks of a tensor split, in Python text.

    Args:
        summed: whether they are split along what the part sums over (`sum` of its record).
        segments: sizes of the segments that its result has side by side, each of them split;
            empty where there are none.
        start: this rank's first index along the dim that is summed over.
        group: process group.
    """

    summed: bool
    segments: tuple[str, ...]
    start: str
    group: str


@attrs.frozen
class PartRecord:
    """A part of the vocabulary.

    Args:
        arguments: `arrow` for `Linear(I -> O)`, `one` for `LayerNorm(D)`, `shape` for
            `Param([..])`, `none`.
        letters: the letters bound by the arguments.
        takes: signature, such as `x [.., I] -> [.., O]`; lower-case names are for messages.
        split: letters that an axis may split (`..` for all leading dims) without a collective.
        sum: letters that an axis may split when the result is summed over it.
        construct: Python text of the constructor from dims and settings.
        local: the same for a part whose weights are DTensors; None for one without weights.
        flops: floating-point operations of one forward, from sizes by letter (`..` the product of
            leading dims).
        saved: values kept for backward, counted in elements, from the same sizes.
        source: where the formula or definition comes from.
    """

    name: str
    arguments: Literal["arrow", "one", "shape", "none"]
    letters: tuple[str, ...]
    takes: str
    settings: tuple[Setting, ...]
    weights: tuple[Weight, ...]
    split: tuple[str, ...]
    construct: Callable[[DimTexts, Settings], str]
    sum: tuple[str, ...] = ()
    local: Callable[[DimTexts, Settings, Lie], str] | None = None
    flops: Callable[[Mapping[str, int]], int] | None = None
    saved: Callable[[Mapping[str, int]], int] | None = None
    positional: tuple[str, ...] = ()
    source: str = ""


@attrs.frozen
class Raw:
    """Python text that stands for a setting's value, such as `self.window`."""

    text: str

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class FunctionCall:
    """What a function record prints from.

    Args:
        arguments: Python text of each value.
        dims: Python text of local sizes by letter; `start:S` is the text of this rank's first
            index along S.
        settings: evaluated, defaults filled in; a setting that is a block's constructor argument
            comes as `Raw`.
        device: Python text of the device that new tensors lie on.
    """

    arguments: tuple[str, ...]
    dims: DimTexts
    settings: Mapping[str, SettingValue | Raw]
    device: str = ""


class Infer(Protocol):
    """Result types of a function whose result no letter pattern can say."""

    def __call__(
        self,
        types: Sequence[ValueType],
        settings: Mapping[str, Entry],
        definition: Callable[[str], Entry | None],
        /,
    ) -> tuple[ValueType, ...] | str:
        """Types of the results, or a sentence that says what is wrong."""
        ...


@attrs.frozen
class FunctionRecord:
    """A function on values.

    Args:
        takes: signature with letters, as for parts; empty when `infer` decides.
        infer: for functions whose result no letter pattern can say (`split`, `concat`, `mean(x,
            over = S)`):
            gets the argument types, the given `dim` settings as entries, and what a dim is defined
            as (or None);
            returns result types or a sentence that says what is wrong.
        split: letters that an axis may split; every other letter must be whole on each rank.
        context: letters that a method may make whole around the call (`S`, `T` of attention).
        construct: Python text of the call.
        variadic: any number of arguments.
    """

    name: str
    takes: str
    settings: tuple[Setting, ...]
    split: tuple[str, ...]
    construct: Callable[[FunctionCall], str]
    infer: Infer | None = None
    context: tuple[str, ...] = ()
    variadic: bool = False
    positional: tuple[str, ...] = ()
    flops: Callable[[Mapping[str, int]], int] | None = None
    saved: Callable[[Mapping[str, int]], int] | None = None
    source: str = ""


@attrs.frozen
class LossRecord:
    """A loss: a sum over this rank's elements, and what the sum is divided by.

    Args:
        takes: signature of its arguments, such as `logits [.., V], labels i64[..]`.
        count: letters whose global sizes multiply to the number of counted elements; `..` for the
            leading dims.
        whole: letters that no axis may split.
        ignore: the setting that makes the count depend on the data, when it is given.
        construct: Python text of the local sum from argument texts and settings.
        classes: the same where every rank has a piece of the class dim, with the text of their
            process group; None where it cannot be.
        chunk: the setting that asks for the tail to run in chunks of tokens.
    """

    name: str
    takes: str
    settings: tuple[Setting, ...]
    count: tuple[str, ...]
    whole: tuple[str, ...]
    construct: Callable[[tuple[str, ...], Settings], str]
    classes: Callable[[tuple[str, ...], Settings, str], str] | None = None
    ignore: str | None = None
    chunk: str | None = None
    source: str = ""


@attrs.frozen
class OptimizerRecord:
    """An optimizer.

    Args:
        construct: Python text from the text of the parameters, the settings and the target's
            choice of
            implementation (`fused`, `foreach` or empty).
        state_bytes: bytes of optimizer state per parameter element, at fp32 storage.
        group: settings that `optimize` rules may set per group.
    """

    name: str
    settings: tuple[Setting, ...]
    construct: Callable[[str, Settings, str], str]
    state_bytes: Callable[[Settings], int]
    group: tuple[str, ...]
    source: str = ""


@attrs.frozen
class ScheduleRecord:
    """A learning-rate schedule.

    Args:
        construct: Python text of the rate, from the texts of its settings and of `step`, `peak`
            and `steps`.
    """

    name: str
    settings: tuple[Setting, ...]
    construct: Callable[[Mapping[str, str]], str]
    source: str = ""


@attrs.frozen
class DataRecord:
    """A source of data fields.

    Args:
        results: how many names it fills: 1 (`randn`) or 2 (`ids, labels = text(..)`).
        dtype: of its fields: `float`, `i64`, ..
        held_out: whether the source sets a part aside that `evaluate` can read.
        rows: the largest id plus one that it can give, from its settings, or None.
    """

    name: str
    settings: tuple[Setting, ...]
    results: int
    dtype: str
    positional: tuple[str, ...] = ()
    held_out: bool = False
    vocabulary: Callable[[Settings], int] | None = None
    source: str = ""


@attrs.frozen
class InitRecord:
    """A way to draw a weight: Python text of the draw.

    Args:
        construct: text from the evaluated arguments.
    """

    name: str
    settings: tuple[Setting, ...]
    construct: Callable[[Settings], str]
    positional: tuple[str, ...] = ()
    source: str = ""


@attrs.frozen
class WordRecord:
    """A constructor word inside a setting, such as the rope scaling `llama3(..)`."""

    name: str
    kind: str
    settings: tuple[Setting, ...]
    construct: Callable[[str, Settings], str]
    positional: tuple[str, ...] = ()
    source: str = ""


@attrs.frozen
class MethodRecord:
    """How an axis moves: `ulysses(heads)`; what it demands is checked in `check/placement.py`.

    Args:
        construct: Python text of the call that takes the place of attention's own, from that call,
            the text of the axis's process group and the method's settings; None where values move
            before and after it.
    """

    name: str
    settings: tuple[Setting, ...]
    positional: tuple[str, ...] = ()
    lowered: bool = True
    construct: Callable[[FunctionCall, str, Settings], str] | None = None


@attrs.frozen
class Later:
    """A name of the closed vocabulary that this version knows and does not lower yet.

    Args:
        kind: `part`, `function`, `loss`, `data`, `optimizer`, `method`.
        instead: what to do meanwhile, as a help line.
    """

    name: str
    kind: str
    instead: str = ""


@attrs.define
class Binding:
    """What the letters of a signature stand for at one call.

    Args:
        letters: entries by letter.
        leading: the entries that `..` stands for; None until an operand has said them.
    """

    letters: dict[str, Entry]
    leading: tuple[Entry, ...] | None = None
