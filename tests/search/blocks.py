"""Random blocks: attention, feed-forwards, and arithmetic that follows the types alone."""

from __future__ import annotations

from random import Random

import attrs

from tests.search.aims import Aim
from tests.search.body import Body, Value, show

UNARY = (
    "gelu({})", "gelu({}, tanh = true)", "silu({})", "relu({})", "tanh({})", "sigmoid({})",
    "softplus({})", "exp(tanh({}))", "clamp({}, min = -1.5, max = 1.5)", "clamp({}, max = 2)",
    "sqrt(1 + {0}*{0})", "{}*0.5", "{}/2", "1 - {}", "-{}", "{}/sqrt({1})",
)  # fmt: skip
BINARY = ("{} + {}", "{} - {}", "{}*{}", "{} + 0.5*{}", "{0}/(1 + {1}*{1})")


@attrs.frozen
class Block:
    """One block of a spec.

    Args:
        calls: ways to make an instance of it.
        kept: names of values and parts that `recompute` may keep.
        kinds: parts and tensors in it that a selector can name.
        uses: blocks that are parts of it.
        is_crossed: takes a second sequence.
    """

    name: str
    text: str
    calls: tuple[str, ...]
    kept: tuple[str, ...]
    kinds: frozenset[str]
    has_attention: bool = False
    uses: tuple[str, ...] = ()
    is_crossed: bool = False


def draw_attention(rng: Random, aim: Aim, name: str, *, crossed: bool = False) -> Block:
    """Attention, grouped or not, fused or not, with or without rotation, over one or two inputs."""
    x = Value("x", ("B", "S", "d"))
    memory = Value("m", ("B", "T", "d"))
    body = Body(rng, aim, (x, memory) if crossed else (x,))
    limits, calls = _limits(body, name, crossed=crossed)
    h = body.norm(x) if body.chance(0.8) else x
    q, k, v = _projected(body, h, memory if crossed else h)
    words = ", ".join([bare_in_call(each) for each in (q, k, v)] + limits)
    y = body.use(f"attention({words})", (*q.shape[:3], v.last))
    if body.chance(0.2):
        y = body.use(f"{y.text}*{body.tensor('heads', v.last).text}", y.shape)
    flat = ("B", "S", f"heads*{v.last}")
    y = body.use(f"{y.text} as {show(flat)}", flat)
    if body.chance(0.1):
        y = body.norm(y)
    y = body.linear(y, "d", "wo")
    if body.chance(0.2):
        y = body.dropout(y)
    text = body.text(name, y, residual=body.chance(0.85))
    kinds = frozenset(body.kinds)
    return Block(name, text, calls, tuple(body.kept), kinds, True, (), crossed)


def bare_in_call(value: Value) -> str:
    """An operand of a call; a view stands in it without parentheses."""
    text = value.text
    return text[1:-1] if text.startswith("(") and " as " in text and text.count("(") == 1 else text


def _limits(body: Body, name: str, *, crossed: bool) -> tuple[list[str], tuple[str, ...]]:
    """Settings of attention, and calls of the block that set them."""
    rng = body.rng
    limits = ["causal = true"] if not crossed and body.chance(0.6) else []
    if body.chance(0.2):
        limits.append(f"scale = {rng.choice(('0.3', '0.5', '1/sqrt(hd)'))}")
    is_plain = crossed or body.aim.context in ("ring", "zigzag", "mixed", "nested")
    if body.chance(0.03 if is_plain else 0.25):
        limits.append(f"cap = {rng.choice(('2.0', '5.0', '30.0'))}")
    if body.chance(0.03 if is_plain else 0.35) and not crossed:
        body.statics.append("window: int = none")
        limits.append("window = window")
        return limits, (name, f"{name}(window = {rng.choice((1, 2, 3, 5, 8))})")
    if not body.chance(0.2):
        return limits, (name,)
    body.statics.append("width: float = 1")
    limits = [each for each in limits if not each.startswith("scale")]
    return [*limits, "scale = width/sqrt(hd)"], (name, f"{name}(width = 0.5)")


def _projected(body: Body, x: Value, memory: Value) -> tuple[Value, Value, Value]:
    """Queries, keys and values, each by heads."""
    rng = body.rng
    groups = rng.choice(("heads", "kv", "kv"))
    last = rng.choice(("hd", "hd", "hd", "vd"))
    flat = ("heads*hd", f"{groups}*hd", f"{groups}*{last}")
    if memory is x and body.chance(0.4):
        both = body.linear(x, " + ".join(flat), "qkv")
        names = tuple(body.name(stem) for stem in "qkv")
        body.lines.append(f"  {', '.join(names)} = split({both.text})")
        body.kept += names
        values = tuple(
            Value(n, (*x.shape[:2], entry)) for n, entry in zip(names, flat, strict=True)
        )
    else:
        sources = (x, memory, memory)
        values = tuple(
            body.linear(source, entry, f"w{stem}")
            for source, entry, stem in zip(sources, flat, "qkv", strict=True)
        )
    by_head = [
        body.use(f"{value.text} as {show(shape)}", shape)
        for value, shape in (
            (value, (*value.shape[:2], *entry.split("*")))
            for value, entry in zip(values, flat, strict=True)
        )
    ]
    q, k = _turned(body, by_head[0], by_head[1])
    return q, k, by_head[2]


def _turned(body: Body, q: Value, k: Value) -> tuple[Value, Value]:
    """Queries and keys, normalized and rotated or not."""
    if body.chance(0.25):
        q, k = body.norm(q), body.norm(k)
    if not body.chance(0.6):
        return q, k
    settings = body.rng.choice(
        (
            "theta = 1e4",
            "1e3",
            "theta = 100, layout = interleaved",
            "theta = 1e4, scaling = linear(factor = 2)",
            "theta = 50, scaling = llama3(factor = 4, original = 16)",
        )
    )
    if body.aim.sizes["hd"] % 4 == 0 and body.chance(0.2):
        settings += ", fraction = 0.5"
    return tuple(  # pyright: ignore[reportReturnType]  two for two
        body.use(f"{value.text} -> rope({settings})", value.shape)
        if body.chance(0.5)
        else body.use(f"rope({value.text}, {settings})", value.shape)
        for value in (q, k)
    )


# --------------------------------------------------------------------------------- feed-forward


def draw_feed_forward(rng: Random, aim: Aim, name: str) -> Block:
    """A chain, a gate, or a fused gate, of a width that a use may change."""
    x = Value("x", (*aim.lead, "d"))
    body = Body(rng, aim, (x,))
    width, calls = "ff", (name,)
    if body.chance(0.3):
        width = "wide"
        body.statics.append(width)
        calls = (f"{name}(wide = ff)", f"{name}(wide = small)")
    h = body.norm(x) if body.chance(0.8) else x
    y = rng.choice((_chain, _gated, _fused))(body, h, width)
    if body.chance(0.25):
        y = body.dropout(y)
    text = body.text(name, y, residual=body.chance(0.9))
    return Block(name, text, calls, tuple(body.kept), frozenset(body.kinds))


def _chain(body: Body, x: Value, width: str) -> Value:
    first, last = (
        f"Linear({side}{rest})"
        for side, rest in (
            (f"{x.last} -> {width}", body.rng.choice(("", ", bias = false"))),
            (f"{width} -> d", body.rng.choice(("", ", bias = false"))),
        )
    )
    middle = body.rng.choice(("GELU", "GELU(tanh = true)", "SiLU", "ReLU", "GELU -> Dropout(0.1)"))
    has_bias = "bias = false" not in first + last
    kinds = ("Linear", "Linear.bias") if has_bias else ("Linear",)
    name = body.part("mlp", f"{first} -> {middle} -> {last}", *kinds)
    return body.apply(name, x, "d")


def _gated(body: Body, x: Value, width: str) -> Value:
    gate, up = body.linear(x, width, "gate"), body.linear(x, width, "up")
    act = body.rng.choice(("silu", "gelu", "sigmoid"))
    return body.linear(body.use(f"{act}({gate.text})*{up.text}", gate.shape), "d", "down")


def _fused(body: Body, x: Value, width: str) -> Value:
    both = body.linear(x, f"{width} + {width}", "both")
    gate, up = body.name("g"), body.name("u")
    body.lines.append(f"  {gate}, {up} = split({both.text})")
    body.kept += [gate, up]
    return body.linear(body.use(f"silu({gate})*{up}", (*x.shape[:-1], width)), "d", "down")


# ------------------------------------------------------------------------------------ arithmetic


def draw_mixer(rng: Random, aim: Aim, name: str) -> Block:
    """Values from values: what the types allow, in any order."""
    x = Value("x", (*aim.lead, "d"))
    body = Body(rng, aim, (x,))
    calls = (name,)
    if body.chance(0.3):
        body.statics.append("share: float = 0.5")
        calls = (name, f"{name}(share = 0.25)")
    values = [body.norm(x)]
    waiting = {values[0].text: values[0]}  # in no other value yet
    for _ in range(rng.randint(2, 6)):
        first, second = rng.choice(values), rng.choice(values)
        made = rng.choice(STEPS)(body, first, second)
        if made is not None:
            values.append(made)
            waiting = {t: v for t, v in waiting.items() if t not in made.text}
            waiting[made.text] = made
    y = values[-1]
    others = [value.text for value in waiting.values() if value is not y]
    y = body.use(" + ".join([y.text, *others]), y.shape) if others else y
    if body.chance(0.7):
        y = body.linear(y, "d")
    if body.statics:
        y = body.use(f"{y.text}*share", y.shape)
    text = body.text(name, y, residual=body.chance(0.8))
    return Block(name, text, calls, tuple(body.kept), frozenset(body.kinds))


def _unary(body: Body, x: Value, _: Value) -> Value:
    form = body.rng.choice(UNARY)
    return body.use(form.replace("{1}", x.last).replace("{}", "{0}").format(x.text), x.shape)


def _binary(body: Body, x: Value, y: Value) -> Value:
    form = body.rng.choice(BINARY)
    if "{0}" not in form:
        form = form.replace("{}", "{0}", 1).replace("{}", "{1}", 1)
    return body.use(form.format(x.text, y.text), x.shape)


def _scaled(body: Body, x: Value, _: Value) -> Value:
    shapes = [(x.last,), (x.last,), (1,)]
    if len(x.shape) == 3 and body.aim.context is None:
        shapes += [("S", x.last), ("S", "1")]
    elif body.chance(0.02):
        shapes = [("S", x.last)] if len(x.shape) == 3 else shapes
    shape = tuple(str(entry) for entry in body.rng.choice(shapes))
    sign = body.rng.choice(("*", "+", "-"))
    return body.use(f"{x.text} {sign} {body.tensor(*shape).text}", x.shape)


def _narrow(body: Body, x: Value, _: Value) -> Value:
    """There and back through another width."""
    inside = body.linear(x, body.rng.choice(("small", "ff", "heads*hd")))
    inside = _unary(body, inside, inside)
    if body.chance(0.3):
        inside = body.norm(inside)
    return body.linear(inside, x.last)


def _weighed(body: Body, x: Value, y: Value) -> Value:
    """A share of the last dim, or a statistic of it that is broadcast by name."""
    form = body.rng.choice(("softmax", "mean", "sum", "max"))
    if form == "softmax":
        share = body.use(f"softmax({x.text}, over = {x.last})", x.shape)
        return body.use(f"{share.text}*{y.text}", y.shape)
    factor = "0.1*" if form == "sum" else ""
    narrow = body.bind(f"{factor}{form}({x.text}, over = {x.last})", x.shape[:-1])
    return body.use(f"{y.text} + {narrow.text}", y.shape)


def _joined(body: Body, x: Value, y: Value) -> Value:
    """Two values side by side, then taken apart or multiplied."""
    small = body.linear(y, "small")
    entry = f"{x.last} + small"
    both = body.use(f"concat({x.text}, {small.text})", (*x.shape[:-1], entry))
    if body.chance(0.5):
        return body.linear(both, x.last)
    first, second = body.name("a"), body.name("b")
    body.lines.append(f"  {first}, {second} = split({both.text})")
    scale = body.use(f"mean({second}, over = small)", x.shape[:-1])
    return body.use(f"{first}*(1 + {scale.text})", x.shape)


def _by_heads(body: Body, x: Value, _: Value) -> Value:
    """Arithmetic for each head."""
    heads = body.rng.choice(("heads", "kv"))
    wide = body.linear(x, f"{heads}*hd")
    shape = (*x.shape[:-1], heads, "hd")
    y = body.use(f"{wide.text} as {show(shape)}", shape)
    way = body.rng.randrange(4)
    if way == 0:
        y = body.norm(y)
    elif way == 1:
        y = body.use(f"{y.text}*{body.tensor(heads, 'hd').text}", shape)
    elif way == 2:
        y = body.use(f"{y.text}*{body.tensor(heads, '1').text}", shape)
    else:
        mean = body.bind(f"mean({y.text}, over = {heads})", (*x.shape[:-1], "hd"))
        return body.linear(mean, x.last)
    if body.chance(0.3):
        turned = (*x.shape[:-1], "hd", heads)
        y = body.use(f"{y.text} as {show(turned)}", turned)
        flat = (*x.shape[:-1], f"hd*{heads}")
    else:
        flat = (*x.shape[:-1], f"{heads}*hd")
    return body.linear(body.use(f"{y.text} as {show(flat)}", flat), x.last)


def _over_tokens(body: Body, x: Value, y: Value) -> Value | None:
    """A mean over all tokens: a layout that splits them is refused."""
    if len(x.shape) != 3 or not body.chance(0.5 if body.aim.context is None else 0.03):
        return None
    mean = body.bind(f"mean({x.text}, over = S)", ("B", x.last))
    gate = body.use(f"sigmoid({mean.text})", mean.shape)
    shape = ("B", "1", mean.last)
    wide = body.use(f"{gate.text} as {show(shape)}", shape)
    return body.use(f"{y.text}*{wide.text}", y.shape)


def _dropped(body: Body, x: Value, _: Value) -> Value:
    return body.dropout(x)


STEPS = (
    _unary, _unary, _binary, _binary, _scaled, _scaled, _narrow, _weighed, _joined, _by_heads,
    _over_tokens, _dropped,
)  # fmt: skip


# ------------------------------------------------------------------------------------- composite


def composite(rng: Random, aim: Aim, name: str, parts: tuple[Block, ...]) -> Block:
    """A block of blocks, each with a residual of its own or not."""
    x = Value("x", (*aim.lead, "d"))
    body = Body(rng, aim, (x,))
    y = x
    for block in parts:
        part = body.part("part", rng.choice(block.calls))
        body.kept.append(part)
        h = body.norm(y) if body.chance(0.4) else y
        y = body.apply(part, h, "d")
        if body.chance(0.4):
            y = body.use(f"{y.text} + x", y.shape)
    text = body.text(name, y, residual=False)
    kinds = frozenset(body.kinds.union(*(block.kinds for block in parts)))
    uses = tuple(block.name for block in parts)
    has_attention = any(block.has_attention for block in parts)
    return Block(name, text, (name,), tuple(body.kept), kinds, has_attention, uses)
