"""Moore Threads GPUs, through the plugin torch_musa.

Sources name files of github.com/MooreThreads/torch_musa at v2.7.1 unless they say otherwise; `rel`
is the page of a release there.
"""

from specc.targets.platform import NEVER, Needs, Platform
from specc.targets.target import Calls, Capability, Plugin, Target, Variable
from specc.targets.version import ANY, Range

S4000, S5000 = (2, 2), (3, 1)
FROM_S4000 = Needs(arch=Range(at_least=S4000))
FROM_S5000 = Needs(arch=Range(at_least=S5000))

OVERLAP_SOURCE = "torch_musa/distributed/_composable/fsdp/custom_overlap_patch.py; rel v2.7.1"
FLASH_SOURCE = "torch_musa/csrc/aten/ops/attention/mudnn/SDPUtils.h"

VARIABLES = (
    Variable(
        "TORCH_MUSA_FSDP2_OVERLAP_LEVEL",
        "2",
        "FSDP2 communicates beside compute; off by default",
        Needs(plugin=Range((2, 7, 1), (2, 11)), arch=Range(at_least=S5000)),
        OVERLAP_SOURCE,
    ),
    Variable(
        "TORCH_MUSA_FSDP2_COMM_TYPE",
        "1",
        "FSDP2 communicates beside compute, through symmetric memory; off by default",
        Needs(plugin=Range(at_least=(2, 11)), arch=Range(at_least=S5000)),
        "torch_musa/distributed/_composable/fsdp/README.md at 2.11.0.post2",
    ),
)

HARMLESS = (
    Variable(
        "TORCH_MUSA_FSDP2_OVERLAP_LEVEL",
        "0",
        "below mp_31 the overlap is switched off only in part: gathered memory is used after free",
        Needs(plugin=Range(below=(2, 9)), arch=Range(below=S5000)),
        OVERLAP_SOURCE + ", read, not run",
    ),
)

ATTENTION = (
    Capability(
        "fused_attention",
        needs=FROM_S4000,
        title="attention keeps all S x S scores on GPUs before mp_22",
        label="no flash kernel there",
        help="use an S4000 or newer, or a shorter sequence",
        source=FLASH_SOURCE,
        severity="warning",
    ),
    Capability(
        "fused_attention_heads",
        needs=Needs(plugin=Range(at_least=(2, 9, 1))),
        title="attention keeps all S x S scores: its heads are too large for the flash kernel",
        label="the kernel takes 128 numbers in a head",
        help="use more and smaller heads, or torch_musa 2.9.1 or newer",
        source=FLASH_SOURCE + "; rel v2.9.1",
        severity="warning",
        most=128,
        beside=((192, 128), (160, 160)),
    ),
    Capability(
        "fused_attention_fp32",
        needs=NEVER,
        title="attention in fp32 keeps all S x S scores on musa",
        label="the flash kernel takes bf16 and fp16 only",
        help="write `precision { params = bf16, reduce = fp32 }`",
        source=FLASH_SOURCE,
        severity="warning",
    ),
    Capability(
        "attention_dropout",
        needs=NEVER,
        title="dropout inside attention keeps an S x S mask on musa",
        label="drops attention weights",
        help="drop the output of attention instead: `dropout(attention(...), p)`",
        source=FLASH_SOURCE,
    ),
)

GRAPHS = (
    Capability(
        "reduce_overhead",
        needs=Needs(plugin=Range(at_least=(2, 9)), arch=Range(at_least=S5000)),
        title='compile mode "reduce-overhead" does not work on every musa machine',
        label="captures device graphs",
        help='set the mode to "default" in `on musa`',
        source="rel v2.9.0; MooreThreads/vllm-musa issue 184: capture crashes on S4000",
    ),
    Capability(
        "graph_collectives",
        needs=NEVER,
        title="a captured graph must not communicate on musa",
        label="the compiled part holds a collective",
        help='set the mode to "default" in `on musa`',
        source="flagos-ai/vllm-plugin-FL pull request 457: a replay reads stale values",
    ),
    Capability(
        "graph_resharding",
        needs=NEVER,
        title="a captured graph needs parameters that stay where they are",
        label="frees the gathered parameters after forward",
        help="write `{ reshard_after_forward = false }`, or leave the compile mode out",
        source="ByteDance-Seed/VeOmni pull request 881; flagos-ai/vllm-plugin-FL pull request 457",
    ),
)

TARGET = Target(
    name="musa",
    title="Moore Threads GPUs",
    device="musa",
    # Objects and checkpoints travel over gloo. Both are named: stock torch cannot read "mccl".
    backend="cpu:gloo,musa:mccl",
    collectives="mccl",
    plugin=Plugin(
        "torch_musa",
        "registers the device and mccl; before fully_shard",
        "https://github.com/MooreThreads/torch_musa/releases",
    ),
    binds_device=True,
    is_host=False,
    visible="MUSA_VISIBLE_DEVICES",
    # Never torch.accelerator: its memory functions are broken before 2.11.0.post2 (torchada).
    calls=Calls(
        set_device="torch.musa.set_device(device)",
        synchronize="torch.musa.synchronize()",
        peak_bytes="torch.musa.max_memory_allocated()",
        reset_peak="torch.musa.reset_peak_memory_stats()",
        total_bytes="torch.musa.get_device_properties(device).total_memory",
        capability="torch.musa.get_device_capability()",
    ),
    dtypes=("fp32", "bf16"),
    optimizer_flag="foreach",  # fused Adam raises: FusedAdam.cpp
    # On by default in 2.7 and off from 2.9 on, under another name: Context.h; rel v2.9.0.
    full_fp32=(
        'if hasattr(torch.backends, "musa"):',
        "    torch.backends.musa.matmul.allow_tf32 = False",
        "else:  # torch_musa before 2.9",
        "    torch.backends.mudnn.allow_tf32 = False",
    ),
    tf32=(
        'if hasattr(torch.backends, "musa"):',
        "    torch.backends.musa.matmul.allow_tf32 = True",
        "else:  # torch_musa before 2.9",
        "    torch.backends.mudnn.allow_tf32 = True",
    ),
    averages=ANY,  # torch_musa/csrc/distributed/ProcessGroupMCCL.cpp
    arch_prefix="mp_",
    cards=(((2, 1), "S80, S3000"), (S4000, "S4000"), (S5000, "S5000")),
    floor=Platform(torch=(2, 7, 1), plugin=(2, 7, 1), arch=S4000),
    variables=VARIABLES,
    harmless=HARMLESS,
    capabilities=(
        Capability("fsdp2", source="tests/unittest/distributed/fsdp/fsdp_v2"),
        Capability("hsdp", source="tests/unittest/distributed/fsdp/fsdp_v2"),
        Capability("ulysses", source="torch_musa/csrc/distributed/ProcessGroupMCCL.cpp"),
        Capability("ring", source="torch_musa/csrc/distributed/ProcessGroupMCCL.cpp"),
        Capability("compile", source="torch_musa/_inductor"),
        Capability(
            "distributed",
            needs=FROM_S4000,
            title="GPUs before mp_22 have no collectives",
            label="more than one rank",
            help="train on one rank, or use an S4000 or newer",
            source="README: such builds set USE_MCCL=0; issue 5",
        ),
        Capability(
            "bf16",
            needs=FROM_S4000,
            title="GPUs before mp_22 have no bf16",
            label="asks for bf16",
            help="use fp32 there",
            source="torch_musa/core/device.py, is_bf16_supported",
        ),
        Capability(
            "fp8",
            needs=FROM_S5000,
            title="only GPUs from mp_31 on have fp8",
            label="asks for fp8",
            help="use bf16",
            source="torch._scaled_mm asks for arch 310; ProcessGroupMCCL.cpp",
        ),
        Capability(
            "overlap",
            needs=FROM_S5000,
            title="FSDP2 does not communicate beside compute on GPUs before mp_31",
            help="count their times as a sum",
            source=OVERLAP_SOURCE,
            severity="warning",
        ),
        Capability(
            "ipv6",
            needs=NEVER,
            title="ranks on musa meet over IPv4 only",
            label="an IPv6 address",
            help="give the IPv4 address of the first node",
            source="torch_patches/torch_csrc_distributed_c10d_socket.cpp.patch",
        ),
        *ATTENTION,
        *GRAPHS,
    ),
)
