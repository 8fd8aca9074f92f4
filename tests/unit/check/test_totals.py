"""Parameter counts of known models, and the facts that a script is printed from."""

from __future__ import annotations

from specc.plan.facts import Facts
from tests.unit.check.specs import facts, spec

TOKENS = """\
  data { ids, labels = tokens("data/*.bin") }
  loss = cross_entropy(logits, labels)
  optimizer = AdamW(lr = 3e-4)
  steps = 10
"""
FLOATS = TOKENS.replace('ids, labels = tokens("data/*.bin")', "x = randn").replace(
    "cross_entropy(logits, labels)", "mean(logits)"
)
TINY = """\
block Block(x: [B, S, d]) -> [B, S, d] {
  attn: Linear(d -> d)
  mlp:  Linear(d -> ff) -> GELU -> Linear(ff -> d)
  ln1:  LayerNorm(d)
  ln2:  LayerNorm(d)
  x = x + attn(ln1(x))
  return x + mlp(ln2(x))
}
model TinyLLM(x: [B, S, d]) -> logits: [B, S, vocab] {
  blocks: repeat depth Block
  head:   Linear(d -> vocab)
  return x -> blocks -> head
}
"""
TOY = """\
model ToyModel(x: [B, din]) -> logits: [B, dout] {
  net: Linear(din -> hid) -> GELU -> Linear(hid -> hid) -> GELU -> Linear(hid -> dout)
  return net(x)
}
"""
LLAMA = """\
block Attention(x: [B, S, d]) -> [B, S, d] {
  wq: Linear(d -> heads*hd, bias = false)
  wk: Linear(d -> kv*hd, bias = false)
  wv: Linear(d -> kv*hd, bias = false)
  wo: Linear(heads*hd -> d, bias = false)
  q = wq(x) as [B, S, heads, hd] -> rope(theta = 5e5)
  k = wk(x) as [B, S, kv, hd] -> rope(theta = 5e5)
  v = wv(x) as [B, S, kv, hd]
  return attention(q, k, v, causal = true) as [B, S, heads*hd] -> wo
}
block SwiGLU(x: [B, S, d]) -> [B, S, d] {
  gate: Linear(d -> ff, bias = false)
  up:   Linear(d -> ff, bias = false)
  down: Linear(ff -> d, bias = false)
  return down(silu(gate(x)) * up(x))
}
block Block(x: [B, S, d]) -> [B, S, d] {
  attn_norm: RMSNorm(d, eps = 1e-5)
  attn:      Attention
  ffn_norm:  RMSNorm(d, eps = 1e-5)
  ffn:       SwiGLU
  h = x + attn(attn_norm(x))
  return h + ffn(ffn_norm(h))
}
model Llama(ids: i64[B, S]) -> logits: [B, S, vocab] {
  embed:  Embedding(vocab -> d)
  blocks: repeat depth Block
  norm:   RMSNorm(d, eps = 1e-5)
  head:   Linear(d -> vocab, bias = false)
  return ids -> embed -> blocks -> norm -> head
}
"""
GPT2 = """\
block Attention(x: [B, S, d]) -> [B, S, d] {
  qkv:  Linear(d -> heads*hd + heads*hd + heads*hd)
  proj: Linear(heads*hd -> d)
  q, k, v = split(qkv(x))
  q = q as [B, S, heads, hd]
  y = attention(q, k as [B, S, heads, hd], v as [B, S, heads, hd], causal = true)
  return y as [B, S, heads*hd] -> proj
}
block MLP(x: [B, S, d]) -> [B, S, d] {
  fc:   Linear(d -> ff)
  proj: Linear(ff -> d)
  return gelu(fc(x), tanh = true) -> proj
}
block Block(x: [B, S, d]) -> [B, S, d] {
  ln_1: LayerNorm(d)
  attn: Attention
  ln_2: LayerNorm(d)
  mlp:  MLP
  x = x + attn(ln_1(x))
  return x + mlp(ln_2(x))
}
model GPT2(ids: i64[B, S]) -> logits: [B, S, vocab] {
  wte:    Embedding(vocab -> d)
  wpe:    Embedding(ctx -> d)
  blocks: repeat depth Block
  ln_f:   LayerNorm(d)
  head:   Linear(d -> vocab, bias = false)
  tie head.weight = wte.weight
  return wte(ids) + wpe(positions(ids)) -> blocks -> ln_f -> head
}
"""


def count(found: Facts) -> int:
    """Elements of all parameters, tied ones once."""
    return sum(p.numel for p in found.parameters if p.tied_to is None)


def test_the_toy_model_of_the_lesson() -> None:
    dims = "dim din = 2048, hid = 4096, dout = 1024, B = 32*dp\n"
    assert count(facts(spec(dims=dims, model=TOY, train=FLOATS))) == 29_369_344


def test_tiny_llm_of_the_lesson() -> None:
    dims = "dim d = 4096, ff = 4*d, vocab = 32_000, depth = 8, S = 1024, B = 4*dp\n"
    found = facts(spec(dims=dims, model=TINY, train=FLOATS))
    assert count(found) == 1_339_391_232
    assert len(found.parameters) == 82


def test_llama_of_8_billion_over_data_and_context() -> None:
    dims = (
        "dim vocab = 128_256, d = 4096, depth = 32, heads = 32, kv = 8, hd = d/heads, ff = 14_336\n"
        "dim S = 64K, B = 1*dp\n"
    )
    layout = (
        "dp: shard B\ncp: shard S via ulysses(heads)\ndp*cp: shard params per Block\n"
        "precision { params = bf16, reduce = fp32 }\nprecision each RMSNorm { compute = fp32 }\n"
        "recompute each Block\ncompile each Block"
    )
    found = facts(
        spec(layout, "dp = 4, cp = 4", dims=dims, model=LLAMA, train=TOKENS), target="musa"
    )
    assert count(found) == 8_030_261_248
    assert len(list(found.model.walk())) == 389
    sizes = {p.name: p.numel for p in found.parameters}
    (block,) = {sum(sizes[n] for n in u.parameters) for u in found.layout.storage.units[:-1]}
    assert block == 218_112_000
    assert len(found.layout.storage.units) == 33


def test_gpt2_counts_its_tied_weight_once() -> None:
    dims = (
        "dim vocab = 50_257, d = 768, depth = 12, heads = 12, hd = d/heads, ff = 4*d\n"
        "dim ctx = 1024, S = 1024, B = 12*dp\n"
    )
    assert count(facts(spec(dims=dims, model=GPT2, train=TOKENS))) == 124_439_808
