"""Finds what is known about the text of an error."""

import re

from specc.targets.symptom import Symptom
from specc.targets.troubles import SYMPTOMS

# What can happen on any device; torch's own texts, 2.7.1 to 2.13.0.
GENERAL = (
    Symptom(
        r"Failed to load the backend extension",
        "`import torch` loads installed device plugins by itself, and one of them failed",
        "reinstall that plugin, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 to go on without it",
        "torch/__init__.py, _import_device_backends",
    ),
    Symptom(
        r"No module named 'torch'",
        "torch is not installed in this Python",
        "pip install torch",
        "Python",
    ),
    Symptom(
        r"[Aa]ddress already in use|EADDRINUSE",
        "another process uses the port of the rendezvous",
        "stop that process, or give torchrun another --rdzv-endpoint",
        "torch.distributed.TCPStore",
    ),
    Symptom(
        r"No working C\+\+ compiler|InvalidCxxCompiler|CppCompileError",
        "torch.compile found no C++ compiler that works",
        "install g++ (or set CXX), or take the `compile` rules out of the spec",
        "torch._inductor.cpp_builder",
    ),
    Symptom(
        r"(torchinductor|InductorError).*: (file too short|invalid ELF header)",
        "a compilation that was stopped has left a broken file in torch.compile's cache",
        "delete the file that the error names, or set TORCHINDUCTOR_CACHE_DIR to an empty folder",
        "torch._inductor.codecache",
    ),
    Symptom(
        r"Bus error|unable to (write|mmap|open) .*(shm|shared memory)|/dev/shm.*No space left"
        r"|No space left on device.*/dev/shm",
        "the shared memory of this machine or container is full",
        "start the container with --shm-size=8g or more, or with --ipc=host",
        "torch.multiprocessing",
    ),
    Symptom(
        r"Too many open files",
        "the limit of open files is low for that many ranks and loaders",
        "raise it: ulimit -n 65536",
        "torch.multiprocessing",
    ),
    Symptom(
        r"DefaultCPUAllocator: (can't|not enough)|Cannot allocate memory",
        "the machine has not enough memory",
        "make the model or the batch smaller, or start fewer ranks",
        "c10/core/impl/alloc_cpu.cpp",
    ),
)


def explain(text: str, device: str = "") -> Symptom | None:
    """The first known symptom in the text of an error.

    Args:
        device: device type of the training; without it every device family is considered.
    """
    devices = [device, "cpu"] if device else SYMPTOMS
    known = [symptom for name in devices for symptom in SYMPTOMS.get(name, ())]
    return next(
        (symptom for symptom in (*known, *GENERAL) if re.search(symptom.pattern, text)), None
    )
