"""CPUs: gloo ranks on one machine or several, for tests, laptops and small models."""

from specc.targets.platform import NEVER, Needs, Platform
from specc.targets.target import Calls, Capability, Target
from specc.targets.version import Range

# torch 2.7 sums in reduce_scatter and refuses in all_reduce; 2.9.1 and 2.13.0 average (measured).
GLOO_AVERAGES = Range(at_least=(2, 8))
GLOO_SOURCE = "pytorch/pytorch pull request 149781; measured on torch 2.7.1, 2.9.1 and 2.13.0"

TARGET = Target(
    name="cpu",
    title="CPUs",
    device="cpu",
    backend="gloo",
    collectives="gloo",
    plugin=None,
    binds_device=False,
    is_host=True,
    visible="",
    calls=Calls(),
    dtypes=("fp32", "bf16"),
    # Measured on 2 ranks and 29 M parameters: 0.4 to 0.6 of the step time, with bucket views.
    optimizer_flag="fused",
    full_fp32=(),
    tf32=(),
    averages=GLOO_AVERAGES,
    arch_prefix="",
    cards=(),
    floor=Platform(torch=(2, 7, 1)),
    variables=(),
    harmless=(),
    capabilities=(
        Capability("distributed"),
        Capability("bf16"),
        Capability("fsdp2"),
        Capability("ulysses"),
        Capability("ring"),
        Capability("compile"),
        Capability("ipv6"),
        Capability("fused_attention"),
        Capability("fused_attention_heads"),
        Capability("fused_attention_fp32"),
        # What graphs cannot hold does not matter where there are none.
        Capability("graph_collectives"),
        Capability("graph_resharding"),
        Capability(
            "hsdp",
            needs=Needs(torch=GLOO_AVERAGES),
            title="FSDP over two mesh axes asks gloo for an average, which torch 2.7 refuses",
            label="replicates over one axis, shards over another",
            help="use torch 2.8 or newer, or shard over all data axes: `a*b: shard params`",
            source=GLOO_SOURCE,
        ),
        Capability(
            "fp8",
            needs=NEVER,
            title="cpu ranks cannot train in fp8",
            label="asks for fp8",
            help="use bf16",
            source="gloo refuses fp8 tensors: `Invalid scalar type` (measured on torch 2.13.0)",
        ),
        Capability(
            "reduce_overhead",
            needs=NEVER,
            title='compile mode "reduce-overhead" has no effect on cpu',
            label="captures device graphs, which cpus do not have",
            help='leave the mode out, or set it to "default" in `on cpu`',
            source="torch counts it as a skipped graph (measured on torch 2.13.0)",
            severity="warning",
        ),
        Capability(
            "attention_dropout",
            needs=NEVER,
            title="dropout inside attention keeps all S x S scores on cpu",
            label="drops attention weights",
            help="drop the output of attention instead: `dropout(attention(...), p)`",
            source="torch's fused attention for cpus takes no dropout (measured on torch 2.13.0)",
        ),
        Capability(
            "overlap",
            needs=NEVER,
            title="communication does not run beside compute on cpu",
            help="count their times as a sum",
            source="gloo and compute share the cores",
            severity="warning",
        ),
    ),
)
