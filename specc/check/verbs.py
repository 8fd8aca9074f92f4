"""Rules of a layout about parts: `precision`, `recompute` and `compile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from specc.check.assignments import Assignment, flatten
from specc.check.names import Unknown
from specc.check.rules import Claim, decide
from specc.check.selectors import spelled
from specc.check.settings import fill, report_unknown, typed, written_settings
from specc.diagnostics import nearest
from specc.plan.facts import Compile, Precision, Recompute
from specc.program.model import Chain
from specc.program.walk import bound_names
from specc.syntax import tree
from specc.vocabulary.record import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specc.check.selectors import Selection, Tree
    from specc.source import Span

DTYPES = ("fp32", "bf16", "fp16")
# Statistics and arithmetic in fp32 whatever comes in: specc/parts/rms_norm.py; torch's layer norm
# accumulates in fp32 (aten/src/ATen/native/layer_norm.cpp, at::opmath_type).
FP32_INSIDE = ("LayerNorm", "RMSNorm")
PRECISION = {name: Setting(name, "word") for name in ("store", "params", "compute", "reduce")}
MATMUL = Setting("matmul", "word", choices=("fp32", "tf32"))
COMPILE = (
    Setting(
        "mode",
        "word",
        default=None,
        choices=("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
        optional=True,
    ),
    Setting("fullgraph", "bool", default=False),
    Setting("dynamic", "bool", default=None, optional=True),
)


@attrs.frozen
class Precisions:
    """Dtypes of every part and of every tensor, and how matrices are multiplied.

    Args:
        matmul: `fp32` or `tf32`; None where no rule says.
        bf16: the first rule that asks for bf16, if one does.
    """

    parts: Mapping[str, Precision]
    tensors: Mapping[str, Precision]
    matmul: str | None
    bf16: Span | None = attrs.field(default=None, eq=False, repr=False)


# --------------------------------------------------------------------------------- precision


def precisions(rules: Iterable[tree.VerbRule], model: Tree) -> Precisions:
    """Precision of every part and tensor; parts inside a selected part inherit its rule."""
    claims: dict[str, list[Claim]] = {name: [] for name in PRECISION}
    matmul: str | None = None
    bf16: Span | None = None
    for rule in rules:
        selection = model.select_all(rule.selectors)
        for line in flatten(rule.attrs, (), "file"):
            name = ".".join(line.paths[0])
            if name == "matmul":
                matmul = _matmul(rule, line, model) or matmul
            elif name not in PRECISION:
                _report_unknown_precision(name, line, model)
            elif selection is not None and (word := _dtype(name, line, model)) is not None:
                claims[name].append(Claim(_inherited(selection, model), word, line.span))
                bf16 = line.span if word == "bf16" and bf16 is None else bf16
    held = {
        name: decide(f"precision.{name}", found, model.report) for name, found in claims.items()
    }
    parts = {path: _precision(path, held) for path in model.parts}
    _refuse_compute(parts, held["compute"], model)
    tensors = {name: _precision(name, held) for name in model.tensors}
    return Precisions(parts, tensors, matmul, bf16)


def _inherited(selection: Selection, model: Tree) -> frozenset[str]:
    inside, tensors = model.inside(selection.parts), model.tensors_of(selection.parts)
    return inside | tensors | selection.direct


def _precision(element: str, held: Mapping[str, Mapping[str, Claim]]) -> Precision:
    words = {name: str(claims[element].value) for name, claims in held.items() if element in claims}
    params = words.get("params", "fp32")
    compute = words.get("compute", params)
    return Precision(params, None if compute == params else compute, words.get("reduce", "fp32"))


def _refuse_compute(parts: Mapping[str, Precision], held: Mapping[str, Claim], model: Tree) -> None:
    """Only parts that compute in fp32 by themselves may differ from their `params`."""
    said: list[Claim] = []
    for path, precision in parts.items():
        node = model.parts[path]
        if precision.compute is None or not node.type or held[path] in said:
            continue
        if precision.compute == "fp32" and node.type in FP32_INSIDE:
            continue
        claim = held[path]
        said.append(claim)
        model.report.error(
            "E0491",
            claim.span,
            f"this version of specc cannot compute `{node.type}` in {precision.compute} while its "
            f"`params` are {precision.params}",
            "not built yet",
            notes=[f"parts that compute in fp32 by themselves: {', '.join(FP32_INSIDE)}"],
            helps=[f"write `params = {precision.compute}` for it, or leave `compute` out"],
        )


def _matmul(rule: tree.VerbRule, line: Assignment, model: Tree) -> str | None:
    value = typed("precision.matmul", MATMUL, line.value, model.scope)
    if rule.selectors:
        model.report.error(
            "E0494",
            line.span,
            "`matmul` holds for the whole run, not for some parts",
            "in a rule with a selector",
            helps=[f"write it alone: `precision {{ matmul = {line.value.span.text} }}`"],
        )
    return value if isinstance(value, str) else None


def _dtype(name: str, line: Assignment, model: Tree) -> str | None:
    """The dtype that a line gives; fp8, fp16 and a `store` other than fp32 are refused."""
    if isinstance(line.value, tree.Call):
        is_fp8 = line.value.function.span.text == "fp8"
        if is_fp8:
            _report_not_built(line, "fp8", "it needs scaling factors kept with every tensor", model)
            return None
    setting = attrs.evolve(PRECISION[name], choices=DTYPES)
    value = typed(f"precision.{name}", setting, line.value, model.scope)
    if not isinstance(value, str):
        return None
    if value == "fp16":
        _report_not_built(line, "fp16", "its gradients need loss scaling", model)
        return None
    if name == "store" and value != "fp32":
        why = "weights and optimizer state are kept in fp32"
        _report_not_built(line, f"store = {value}", why, model)
        return None
    return value


def _report_not_built(line: Assignment, what: str, why: str, model: Tree) -> None:
    model.report.error(
        "E0491",
        line.value.span,
        f"this version of specc cannot train with `{what}` yet: {why}",
        "not built yet",
        helps=["use `bf16`, or `fp32`"] if "store" not in what else ["leave `store` out"],
    )


def _report_unknown_precision(name: str, line: Assignment, model: Tree) -> None:
    if name == "output":
        model.report.error(
            "E0601",
            line.span,
            "`precision` has no setting `output`",
            "unknown",
            notes=[
                "output dtypes follow from `params`: a value is cast where a part needs another"
            ],
        )
        return
    report_unknown("precision", name, line.span, [*PRECISION, "matmul"], model.report)


# ---------------------------------------------------------------------- recompute and compile


def recomputes(rules: Iterable[tree.VerbRule], model: Tree) -> dict[str, Recompute]:
    """What is recomputed in backward, by path of the part."""
    claims: list[Claim] = []
    made: dict[Claim, Recompute] = {}
    for rule in rules:
        selection = _parts_only(rule, model)
        keep = _keep(rule, selection, model)
        if selection is not None and keep is not None:
            claim = Claim(selection, keep, rule.span)
            claims.append(claim)
            made[claim] = Recompute(keep, rule.span)
    held = decide("recompute.keep", claims, model.report)
    found = {path: made[claim] for path, claim in held.items()}
    _refuse_pieces(found, model)
    return found


def _refuse_pieces(found: Mapping[str, Recompute], model: Tree) -> None:
    """Recomputation stands where a block calls a part: not around the model, not inside a chain."""
    said: list[Recompute] = []
    for path, rule in sorted(found.items()):
        parent = path.rpartition(".")[0]
        in_chain = bool(path) and isinstance(model.parts[parent].what, Chain)
        if (path and not in_chain) or rule in said:
            continue
        said.append(rule)
        what = f"one part of the chain `{spelled(parent)}`" if path else "the whole model as one"
        way_out = f"recompute `{spelled(parent)}`" if path else "write `recompute each Block`"
        model.report.error(
            "E0494",
            rule.span,
            f"this version of specc cannot recompute {what} yet",
            "not built yet",
            helps=[way_out],
        )


def _keep(
    rule: tree.VerbRule, selection: frozenset[str] | None, model: Tree
) -> tuple[str, ...] | None:
    keep: tuple[str, ...] = ()
    for line in flatten(rule.attrs, (), "file"):
        name = ".".join(line.paths[0])
        if name != "keep":
            report_unknown("recompute", name, line.span, ["keep"], model.report)
            return None
        if not isinstance(line.value, tree.ListOf):
            title = f"`recompute.keep` is a list of names, not `{line.value.span.text}`"
            model.report.error("E0602", line.value.span, title, "write `[name]`")
            return None
        keep = tuple(item.span.text for item in line.value.items)
        if selection is not None and not _kept_exist(line.value, selection, model):
            return None
    return keep


def _kept_exist(keep: tree.ListOf, selection: frozenset[str], model: Tree) -> bool:
    for path in sorted(selection):
        block = model.parts[path].block
        names = frozenset[str]()
        if block is not None:  # a kept part is what its call gives
            names = bound_names(block) | {part.name for part in block.parts}
        for item in keep.items:
            if item.span.text not in names:
                near = nearest(item.span.text, names)
                kind = model.parts[path].type or "a list"
                model.report.error(
                    "E0402",
                    item.span,
                    f"`{kind}` has no value or part `{item.span.text}` that could be kept",
                    "no such value",
                    notes=[f"values there: {', '.join(sorted(names))}"] if names else [],
                    helps=[f"did you mean `{near}`?"] if near else [],
                )
                return False
    return True


def compiles(rules: Iterable[tree.VerbRule], model: Tree) -> dict[str, Compile]:
    """What is compiled, by path of the part."""
    claims: list[Claim] = []
    made: dict[Claim, Compile] = {}
    for rule in rules:
        selection = _parts_only(rule, model)
        given = written_settings(flatten(rule.attrs, (), "file"))
        settings = fill("compile", COMPILE, given, model.scope, rule.span)
        if selection is None or isinstance(settings, Unknown):
            continue
        mode, fullgraph, dynamic = (settings[s.name] for s in COMPILE)
        claim = Claim(selection, (mode, fullgraph, dynamic), rule.span)
        claims.append(claim)
        made[claim] = Compile(
            mode if isinstance(mode, str) and mode != "default" else None,
            bool(fullgraph),
            dynamic if isinstance(dynamic, bool) else None,
            rule.span,
        )
    held = decide("compile", claims, model.report)
    found = {path: made[claim] for path, claim in held.items()}
    _refuse_nested(found, model)
    return found


def _refuse_nested(found: Mapping[str, Compile], model: Tree) -> None:
    for path, inner in found.items():
        outer = next(
            (o for o in found if path.startswith(f"{o}." if o else "") and o != path), None
        )
        if outer is not None:
            model.report.error(
                "E0417",
                inner.span,
                f"`{model.parts[path].type or path}` is compiled inside a part that is compiled",
                "compiled again",
                also=[(found[outer].span, "compiled here")],
                helps=["compile one of the two"],
            )


def _parts_only(rule: tree.VerbRule, model: Tree) -> frozenset[str] | None:
    selection = model.select_all(rule.selectors)
    if selection is None:
        return None
    if selection.direct:
        model.report.error(
            "E0401",
            rule.span,
            f"`{rule.verb}` acts on parts, and this selects parameters",
            "no part",
            helps=["select the part that holds them"],
        )
        return None
    return model.acting(selection.parts)
