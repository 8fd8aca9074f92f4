"""NVIDIA GPUs."""

from specc.targets.platform import NEVER, Needs, Platform
from specc.targets.target import Calls, Capability, Target
from specc.targets.version import ANY, Range

TARGET = Target(
    name="cuda",
    title="NVIDIA GPUs",
    device="cuda",
    backend="cpu:gloo,cuda:nccl",
    collectives="nccl",
    plugin=None,
    binds_device=True,
    is_host=False,
    visible="CUDA_VISIBLE_DEVICES",
    calls=Calls(
        set_device="torch.cuda.set_device(device)",
        synchronize="torch.cuda.synchronize()",
        peak_bytes="torch.cuda.max_memory_allocated()",
        reset_peak="torch.cuda.reset_peak_memory_stats()",
        total_bytes="torch.cuda.get_device_properties(device).total_memory",
        capability="torch.cuda.get_device_capability()",
    ),
    dtypes=("fp32", "bf16"),
    optimizer_flag="fused",
    # The names that exist from 2.7 on; newer ones (`fp32_precision`) are missing there.
    full_fp32=(
        "torch.backends.cuda.matmul.allow_tf32 = False",
        "torch.backends.cudnn.allow_tf32 = False",
    ),
    tf32=(
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cudnn.allow_tf32 = True",
    ),
    averages=ANY,
    arch_prefix="sm_",
    # Source: developer.nvidia.com/cuda-gpus
    cards=(
        ((7, 0), "V100"),
        ((7, 5), "T4"),
        ((8, 0), "A100"),
        ((8, 9), "L40S"),
        ((9, 0), "H100"),
        ((10, 0), "B200"),
    ),
    floor=Platform(torch=(2, 7, 1), arch=(8, 0)),
    variables=(),
    harmless=(),
    capabilities=(
        Capability("distributed"),
        Capability("fsdp2"),
        Capability("hsdp"),
        Capability("ulysses"),
        Capability("ring"),
        Capability("compile"),
        Capability("ipv6"),
        Capability("overlap"),
        # Where flash attention cannot, the memory-efficient kernel can: fp32, other head sizes.
        Capability("fused_attention"),
        Capability("fused_attention_heads"),
        Capability("fused_attention_fp32"),
        Capability("attention_dropout"),
        Capability("reduce_overhead"),
        Capability("graph_collectives"),
        Capability(
            "graph_resharding",
            needs=NEVER,
            title="a captured graph needs parameters that stay where they are",
            label="frees the gathered parameters after forward",
            help="write `{ reshard_after_forward = false }`, or leave the compile mode out",
            source="ByteDance-Seed/VeOmni pull request 881",
        ),
        Capability(
            "bf16",
            needs=Needs(arch=Range(at_least=(8, 0))),
            title="bf16 is only emulated on GPUs before sm_80",
            label="asks for bf16",
            help="use fp32 there",
            source="torch/cuda/__init__.py, is_bf16_supported",
        ),
        Capability(
            "fp8",
            needs=Needs(arch=Range(at_least=(8, 9))),
            title="fp8 needs a GPU with fp8 arithmetic",
            label="asks for fp8",
            help="use bf16",
            source="torch._scaled_mm; pytorch/pytorch pull request 118881",
        ),
    ),
)
