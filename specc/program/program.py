"""The Program as a whole, and what a file declares besides blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specc.program.model import BlockClass, ValueType
    from specc.source import Source, Span
    from specc.syntax import tree


@attrs.frozen
class Dim:
    """A named dim with its size as written."""

    name: str
    size: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Constant:
    """A `let`: a number, list, word or constructor as written."""

    name: str
    value: tree.Expr
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Field:
    """One name of `train.data`.

    Args:
        type: shape and dtype, from the model's input of that name or as written.
        source: the call that fills it, as written (`randn`, `tokens("x.bin")`).
        group: all names bound by the same tuple, in order; a single field is its own group.
        position: this field's place in the group.
    """

    name: str
    type: ValueType
    source: tree.Expr
    group: tuple[str, ...]
    position: int
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class LossTerm:
    """One term of the loss: `factor * function(arguments)`.

    Args:
        function: name of its record in `vocabulary/losses`.
        arguments: names of model results and data fields.
        settings: as written.
        factor: scalar expression; None for 1.
        types: the arguments' types.
    """

    function: str
    arguments: tuple[str, ...]
    settings: tuple[tree.Argument, ...]
    factor: tree.Expr | None
    types: tuple[ValueType, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Train:
    """The `train` block with names resolved; the plain settings stay expressions.

    Args:
        settings: `steps`, `optimizer`, `schedule`, `clip`, `accumulate`, `seed`, `log.every`,
            `save.dir`, .. by
            dotted path, each with its span.
        rules: `optimize` and `init` rules.
    """

    fields: tuple[Field, ...]
    loss: tuple[LossTerm, ...]
    settings: Mapping[str, tree.Setting]
    rules: tuple[tree.VerbRule, ...]
    span: Span = attrs.field(eq=False, repr=False)


@attrs.frozen
class Extern:
    """Somebody else's class or function with the shapes it promises."""

    name: str
    module: str
    attribute: str
    declaration: tree.Extern
    is_function: bool


@attrs.frozen
class Program:
    """One spec with its imports, independent of mesh and target.

    Args:
        name: stem of the file.
        classes: every block under every binding that the model uses, by key; children before
            parents.
        model: key of the model's class; None for a library file.
        layouts: the plain layout under the key "".
        launch: settings of the `launch` block by dotted path.
        sources: the file and its imports, for the text hash.
    """

    name: str
    source: Source
    sources: tuple[Source, ...]
    dims: Mapping[str, Dim]
    lets: Mapping[str, Constant]
    checks: tuple[tree.Check, ...]
    classes: Mapping[str, BlockClass]
    model: str | None
    externs: Mapping[str, Extern]
    mesh: tree.Mesh | None
    cluster: tree.Cluster | None
    layouts: Mapping[str, tree.Layout]
    train: Train | None
    launch: Mapping[str, tree.Setting]
    targets: Mapping[str, tree.Target]
    profiles: Mapping[str, tree.Profile]

    @property
    def is_run(self) -> bool:
        """Whether the spec says a whole training."""
        return self.model is not None and self.train is not None
