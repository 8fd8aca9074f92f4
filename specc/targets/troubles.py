"""Symptoms, version commands and releases of each device family."""

from specc.targets.musa_symptoms import SYMPTOMS as _MUSA
from specc.targets.musa_symptoms import TOOLS as _MUSA_TOOLS
from specc.targets.musa_versions import RELEASES as _MUSA_RELEASES
from specc.targets.release import Release
from specc.targets.symptom import Symptom, VersionTool
from specc.targets.version import Range

_CPU = (
    Symptom(
        r"unable to (resolve|find) .*(hostname|address|interface)"
        r"|makeDeviceForHostname|Name or service not known|getaddrinfo",
        "the name of this machine cannot be resolved",
        "add it to /etc/hosts, or set GLOO_SOCKET_IFNAME to a network interface, such as lo",
        "gloo/transport/tcp/device.cc",
    ),
    Symptom(
        r"connectFullMesh failed|Gloo.*timed out connecting",
        "a rank cannot be reached at the address that its machine's name resolves to",
        "check the firewall and /etc/hosts, or set GLOO_SOCKET_IFNAME to the interface that works",
        "torch 2.13.0, measured",
    ),
)

_CUDA = (
    Symptom(
        r"CUDA error: .*illegal memory access",
        "a kernel read outside its memory",
        "run with CUDA_LAUNCH_BLOCKING=1: it names the kernel",
        "torch.cuda",
    ),
    Symptom(
        r"CUDA out of memory",
        "the card is full",
        "make the batch smaller, recompute blocks, or shard over more ranks",
        "torch.cuda.OutOfMemoryError",
    ),
    Symptom(
        r"Torch not compiled with CUDA enabled",
        "this torch is a CPU build",
        "install a CUDA build of torch, or use --target cpu",
        "torch.cuda",
    ),
    Symptom(
        r"CUDA driver version is insufficient|driver on your system is too old",
        "the driver is older than the CUDA that torch was built with",
        "update the driver, or install a torch built for an older CUDA",
        "torch.cuda",
    ),
)

_CUDA_TOOLS = (
    VersionTool(
        "driver",
        ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        r"^(\S+)",
    ),
)

SYMPTOMS = {"cpu": _CPU, "cuda": _CUDA, "musa": _MUSA}

TOOLS: dict[str, tuple[VersionTool, ...]] = {"cuda": _CUDA_TOOLS, "musa": _MUSA_TOOLS}

RELEASES: dict[str, tuple[Release, ...]] = {"musa": _MUSA_RELEASES}

# Lines of gloo about each new group: printed by torch 2.9.1, not by 2.7.1 and 2.13.0 (measured).
CHATTER = rb"\[Gloo\] Rank \d+ is connected to \d+ peer ranks"
CHATTY_TORCH = Range((2, 8), (2, 13))
