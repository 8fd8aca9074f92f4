"""Writes the tables of README and docs from the records of specc: `python -m docs.tables`.

A table lies between `<!-- table: NAME -->` and `<!-- end of table -->`; everything between the two
is replaced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from specc.check.offload import SETTINGS as OFFLOAD
from specc.check.train import BLOCKS, LAUNCH, TRAIN
from specc.check.verbs import COMPILE, MATMUL, PRECISION
from specc.targets import TARGETS
from specc.targets.musa_versions import RELEASES
from specc.targets.target import Target
from specc.targets.version import version_text
from specc.vocabulary.find import find, known_names
from specc.vocabulary.later import LATER
from specc.vocabulary.record import REQUIRED, Constructor, Setting

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "README.zh.md", "docs/language.md", "docs/launch.md")
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
LATER_KINDS = {
    "parts": "parts",
    "functions": "functions",
    "losses": "losses",
    "optimizers": "optimizers",
    "data": "data sources",
    "inits": "draws",
    "words": "RoPE scalings",
    "methods": "methods",
}

# ----------------------------------------------------------------------------------- vocabulary


def parts() -> str:
    """Parts: how they are written, what they take, their tensors, their settings."""
    rows = [
        (
            code(part_call(record)),
            code(record.takes) or "is a value itself",
            ", ".join(code(weight(w)) for w in record.weights) or "none",
            settings(record.settings),
        )
        for record in records("parts")
    ]
    rows = [row if row[1] != "is a value itself" else own_tensor(row) for row in rows]
    return table(("part", "from and to", "tensors", "settings"), rows)


def part_call(record: Any) -> str:  # noqa: ANN401  records of a kind share no class with others
    """`Linear(I -> O)`, `LayerNorm(D)`, `Param([..])`, `GELU`."""
    inner = {
        "arrow": " -> ".join(record.letters),
        "one": ", ".join(record.letters),
        "shape": "[..]",
        "none": ", ".join(record.positional),
    }[record.arguments]
    return f"{record.name}({inner})" if inner else record.name


def own_tensor(row: tuple[str, ...]) -> tuple[str, ...]:
    """A part that is one tensor has its own path as the tensor's name."""
    trained = "trained" if "Param" in row[0] else "saved, not trained"
    return (row[0], row[1], f"itself, {trained}", "`init`")


def weight(each: Any) -> str:  # noqa: ANN401
    """`weight [O, I]`."""
    return f"{each.name} [{', '.join(each.dims)}]"


def functions() -> str:
    """Functions on values."""
    rows = [
        (
            code(record.name),
            code(record.takes) or FREE[record.name],
            settings(record.settings),
        )
        for record in records("functions")
    ]
    return table(("function", "from and to", "settings"), rows)


# Functions whose result no letter pattern can say.
FREE = {
    "concat": "two or more values that differ in one dim -> that dim as their sum",
    "max": "any -> without the dim `over`",
    "mean": "any -> without the dim `over`",
    "softmax": "any -> same, over the dim `over`, in fp32",
    "split": "a value with one sum among its dims -> a value for each segment",
    "sum": "any -> without the dim `over`",
}


def losses() -> str:
    """Losses: means over the global batch."""
    rows = [(code(r.name), code(r.takes), settings(r.settings)) for r in records("losses")]
    return table(("loss", "takes", "settings"), rows)


def optimizers() -> str:
    """Optimizers; the settings that `optimize` may change for some parameters."""
    rows = [
        (code(r.name), settings(r.settings), ", ".join(map(code, r.group)))
        for r in records("optimizers")
    ]
    return table(("optimizer", "settings", "in `optimize`"), rows)


def schedules() -> str:
    """Learning-rate schedules."""
    return table(
        ("schedule", "settings"),
        [(code(r.name), settings(r.settings)) for r in records("schedules")],
    )


def data() -> str:
    """Data sources."""
    rows = [
        (
            code(r.name),
            "ids and labels" if r.results == 2 else "one field",
            code(r.dtype),
            settings(r.settings),
        )
        for r in records("data")
    ]
    return table(("source", "fills", "dtype", "settings"), rows)


def draws() -> str:
    """Ways to draw a weight."""
    return table(
        ("draw", "settings"), [(code(r.name), settings(r.settings)) for r in records("inits")]
    )


def scalings() -> str:
    """Words of `rope(scaling = ..)`."""
    return table(
        ("scaling", "settings"), [(code(r.name), settings(r.settings)) for r in records("words")]
    )


def later() -> str:
    """Names that the language has and this version cannot build."""
    rows = [
        (title, ", ".join(code(name) for at, name in sorted(LATER) if at == kind))
        for kind, title in LATER_KINDS.items()
    ]
    return table(("kind", "understood, not built yet"), [*rows, ("settings", unbuilt_settings())])


def unbuilt_settings() -> str:
    """Settings of built records that are not lowered."""
    found = [
        code(f"{record.name}({setting.name})")
        for kind in ("parts", "functions", "data")
        for record in records(kind)
        for setting in record.settings
        if not setting.lowered
    ]
    return ", ".join(found)


def records(kind: str) -> Iterator[Any]:
    """The records of a kind that can be built, by name."""
    found = (find(kind, name) for name in known_names(kind))
    return (record for record in found if record is not None and hasattr(record, "settings"))


# ------------------------------------------------------------------------------------- settings


def train() -> str:
    """Settings of `train` and of its blocks."""
    rows = [(code(s.name), kind(s), default(s)) for s in TRAIN]
    rows += [
        (code(f"{block}.{s.name}"), kind(s), default(s))
        for block, accepted in BLOCKS.items()
        for s in accepted
    ]
    rows += [(code(f"launch.{s.name}"), kind(s), default(s)) for s in LAUNCH.values()]
    return table(("setting", "value", "default"), rows)


def verbs() -> str:
    """Settings of `precision`, `compile` and `offload`."""
    built = {name: "`fp32`" if name == "store" else "`fp32`, `bf16`" for name in PRECISION}
    rows = [(code(f"precision {{ {name} }}"), words, "`fp32`") for name, words in built.items()]
    rows.append((code("precision { matmul }"), kind(MATMUL), "`fp32`"))
    rows += [(code(f"compile {{ {s.name} }}"), kind(s), default(s)) for s in COMPILE]
    rows += [(code(f"offload {{ {s.name} }}"), kind(s), default(s)) for s in OFFLOAD]
    return table(("setting", "value", "default"), rows)


def settings(accepted: Iterable[Setting]) -> str:
    """`bias = true`, `lr` without a default; those that are not built are left out."""
    return ", ".join(code(setting_text(s)) for s in accepted if s.lowered) or "none"


def setting_text(setting: Setting) -> str:
    """A setting with its default, as a spec writes it."""
    is_due = setting.default is REQUIRED or (setting.kind == "dim" and setting.default is None)
    return setting.name if is_due else f"{setting.name} = {shown(setting.default)}"


def kind(setting: Setting) -> str:
    """What the value of a setting is."""
    if setting.choices:
        return ", ".join(map(code, setting.choices))
    words = {"int": "whole number", "float": "number", "bool": "`true` or `false`"}
    return words.get(setting.kind, setting.kind)


def default(setting: Setting) -> str:
    """The default, or that there is none."""
    return "must be given" if setting.default is REQUIRED else code(shown(setting.default))


def shown(value: object) -> str:
    """A value as a spec writes it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"[{', '.join(map(shown, value))}]"
        case Constructor():
            return value.name
        case float():
            return f"{value:g}"
        case _:
            return str(value)


# -------------------------------------------------------------------------------------- targets


def targets() -> str:
    """What each target is."""
    heads = ("target", "devices", "backend", "torch", "dtypes", "optimizer")
    return table(heads, target_rows("2.7.1 or newer", "with {} of the same version"))


def targets_zh() -> str:
    """The same in Chinese."""
    heads = ("目标", "设备", "通信后端", "torch", "精度", "优化器实现")
    return table(heads, target_rows("2.7.1 及以上", "配同版本的 {}"))


def target_rows(torch: str, plugin: str) -> Iterator[tuple[str, ...]]:
    """A row for each target."""
    for each in TARGETS.values():
        module = f", {plugin.format(code(each.plugin.module))}" if each.plugin else ""
        dtypes = ", ".join(map(code, each.dtypes))
        fast = code(f"AdamW(.., {each.optimizer_flag}=True)")
        yield code(each.name), each.title, code(each.backend), torch + module, dtypes, fast


CAPABILITIES = {
    "distributed": "more than one rank",
    "bf16": "bf16",
    "fp8": "fp8 arithmetic (not used yet)",
    "fsdp2": "FSDP2",
    "hsdp": "FSDP2 over two mesh axes (HSDP)",
    "ulysses": "Ulysses",
    "ring": "ring attention",
    "overlap": "FSDP2 communicates beside compute",
    "fused_attention": "attention without S x S scores",
    "fused_attention_heads": "the same, heads larger than 128",
    "fused_attention_fp32": "the same, in fp32",
    "attention_dropout": "dropout inside attention (not used yet)",
    "compile": "`compile`",
    "reduce_overhead": "`compile` with `reduce-overhead`",
    "graph_collectives": "collectives in captured graphs",
    "graph_resharding": "captured graphs with `reshard_after_forward`",
    "ipv6": "ranks that meet over IPv6",
}


def capabilities() -> str:
    """Capabilities by target: yes, or what it takes."""
    names = [c.name for c in next(iter(TARGETS.values())).capabilities]
    rows = [
        (CAPABILITIES[name], *(able(target, name) for target in TARGETS.values()))
        for name in sorted(names, key=list(CAPABILITIES).index)
    ]
    return table(("what", *map(code, TARGETS)), rows)


def able(target: Target, name: str) -> str:
    """`yes`, `no`, or the machines that can."""
    capability = target.capability(name)
    if needs := target.needs_text(capability.needs):
        return needs
    if not capability.title:
        return "yes"
    return "no, said as a warning" if capability.severity == "warning" else "no"


def releases() -> str:
    """Which plugin goes with which torch and SDK."""
    rows = [
        (version_text(r.plugin), version_text(r.torch), r.sdk.text or "not said", r.source)
        for r in RELEASES
    ]
    return table(("torch_musa", "torch", "MUSA SDK", "source"), rows)


def variables() -> str:
    """Environment variables of the targets."""
    rows = [
        (code(f"{v.name}={v.value}"), t.needs_text(v.needs), v.why, v.source)
        for t in TARGETS.values()
        for v in (*t.variables, *t.harmless)
    ]
    return table(("variable", "where", "why", "source"), rows)


# ---------------------------------------------------------------------------------------- pages

TABLES: dict[str, Callable[[], str]] = {
    each.__name__: each
    for each in (
        capabilities,
        data,
        draws,
        functions,
        later,
        losses,
        optimizers,
        parts,
        releases,
        scalings,
        schedules,
        targets,
        targets_zh,
        train,
        variables,
        verbs,
    )
}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def code(text: str) -> str:
    """Text as code; nothing stays nothing."""
    return f"`{text}`" if text else ""


def filled(text: str) -> str:
    """A page with its tables written anew.

    Raises:
        KeyError: the page names a table that does not exist.
    """
    return TABLE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", text)


def main() -> int:
    """Write every page that differs; the number of pages written."""
    for name in PAGES:
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        if (after := filled(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(f"{name}: tables written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
