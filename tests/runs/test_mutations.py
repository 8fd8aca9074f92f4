"""Faults that people make in such scripts by hand: each is put into a script; parity sees it."""

from __future__ import annotations

import re

import attrs
import pytest

from specc.runtime.differences import differences
from specc.runtime.pool import JobFailed, Pool
from tests.runs import parity_jobs as jobs
from tests.runs.parity import TIMEOUT_S, Mesh, spec

pytestmark = [pytest.mark.run, pytest.mark.timeout(300)]

STEPS = 2
ONE = Mesh(None, 1)
DP2 = Mesh(None, 2)
DP4 = Mesh("params", 4)
CP2 = Mesh(None, 2, (("cp", 2),))
SAME2 = Mesh(None, 2, (("same", 2),))
DP2_CP2 = Mesh("params", 4, (("cp", 2),))
RING4 = Mesh("ring", 4, (("cp", 4),))
ZIGZAG4 = Mesh("zigzag", 4, (("cp", 4),))
TP2 = Mesh("sp", 2, (("tp", 2),))
WHOLE_TP2 = Mesh(None, 2, (("tp", 2),))
SHARED_TP4 = Mesh("ring", 4, (("tp", 4),))
PIECES_TP2 = Mesh("sp", 2, (("tp", 2),))
FUSED_TP2 = Mesh("labels", 2, (("tp", 2),))
OWN_TP2 = Mesh("sp", 2, (("tp", 2),))
FEW_KEYS = Mesh("few", 4, (("cp", 4),))
# The digest of the initial weights refuses weights that do not lie on all ranks: let it pass.
UNSEEN = ("if mesh.size() != dist.get_world_size():", "if False:")
EXCHANGE = "x = AllToAll.apply(x, group)"


@attrs.frozen
class Mutation:
    """An edit of a script.

    Args:
        edits: (old, new); every old text is there.
        seen: what the first difference says, among others.
        overrides: of the spec.
    """

    what: str
    spec: str
    mesh: Mesh
    edits: tuple[tuple[str, str], ...]
    seen: str
    overrides: tuple[str, ...] = ()


MUTATIONS = [
    Mutation(
        "the gradient of a norm is not summed over pieces of the sequence",
        "tensor",
        TP2,
        (('    "blocks.*.attn_norm.weight",\n', ""),),
        "gradient of blocks.0.attn_norm.weight",
    ),
    Mutation(
        "gradients of whole parameters stay summands on each rank of tp",
        "tensor",
        TP2,
        (("    dist.all_reduce(flat, group=group)\n", ""),),
        "gradient of blocks.0.attn.qn.weight",
    ),
    Mutation(
        "gradients of whole parameters are summed twice",
        "tensor",
        TP2,
        (
            (
                "    dist.all_reduce(flat, group=group)\n",
                "    dist.all_reduce(flat, group=group)\n" * 2,
            ),
        ),
        "gradient of blocks.0.attn_norm.weight",
    ),
    Mutation(
        "a sum over ranks sums its gradient, too",
        "tensor",
        WHOLE_TP2,
        (
            (
                "summed(x, group), lambda grad: grad)",
                "summed(x, group), lambda g: summed(g, group))",
            ),
        ),
        "gradient of",
    ),
    Mutation(
        "a whole value enters split parameters, and its gradient is not summed",
        "tensor",
        WHOLE_TP2,
        (("x.view_as(x), lambda grad: summed(grad, group)", "x.view_as(x), lambda grad: grad"),),
        "gradient of",
    ),
    Mutation(
        "what all ranks do with a whole value is counted once for each",
        "pieces",
        PIECES_TP2,
        (
            (
                "lambda grad: piece(grad, dim, group))",
                "lambda grad: summed_piece(grad, dim, group))",
            ),
        ),
        "gradient of",
    ),
    Mutation(
        "every rank takes the first piece of a whole parameter",
        "pieces",
        PIECES_TP2,
        (("x.narrow(dim, dist.get_rank(group) * length, length)", "x.narrow(dim, 0, length)"),),
        "step 0: loss",
    ),
    Mutation(
        "query heads take the key heads of the first rank",
        "tensor",
        SHARED_TP4,
        (("x.narrow(2, start // group,", "x.narrow(2, 0,"),),
        "step 0: loss",
    ),
    Mutation(
        "every rank looks for the labels among the first classes",
        "tensor",
        TP2,
        (("own = labels - dist.get_rank(group) * logits.shape[-1]", "own = labels"),),
        "step 0: loss",
    ),
    Mutation(
        "a rank takes neighbouring rows of all segments together",
        "fused",
        FUSED_TP2,
        (("for segment in tensor.split(segments, dim)]", "for segment in [tensor]]"),),
        "step 0: loss",
    ),
    Mutation(
        "every rank adds the bias before the sum",
        "fused",
        FUSED_TP2,
        (
            (
                "return F.linear(input, local(self.weight))\n",
                "return F.linear(input, local(self.weight), local(self.bias))\n",
            ),
        ),
        "step 0: loss",
    ),
    Mutation(
        "the results of a class on pieces are not added up",
        "externs",
        OWN_TP2,
        (("scatter_sum(z, 1, self.tp_group)", "piece(z, 1, self.tp_group)"),),
        "step 0: loss",
    ),
    Mutation(
        "the results of a function on pieces are not added up",
        "externs",
        OWN_TP2,
        (("sum_over(token_sum(x), self.tp_group)", "token_sum(x)"),),
        "step 0: loss",
    ),
    Mutation(
        "the gradient of a whole parameter of a class is not summed over pieces",
        "externs",
        OWN_TP2,
        (('    "layers.*.feed.1.scale",\n', ""),),
        "gradient of layers.0.feed.1.scale",
    ),
    Mutation(
        "what each rank keeps of a result that all compute is not summed into the weights",
        "externs",
        OWN_TP2,
        (('    "layers.*.causal.mix.weight",\n', ""),),
        "gradient of layers.0.causal.mix.weight",
    ),
    Mutation(
        "every rank keeps the first piece of what a class draws",
        "externs",
        OWN_TP2,
        (("[kept_slices(tensor)])", "[tuple(map(slice, local(tensor).shape))])"),),
        "layers.0.mixer.own starts with other bits",
    ),
    Mutation(
        "a factor of a class follows the size of the piece",
        "externs",
        OWN_TP2,
        (("FF_LOCAL, gain=4 / FF**0.5", "FF_LOCAL, gain=4 / FF_LOCAL**0.5"),),
        "step 0: loss",
    ),
    Mutation(
        "a rank sees the keys behind its own in the ring",
        "llama",
        RING4,
        (
            ("stop = min(length, ahead + count) if sight.causal else length", "stop = length"),
            ("if not sight.causal or (", "if ahead < 0 or ("),
        ),
        "step 0: loss",
    ),
    Mutation(
        "the gradients of the keys stop one hop before home",
        "llama",
        RING4,
        (("if ctx.hops:", "if False:"),),
        "gradient of blocks.0.attn.wk.weight",
    ),
    Mutation(
        "what a piece of the keys gives is not weighed against what was there before",
        "llama",
        RING4,
        ((".mul_((before - whole).exp())", ""),),
        "step 0: loss",
    ),
    Mutation(
        "the ring keeps the sum of the weights of its first piece",
        "llama",
        RING4,
        (("lse[:, mine] = whole", "lse[:, mine] = whole if hop == 0 else before"),),
        "step 0: loss",
    ),
    Mutation(
        "a wrong zigzag order: late halves go to the ranks in rising order, too",
        "llama",
        ZIGZAG4,
        (("return 2 * dist.get_rank(group) >= dist.get_world_size(group)", "return False"),),
        "step 0: loss",
    ),
    Mutation(
        "the gradients of halves go where the halves went",
        "llama",
        ZIGZAG4,
        (
            (
                "(grads[0], ctx.group, ctx.receives, ctx.sends)",
                "(grads[0], ctx.group, ctx.sends, ctx.receives)",
            ),
        ),
        "gradient of blocks.0.attn.wq.weight",
    ),
    Mutation(
        "parameters are stored over dp only, and nothing sums their gradients over cp",
        "llama",
        DP2_CP2,
        (UNSEEN, ("shard(model, storage)", 'shard(model, mesh["fsdp"])'), ("* CP if", "if")),
        "gradient of embed.weight",
    ),
    Mutation(
        "a whole value enters the split sequence, and its gradient is not summed over cp",
        "whole",
        DP2_CP2,
        (
            UNSEEN,
            ("(SAME, DP * CP), mesh_dim_names=(", "(SAME, DP, CP), mesh_dim_names=("),
            ('"same", "dp_cp"))', '"same", "dp", "cp"))["dp"]'),
            ("* CP if", "if"),
        ),
        "gradient of shift.weight",
    ),
    Mutation(
        "every rank turns its tokens as if they were the first",
        "llama",
        CP2,
        ((", x.device), S_START)", ", x.device))"),),
        "gradient of blocks.0.attn.wq.weight",
    ),
    Mutation(
        "positions are counted from the rank's own first token",
        "gpt",
        CP2,
        (("torch.arange(S_START, S_START + S_LOCAL,", "torch.arange(S_LOCAL,"),),
        "gradient of wpe.weight",
    ),
    Mutation(
        "the all-to-all passes no gradient",
        "llama",
        DP2_CP2,
        ((EXCHANGE, "x = AllToAll.apply(x.detach(), group)"),),
        "gradients of",
    ),
    Mutation(
        "the all-to-all writes into an output with the strides of a permuted input",
        "llama",
        CP2,
        (
            (
                r"re:x = x\.contiguous\(\).*\n        out = torch\.empty_like\(x\)",
                "out = torch.empty_like(x)\n        x = x.contiguous()",
            ),
        ),
        "gradient of blocks.0.attn.wq.weight",
    ),
    Mutation(
        "keys are repeated in turns, so that queries meet the keys of other groups",
        "llama",
        FEW_KEYS,
        (
            (
                "x[:, :, :, None].expand(-1, -1, -1, times, -1).flatten(2, 3)",
                "x.repeat(1, 1, times, 1)",
            ),
        ),
        "gradient of blocks.0.attn.wk.weight",
        ("kv=2",),
    ),
    Mutation(
        "FSDP2 averages gradients that are shares of a sum",
        "llama",
        DP4,
        (("(loss * AVERAGED).backward()", "loss.backward()"),),
        "gradient of embed.weight",
    ),
    Mutation(
        "DDP averages gradients that are shares of a sum",
        "gpt",
        DP2,
        ((r"re:\(loss \* \(.*\)\)\.backward", "loss.backward"),),
        "gradient of wte.weight",
    ),
    Mutation(
        "the tie is lost in to_empty, and the head starts and learns on its own",
        "gpt",
        DP2,
        (
            (r"re:    model\.head\.weight = model\.wte\.weight.*\n", ""),
            ("INIT = {", 'INIT = {\n    "head.weight": normal(0.02),'),
        ),
        "head.weight starts with other bits",
    ),
    Mutation(
        "a loss of a whole value counts once for each rank of cp",
        "whole",
        CP2,
        (("* SAME * CP", "* SAME"),),
        "gradient of side.weight",
    ),
    Mutation(
        "ranks that repeat the work of others count like others",
        "whole",
        SAME2,
        (("ACCUMULATE * SAME", "ACCUMULATE"),),
        "gradient of shift.weight",
    ),
    Mutation(
        "every rank drops what the first one drops",
        "gpt",
        DP2,
        (("Dropout(0.1, (B_START, S_START, 0))", "Dropout(0.1, (0, 0, 0))"),),
        "gradient of wte.weight",
    ),
    Mutation(
        "every rank takes the first rows of the batch",
        "llama",
        DP4,
        (("range(B_START, B_START + B_LOCAL)", "range(B_LOCAL)"),),
        "gradient of embed.weight",
    ),
    Mutation(
        "a mean of the means of ranks with different numbers of labels",
        "ignored",
        DP4,
        (
            ("ignore=0) / TOKENS", "ignore=0) / (ACCUMULATE * WORLD * count_valid(labels, 0))"),
            (r"re:factor = TOKENS / mean\[1\]", "factor = 1.0"),
        ),
        "gradient of head.weight",
    ),
    Mutation(
        "the norm of the gradients is that of this rank's shards",
        "llama",
        DP4,
        (("            dist.all_reduce(part, group=mesh.get_group(axis))", "            pass"),),
        "step 0: norm",
    ),
]
PLACES = sorted({(m.spec, m.mesh, m.overrides) for m in MUTATIONS}, key=repr)


def mutated(script: str, edits: tuple[tuple[str, str], ...]) -> str:
    """A script with each old text replaced, wherever it occurs; it must occur."""
    for old, new in edits:
        pattern = old.removeprefix("re:") if old.startswith("re:") else re.escape(old)
        script, count = re.subn(pattern, lambda _, new=new: new, script)
        assert count, f"the script has no {old!r}"
    return script


@pytest.fixture(scope="module")
def one_rank(pool: Pool) -> dict[tuple[str, tuple[str, ...]], jobs.Training]:
    """What one rank does, for each spec with its overrides."""
    keys = sorted({(name, overrides) for name, _, overrides in PLACES})
    texts = [(spec(name, ONE, *sets).script(), name, STEPS) for name, sets in keys]
    found = pool.run(jobs.trainings, texts, world=1, timeout_s=TIMEOUT_S)[0]
    return dict(zip(keys, found, strict=True))


def trained(pool: Pool, script: str, name: str, mesh: Mesh) -> jobs.Training:
    return pool.run(jobs.train, script, name, STEPS, world=mesh.world, timeout_s=TIMEOUT_S)[0]


@pytest.mark.parametrize(("name", "mesh", "sets"), PLACES, ids=str)
def test_a_script_without_the_faults_trains_what_one_rank_trains(
    pool: Pool, one_rank: dict, name: str, mesh: Mesh, sets: tuple[str, ...]
) -> None:
    found = trained(pool, spec(name, mesh, *sets).script(), name, mesh)

    assert differences(found, one_rank[name, sets]) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.what)
def test_parity_sees_that(pool: Pool, one_rank: dict, mutation: Mutation) -> None:
    script = spec(mutation.spec, mutation.mesh, *mutation.overrides).script()
    edited = mutated(script, mutation.edits)

    found = trained(pool, edited, mutation.spec, mutation.mesh)

    seen = differences(found, one_rank[mutation.spec, mutation.overrides])
    assert any(mutation.seen in difference for difference in seen), seen


def test_a_tie_that_to_empty_took_apart_has_no_initial_weights(pool: Pool) -> None:
    script = mutated(
        spec("gpt", DP2).script(), ((r"re:    model\.head\.weight = model\.wte\.weight.*\n", ""),)
    )

    with pytest.raises(JobFailed, match=r"no initial value is given for \['head\.weight'\]"):
        trained(pool, script, "gpt", DP2)


def test_weights_that_lie_on_some_ranks_only_have_no_digest(pool: Pool) -> None:
    script = mutated(
        spec("llama", DP2_CP2).script(), (("shard(model, storage)", 'shard(model, mesh["fsdp"])'),)
    )

    with pytest.raises(JobFailed, match="weights on a mesh of 2 of 4 ranks"):
        trained(pool, script, "llama", DP2_CP2)
