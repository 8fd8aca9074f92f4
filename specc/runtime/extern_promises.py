"""What an extern's declaration promises, against what was seen of it; how to put it right."""

from collections.abc import Iterator, Mapping
from itertools import combinations

import attrs

from specc.check.expressions import Scope, compute, whole
from specc.check.externs import init_values
from specc.check.names import Names, Unknown
from specc.diagnostics import Edit, Help, Report, nearest
from specc.plan.facts import Facts
from specc.plan.foreign import is_piece
from specc.source import Span
from specc.syntax import tree
from specc.vocabulary.record import SettingValue

MOST_SHOWN = 8
MULTIPLES = range(2, 9)
HOW = "`specc check --externs --fix` writes it"
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


@attrs.frozen
class Seen:
    """What was seen of an extern.

    Args:
        tensors: shape of each parameter and saved buffer by state-dict name.
        buffers: names of those that are buffers.
        others: shapes of all buffers, saved or not.
        results: shapes of what a call gave, the type's name for what is no tensor; None if it
            could not be called.
    """

    tensors: Mapping[str, tuple[int, ...]]
    results: tuple[tuple[int, ...] | str, ...] | None
    buffers: frozenset[str] = frozenset()
    others: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict[str, tuple[int, ...]])


@attrs.frozen(eq=False)
class Promises:
    """A declaration whose sizes can be asked for.

    Args:
        leading: size of the one dim that stands for `..`.
        pieces: sizes on one rank of the dims that a rule splits; empty for the whole.
    """

    declared: tree.Extern
    facts: Facts
    leading: int
    pieces: Mapping[str, int] = attrs.field(factory=dict[str, int])

    @property
    def where(self) -> str:
        """Words that say what is looked at: empty for the whole."""
        tensor = self.facts.layout.tensor
        return f" on a rank of `{'*'.join(tensor.axes)}`" if self.pieces and tensor else ""

    def arguments(self, sizes: Mapping[str, int]) -> dict[str, SettingValue]:
        """Arguments of the constructor by name, or by position as text."""
        whole_values = init_values(self.declared, sizes, self._scope({}))
        if not self.pieces:
            return whole_values
        here = init_values(self.declared, {**sizes, **self.pieces}, self._scope({}))
        formals, lets = frozenset(self.pieces), self.facts.program.lets
        for position, argument in enumerate(self.declared.init or ()):
            name = argument.name or str(position)
            value, mine = whole_values[name], here[name]
            if isinstance(value, tuple) and isinstance(mine, tuple):
                items = argument.value.items if isinstance(argument.value, tree.ListOf) else ()
                triples = zip(items, value, mine, strict=True)
                here[name] = tuple(m if is_piece(i, formals, lets) else w for i, w, m in triples)
            elif not is_piece(argument.value, formals, lets):
                here[name] = value
        return here

    def weights(self, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Shapes of the declared parameters."""
        return {w.name: self._shape(w.type, sizes) for w in self.declared.weights}

    def inputs(self, sizes: Mapping[str, int]) -> list[tuple[str | None, tuple[int, ...]]]:
        """Dtype word and shape of every input."""
        return [(p.type.dtype, self._shape(p.type, sizes)) for p in self.declared.params]

    def results(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Shapes of the declared results."""
        return [self._shape(result.type, sizes) for result in self.declared.results]

    def own_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes that a parameter may have: of the dims that no axis may split."""
        split = {name.name for name in self.declared.split}
        return {name: value for name, value in sizes.items() if name not in split}

    def other_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes that tell the dims apart, where these may be equal by chance."""
        factors = (*PRIMES, *([1] * len(sizes)))
        return {name: sizes[name] * factor for name, factor in zip(sizes, factors, strict=False)}

    def _shape(self, kind: tree.Type, sizes: Mapping[str, int]) -> tuple[int, ...]:
        shape: list[int] = []
        for entry in kind.shape.entries:
            if isinstance(entry, tree.Others):
                shape.append(self.leading)
                continue
            value = whole(entry, self._scope({**sizes, **self.pieces}), least=0)
            assert not isinstance(value, Unknown), entry  # the checker has seen it
            shape.append(value)
        return tuple(shape)

    def _scope(self, sizes: Mapping[str, int]) -> Scope:
        mesh = self.facts.mesh
        axes = {name: mesh.degree(leaves) for name, leaves in mesh.products.items()}
        report = Report()
        names = Names({}, {}, frozenset(), report, compute)
        return Scope(names, report, {**self.facts.lets, **axes, **self.facts.sizes, **sizes})


def compare(
    promises: Promises, sizes: Mapping[str, int], seen: Seen, other: Seen | None, report: Report
) -> None:
    """Report where an extern is not as declared.

    Args:
        other: what was seen with `promises.other_sizes(sizes)`; None if that could not be built.
    """
    fitting = Fitting(promises, sizes, other)
    declared = promises.weights(sizes)
    for weight in promises.declared.weights:
        if weight.name not in seen.tensors:
            _report_missing(promises.declared, weight, seen, report)
        elif seen.tensors[weight.name] != declared[weight.name]:
            _report_shape(fitting, weight, declared[weight.name], seen, report)
        elif weight.trained == (weight.name in seen.buffers):
            _report_kind(promises.declared, weight, report)
    extra = {name: shape for name, shape in seen.tensors.items() if name not in declared}
    if extra:
        _report_extra(fitting, extra, seen.buffers, report)
    if seen.results is not None and list(seen.results) != promises.results(sizes):
        _report_results(promises, sizes, seen.results, report)


def compare_pieces(
    promises: Promises, sizes: Mapping[str, int], seen: Seen, whole_seen: Seen, report: Report
) -> None:
    """Report where an extern that is made with a rank's sizes has no piece of what it has whole."""
    declared, extern = promises.weights(sizes), promises.declared
    made = _made(promises, sizes)
    for weight in extern.weights:
        found, due = seen.tensors.get(weight.name), declared[weight.name]
        if found != due:
            has = f"is {list(found)}" if found is not None else "is not there"
            report.error(
                "E0502",
                weight.type.span,
                f"`{_attribute(extern)}.{weight.name}` {has}{promises.where}, and its piece is "
                f"{weight.type.span.text} = {list(due)}",
                "declared",
                notes=made,
                helps=["take its size from the arguments of the class"],
            )
    for name, shape in whole_seen.others.items():
        if seen.others.get(name) != shape:
            report.error(
                "E0502",
                extern.name_span,
                f"the buffer `{_attribute(extern)}.{name}` is {list(shape)}, and "
                f"{list(seen.others.get(name, ()))}{promises.where}: a buffer is the same on "
                "every rank",
                "declared here",
                notes=made,
                helps=["compute it in forward"],
            )
    if seen.results is not None and list(seen.results) != promises.results(sizes):
        _report_results(promises, sizes, seen.results, report)


def _made(promises: Promises, sizes: Mapping[str, int]) -> list[str]:
    """A note that says with which arguments a class was made."""
    arguments = promises.arguments(sizes).items()
    made = ", ".join(f"{v!r}" if k.isdigit() else f"{k} = {v!r}" for k, v in arguments)
    return [f"built without memory with {made}"] if made else []


# ------------------------------------------------------------------------------------- fitting


@attrs.frozen(eq=False)
class Fitting:
    """Finds the expressions over an extern's dims that give the sizes seen."""

    promises: Promises
    sizes: Mapping[str, int]
    other: Seen | None

    def shape(self, name: str, seen: tuple[int, ...]) -> tuple[str, bool]:
        """`[2*state, d]` for a tensor, and whether each entry is the only one that fits."""
        second = self.other.tensors.get(name) if self.other is not None else None
        if second is not None and len(second) != len(seen):
            second = None
        entries = [
            self._entry(value, second[at] if second is not None else None)
            for at, value in enumerate(seen)
        ]
        text = "[" + ", ".join(text for text, _ in entries) + "]"
        return text, all(is_only for _, is_only in entries)

    def _entry(self, seen: int, second: int | None) -> tuple[str, bool]:
        own = self.promises.own_sizes(self.sizes)
        fitting = {text for text, value in _expressions(own) if value == seen}
        if second is not None:
            then = self.promises.own_sizes(self.promises.other_sizes(self.sizes))
            fitting &= {text for text, value in _expressions(then) if value == second}
            fitting |= {str(seen)} if second == seen else set()
        in_order = [text for text, _ in _expressions(own) if text in fitting]
        if second is None and len(in_order) > 1:
            return in_order[0], False
        return (in_order or [str(seen)])[0], second is not None or bool(in_order)


def _expressions(sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Expressions over dims with their values, simple ones first."""
    yield from sizes.items()
    for name, value in sizes.items():
        yield from ((f"{times}*{name}", times * value) for times in MULTIPLES)
    pairs = list(combinations(sizes.items(), 2))
    for (a, one), (b, two) in pairs:
        yield f"{a}*{b}", one * two
        yield f"{a} + {b}", one + two
    for (a, one), (b, two) in pairs:
        for times in MULTIPLES:
            yield f"{times}*{a}*{b}", times * one * two
            yield f"{a} + {times}*{b}", one + times * two
            yield f"{times}*{a} + {b}", times * one + two


# ------------------------------------------------------------------------------------- reports


def _attribute(declared: tree.Extern) -> str:
    return declared.path.value.rpartition(":")[2]


def _report_missing(
    declared: tree.Extern, weight: tree.ExternParam, seen: Seen, report: Report
) -> None:
    near = nearest(weight.name, seen.tensors)
    report.error(
        "E0502",
        weight.span,
        f"`{_attribute(declared)}` has no parameter `{weight.name}`",
        "declared here",
        notes=[f"it has: {', '.join(seen.tensors)}" if seen.tensors else "it has none"],
        helps=[f"did you mean `{near}`?"] if near else [],
    )


def _report_shape(
    fitting: Fitting,
    weight: tree.ExternParam,
    declared: tuple[int, ...],
    seen: Seen,
    report: Report,
) -> None:
    extern = fitting.promises.declared
    shape = seen.tensors[weight.name]
    text, is_only = fitting.shape(weight.name, shape)
    span = weight.type.span
    dtype = weight.type.dtype or ""
    edit = Edit(span, f"{dtype}{text}")
    way = Help(
        f"write `{_word(trained=weight.trained)} {weight.name}: {dtype}{text}`",
        (edit,),
        "sure" if is_only else "likely",
    )
    report.error(
        "E0502",
        span,
        f"`{_attribute(extern)}.{weight.name}` is {list(shape)}, its declaration says "
        f"{span.text} = {list(declared)}",
        "declared",
        notes=[*_made(fitting.promises, fitting.sizes), *([HOW] if is_only else [])],
        helps=[way],
    )


def _word(*, trained: bool) -> str:
    """The word that declares a parameter or a buffer."""
    return "param" if trained else "buffer"


def _report_kind(declared: tree.Extern, weight: tree.ExternParam, report: Report) -> None:
    """Report a buffer that is declared as a parameter, or the other way round."""
    span, right = weight.span, _word(trained=not weight.trained)
    word = Span(span.source, span.start, span.start + len(_word(trained=weight.trained)))
    what = {"param": "parameter", "buffer": "buffer"}
    report.error(
        "E0502",
        word,
        f"`{_attribute(declared)}.{weight.name}` is a {what[right]}, its declaration says "
        f"`{_word(trained=weight.trained)}`",
        "declared",
        notes=[HOW],
        helps=[Help(f"write `{right} {weight.name}`", (Edit(word, right),), "sure")],
    )


def _report_extra(
    fitting: Fitting,
    extra: Mapping[str, tuple[int, ...]],
    buffers: frozenset[str],
    report: Report,
) -> None:
    declared = fitting.promises.declared
    found = {name: fitting.shape(name, shape) for name, shape in extra.items()}
    lines = [
        f"{_word(trained=name not in buffers)} {name}: {text}" for name, (text, _) in found.items()
    ]
    is_only = all(only for _, only in found.values())
    several = len(extra) > 1
    kinds = {"buffer" if name in buffers else "parameter" for name in extra}
    kind = kinds.pop() if len(kinds) == 1 else "tensor"
    count = f"{len(extra)} {kind}s" if several else f"a {kind}"
    shown = [f"{name} {list(shape)}" for name, shape in list(extra.items())[:MOST_SHOWN]]
    more = [f"and {len(extra) - MOST_SHOWN} more"] if len(extra) > MOST_SHOWN else []
    text = f"add the missing line{'s' if several else ''}: `{'`, `'.join(lines[:MOST_SHOWN])}`"
    way = Help(text, (_insertion(declared, lines),), "sure" if is_only else "likely")
    report.error(
        "E0503",
        declared.name_span,
        f"`{_attribute(declared)}` has {count} its declaration does not list",
        f"missing: {', '.join([*shown, *more])}",
        notes=[HOW if is_only else "sizes that several dims explain are for you to choose"],
        helps=[way],
    )


def _insertion(declared: tree.Extern, lines: list[str]) -> Edit:
    """Puts lines behind the last `param` or `buffer`, or first in the braces."""
    source = declared.span.source
    if declared.weights:
        last = declared.weights[-1].span
        line_end = source.text.find("\n", last.end)
        rest = source.text[last.end : line_end].strip()
        at = line_end if rest == "" or rest.startswith("#") else last.end
        column = source.position(last.start)[1] - 1
        indent = column if source.line(last.line)[:column].strip() == "" else 2
        return Edit(Span(source, at, at), "".join(f"\n{' ' * indent}{line}" for line in lines))
    at = source.text.index("{", declared.results[-1].span.end) + 1
    follows = source.text[at : declared.span.end].split("\n")[0].strip()
    ending = "\n  " if follows else ""
    return Edit(Span(source, at, at), "".join(f"\n  {line}" for line in lines) + ending)


def _report_results(
    promises: Promises,
    sizes: Mapping[str, int],
    seen: tuple[tuple[int, ...] | str, ...],
    report: Report,
) -> None:
    declared = promises.declared
    kinds = [result.type for result in declared.results]
    span = kinds[0].span.to(kinds[-1].span)
    said = ", ".join(str(list(shape)) for shape in promises.results(sizes))
    given = ", ".join(each if isinstance(each, str) else str(list(each)) for each in seen)
    inputs = ", ".join(str(list(shape)) for _, shape in promises.inputs(sizes))
    report.error(
        "E0502",
        span,
        f"`{_attribute(declared)}` gives {given}{promises.where}, its declaration says {said}",
        "declared",
        notes=[f"called without memory with {inputs}"],
    )
