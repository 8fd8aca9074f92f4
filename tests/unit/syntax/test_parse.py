"""What each form of the language becomes in the typed tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from specc.source import Source, Span
from specc.syntax import tree
from specc.syntax.parse import parse, parse_settings

ROOT = Path(__file__).resolve().parents[3]
SPECS = sorted(ROOT.glob("specs/**/*.spec"))


def clean(text: str) -> tuple[tree.Declaration, ...]:
    """The declarations of a text without faults."""
    file, diagnostics = parse(Source("a.spec", text))
    assert diagnostics == ()
    assert file.poisoned == file.incomplete == frozenset()
    return file.declarations


def one(text: str) -> tree.Declaration:
    (declaration,) = clean(text)
    return declaration


def value(text: str) -> tree.Expr:
    declaration = one(f"let a = {text}")
    assert isinstance(declaration, tree.Let)
    return declaration.value


def body(text: str) -> tuple[tree.Statement, ...]:
    declaration = one(f"block A() -> [] {{\n{text}\n}}")
    assert isinstance(declaration, tree.Block)
    return declaration.body


def show(node: object) -> str:  # noqa: C901, PLR0911, PLR0912  one case for each node
    """An expression with every operator in parentheses."""
    match node:
        case tree.Name(name):
            return name
        case tree.Number(text=text):
            return text
        case tree.Text(text):
            return f'"{text}"'
        case tree.Negate(operand):
            return f"(-{show(operand)})"
        case tree.Binary(op, left, right):
            return f"({show(left)} {op} {show(right)})"
        case tree.Pipe(left, right):
            return f"({show(left)} -> {show(right)})"
        case tree.As(operand, shape):
            return f"({show(operand)} as {show(shape)})"
        case tree.Shape(entries) | tree.ListOf(entries):
            return f"[{', '.join(map(show, entries))}]"
        case tree.Others():
            return ".."
        case tree.Every():
            return "*"
        case tree.Range(first, last):
            return f"{show(first) if first else ''}..{show(last) if last else ''}"
        case tree.Attribute(base, name):
            return f"{show(base)}.{name}"
        case tree.Argument(None, given):
            return show(given)
        case tree.Argument(name, given):
            return f"{name} = {show(given)}"
        case tree.Call(function, arguments):
            return f"{show(function)}({', '.join(map(show, arguments))})"
        case tree.Item(base, indices):
            return f"{show(base)}[{', '.join(map(show, indices))}]"
        case tree.Repeat(count, index, inner):
            return f"(repeat {show(count)} as {index} {show(inner)})"
        case tree.Group(inner):
            return f"<{show(inner)}>"
        case _:
            raise AssertionError(node)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.relative_to(ROOT)))
def test_specs_parse(path: Path) -> None:
    assert clean(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b % c", "((a / b) % c)"),
        ("-a * -b", "((-a) * (-b))"),
        ("--a", "(-(-a))"),
        ("(a + b) * c", "(<(a + b)> * c)"),
        ("a -> f -> g(1)", "((a -> f) -> g(1))"),
        ("a + b -> f", "((a + b) -> f)"),
        ("f(x) as [B, S] -> g", "((f(x) as [B, S]) -> g)"),
        ("x -> f as [B]", "((x -> f) as [B])"),
        ("x -> f -> g as [B] -> h", "((((x -> f) -> g) as [B]) -> h)"),
        ("x as [2, ..] as [B]", "((x as [2, ..]) as [B])"),
        ("a + x as [B]", "(a + (x as [B]))"),
        ("head.weight", "head.weight"),
        ("blocks[-1].attn(x)", "blocks[(-1)].attn(x)"),
        ("blocks[0..4, ..2, 3.., ..]", "blocks[0..4, ..2, 3.., ..]"),
        ("t_mlp[*].weight", "t_mlp[*].weight"),
        ("Linear(d -> ff, bias = false)", "Linear((d -> ff), bias = false)"),
        ("f(a, b,)", "f(a, b)"),
        ("f()", "f()"),
        ("[]", "[]"),
        ('["a", [1, 2],]', '["a", [1, 2]]'),
        ("repeat depth Block", "(repeat depth as None Block)"),
        ("repeat (2*n) as i Block(at = i)", "(repeat <(2 * n)> as i Block(at = i))"),
        ("repeat 4 (A -> B)", "(repeat 4 as None <(A -> B)>)"),
        ("repeat n [A, B]", "(repeat n as None [A, B])"),
        ("[repeat 2 A, B]", "[(repeat 2 as None A), B]"),
        ("a\n  -> b\n\n  # why\n  -> c", "((a -> b) -> c)"),
        ("a +\n  b", "(a + b)"),
        ("f(\n  a,\n\n  b # why\n)", "f(a, b)"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert show(value(text)) == expected


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons_stand_in_checks(op: str) -> None:
    declaration = one(f'check a + 1 {op} b, "why"')
    assert isinstance(declaration, tree.Check)
    assert show(declaration.condition) == f"((a + 1) {op} b)"
    assert declaration.reason == "why"


def test_every_name_of_a_dim_line_is_a_declaration() -> None:
    dims = clean("dim a = 1, b = 2*a")
    assert [(dim.name, show(dim.size)) for dim in dims if isinstance(dim, tree.DimDecl)] == [
        ("a", "1"),
        ("b", "(2 * a)"),
    ]
    assert [dim.span.text for dim in dims] == ["a = 1", "b = 2*a"]


def test_imports_have_names_and_other_names() -> None:
    declaration = one('from "lib/a.spec" use A, B as C')
    assert isinstance(declaration, tree.Use)
    assert declaration.path.value == "lib/a.spec"
    assert [(item.name, item.alias) for item in declaration.items] == [("A", None), ("B", "C")]


def test_a_signature_has_statics_inputs_and_results() -> None:
    block = one("block A[B, w: int = none, t: float](x: i64[B, ..], y: []) -> z: [B], [] {}")
    assert isinstance(block, tree.Block)
    assert not block.is_model
    assert [(s.name, s.kind, s.default and show(s.default)) for s in block.statics] == [
        ("B", None, None),
        ("w", "int", "none"),
        ("t", "float", None),
    ]
    assert [(p.name, p.type.dtype, show(p.type.shape)) for p in block.params] == [
        ("x", "i64", "[B, ..]"),
        ("y", None, "[]"),
    ]
    assert [(r.name, show(r.type.shape)) for r in block.results] == [("z", "[B]"), (None, "[]")]


def test_a_model_is_a_block() -> None:
    model = one("model M(x: [B]) -> [B] { return x }")
    assert isinstance(model, tree.Block)
    assert model.is_model


def test_statements_of_a_block() -> None:
    bind, typed, listed, assign, tie, check, result = body(
        "a: Linear(d -> d)\nh: bf16[B, ..] = x\nn: [.., d] = x\nq, k = split(y)\n"
        'tie a.b = c.d\ncheck d > 1, "why"\nreturn h, q'
    )
    assert isinstance(bind, tree.Bind)
    assert not isinstance(bind.what, tree.Type)
    assert (bind.name, show(bind.what), bind.value) == ("a", "Linear((d -> d))", None)
    assert isinstance(typed, tree.Bind)
    assert isinstance(typed.what, tree.Type)
    assert (typed.what.dtype, show(typed.what.shape)) == ("bf16", "[B, ..]")
    assert isinstance(listed, tree.Bind)
    assert isinstance(listed.what, tree.Type)
    assert (listed.what.dtype, show(listed.what.shape)) == (None, "[.., d]")
    assert isinstance(assign, tree.Assign)
    assert (assign.names, show(assign.value)) == (("q", "k"), "split(y)")
    assert isinstance(tie, tree.Tie)
    assert (show(tie.left), show(tie.right)) == ("a.b", "c.d")
    assert isinstance(check, tree.Check)
    assert isinstance(result, tree.Return)
    assert [show(each) for each in result.values] == ["h", "q"]


def test_a_list_without_a_value_is_a_list_of_parts() -> None:
    (bind,) = body("layers: [A, repeat 2 B]")
    assert isinstance(bind, tree.Bind)
    assert isinstance(bind.what, tree.ListOf)


def test_words_are_names_where_no_keyword_may_stand() -> None:
    statements = body(
        "shard: Linear(d -> d)\nmodel = shard(x)\nsplit, dim = f(model, init = zeros)"
    )
    assert len(statements) == 3


def test_an_extern_block_keeps_its_promises_apart() -> None:
    extern = one(
        'extern "lab.mamba:Mixer" block M[d](x: [B, d]) -> [B, d] {\n'
        "  init(d_model = d)\n  param w: [d, d]\n  split B, d\n  sum s\n  flops = 6*B\n}"
    )
    assert isinstance(extern, tree.Extern)
    assert extern.path.value == "lab.mamba:Mixer"
    assert extern.init is not None
    assert [show(argument) for argument in extern.init] == ["d_model = d"]
    assert [(weight.name, show(weight.type.shape)) for weight in extern.weights] == [
        ("w", "[d, d]")
    ]
    assert [name.name for name in extern.split] == ["B", "d"]
    assert [name.name for name in extern.sum] == ["s"]
    assert [setting.paths for setting in extern.settings] == [((("flops",),))]


def test_an_extern_without_init_has_none() -> None:
    extern = one('extern "a:b" block M() -> [] { call = function }')
    assert isinstance(extern, tree.Extern)
    assert extern.init is None


def test_a_mesh_has_axes_in_axes() -> None:
    mesh = one("mesh on c { dp = 16 { rep = 2, fsdp = rest }, tp = 4 }")
    assert isinstance(mesh, tree.Mesh)
    assert mesh.cluster == tree.Name("c", mesh.span)
    outer, last = mesh.axes
    assert [(axis.name, show(axis.size)) for axis in outer.axes] == [("rep", "2"), ("fsdp", "rest")]
    assert (last.name, last.axes) == ("tp", ())


def test_axis_rules() -> None:
    layout = one(
        "layout long {\n"
        "  dp*cp: shard params, S within blocks else S per A, head via ring(z = true) { a = 1 }\n"
        "  pp: stage a, each B in c except c[0] via pipeline(n = 2)\n"
        "  tp: replicate\n}"
    )
    assert isinstance(layout, tree.Layout)
    assert layout.name == "long"
    shard, stage, replicate = (rule for rule in layout.rules if isinstance(rule, tree.AxisRule))
    assert [axis.name for axis in shard.axes] == ["dp", "cp"]
    assert isinstance(shard.action, tree.Shard)
    assert [name.name for name in shard.action.subjects] == ["params", "S"]
    assert shard.action.otherwise is not None
    assert shard.action.otherwise.name == "S"
    assert [show(unit.target) for unit in shard.action.per] == ["A", "head"]
    assert shard.action.via is not None
    assert show(shard.action.via) == "ring(z = true)"
    assert shard.action.within is not None
    assert show(shard.action.within.target) == "blocks"
    assert len(shard.action.attrs) == 1
    assert isinstance(stage.action, tree.Stage)
    plain, every = stage.action.selectors
    assert not plain.each
    assert every.each
    assert every.within is not None
    assert every.without is not None
    assert (show(every.target), show(every.within), show(every.without)) == ("B", "c", "c[0]")
    assert isinstance(replicate.action, tree.Replicate)


def test_verb_rules_in_layout_and_train() -> None:
    layout, train = clean(
        "layout { compile\n  precision each A, b { params = bf16 } }\n"
        "train { steps = 3\n init each A { normal = 0.02 }\n log { every = 1 } }"
    )
    assert isinstance(layout, tree.Layout)
    bare, precision = layout.rules
    assert isinstance(bare, tree.VerbRule)
    assert (bare.verb, bare.selectors, bare.attrs) == ("compile", (), ())
    assert isinstance(precision, tree.VerbRule)
    assert [selector.each for selector in precision.selectors] == [True, False]
    assert isinstance(train, tree.Train)
    assert [rule.verb for rule in train.rules] == ["init"]
    setting, nested = train.attrs
    assert isinstance(setting, tree.Setting)
    assert isinstance(nested, tree.Nested)
    assert (setting.paths, nested.path) == ((("steps",),), ("log",))


def test_settings_have_paths_types_and_several_names() -> None:
    profile = one("profile p { mesh.dp = rest, y: i64[B] = f, a, b = g(), c { d = 1 }, }")
    assert isinstance(profile, tree.Profile)
    path, typed, several, nested = profile.attrs
    assert isinstance(path, tree.Setting)
    assert path.paths == (("mesh", "dp"),)
    assert isinstance(typed, tree.Setting)
    assert typed.type is not None
    assert typed.type.dtype == "i64"
    assert isinstance(several, tree.Setting)
    assert several.paths == (("a",), ("b",))
    assert isinstance(nested, tree.Nested)


def test_named_blocks() -> None:
    cluster, launch, bare, target = clean(
        "cluster c { gpus = 8 }\nlaunch torchrun { a = 1 }\nlaunch { }\non cpu { layout = l }"
    )
    assert isinstance(cluster, tree.Cluster)
    assert isinstance(launch, tree.Launch)
    assert isinstance(bare, tree.Launch)
    assert isinstance(target, tree.Target)
    assert (cluster.name, launch.name, bare.name, target.name) == ("c", "torchrun", None, "cpu")


def test_a_semicolon_parts_statements() -> None:
    assert len(clean("specc 1; dim a = 1; let b = 2")) == 3


def test_line_ends_of_windows_and_tabs_are_white_space() -> None:
    assert clean("dim a = 1,\r\n\tb = 2\r\n\r\nlet c = 3\r\n") == clean("dim a=1, b=2\nlet c=3")


def test_an_empty_text_is_an_empty_file() -> None:
    assert clean("") == clean("\n\n  # nothing\n") == ()


def test_spans_are_what_was_written() -> None:
    text = "dim a = 1\n\nblock A(x: [B]) -> [B] {\n  y = f(x) -> g(h.w[0])\n  return y\n}\n"
    _, block = clean(text)
    assert isinstance(block, tree.Block)
    assert block.span.text == text[text.index("block") : -1]
    assert block.name_span.text == "A"
    assign = block.body[0]
    assert isinstance(assign, tree.Assign)
    assert assign.span.text == "y = f(x) -> g(h.w[0])"
    assert assign.value.span.text == "f(x) -> g(h.w[0])"
    assert [span.text for span in assign.name_spans] == ["y"]


def test_places_do_not_matter_to_equality() -> None:
    assert clean("dim a = 1") == clean("\n\n  dim   a=1")
    assert isinstance(clean("dim a = 1")[0].span, Span)


def test_settings_of_the_command_line() -> None:
    settings, diagnostics = parse_settings(Source("<command line>", "mesh.dp = 4"))
    assert diagnostics == ()
    (setting,) = settings
    assert isinstance(setting, tree.Setting)
    assert (setting.paths, show(setting.value)) == ((("mesh", "dp"),), "4")
    assert setting.span.text == "mesh.dp = 4"


def test_a_faulty_setting_of_the_command_line_is_reported() -> None:
    settings, diagnostics = parse_settings(Source("<command line>", "mesh.dp = = 4"))
    assert settings == ()
    assert [diagnostic.code for diagnostic in diagnostics] == ["E0101"]
