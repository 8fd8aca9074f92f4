"""Texts that people met are explained; texts that mean nothing of the kind are not."""

import re

import pytest

from specc.runtime.symptoms import GENERAL, explain
from specc.targets.troubles import SYMPTOMS

# The line that was reported, and words of the cause that must be named.
MUSA = [
    (
        "ImportError: /usr/local/musa/lib/libmusa.so.1.0: undefined symbol: PVRSRVGetDevInfo",
        "driver is older or newer",
    ),
    ("ImportError: libmusa_python.so.1: undefined symbol: _ZN2at", "another MUSA SDK"),
    (
        "ImportError: torch_musa/lib/libmusa_kernels.so: undefined symbol: _ZN2at18_Generator",
        "the one from PyPI lacks",
    ),
    (
        "ImportError: libmccl.so.2: cannot open shared object file: No such file or directory",
        "MCCL library",
    ),
    (
        "ImportError: libsrv_um_MUSA.so: cannot open shared object file: No such file",
        "container does not see the driver",
    ),
    (
        "ImportError: libmupti.so.0.2: cannot open shared object file: No such file",
        "library of the MUSA SDK",
    ),
    ("Driver Version: N/A", "driver is not loaded"),
    (
        "ImportError: Please try running Python from a different directory!",
        "the folder is hardly ever the reason",
    ),
    (
        "RuntimeError: Failed to load the backend extension: torch_musa. You can disable",
        "loads torch_musa by itself",
    ),
    ("ModuleNotFoundError: No module named 'torch_musa'", "not on PyPI"),
    ("AttributeError: module 'torch' has no attribute 'musa'", "not imported"),
    ("RuntimeError: Cannot re-initialize MUSA in forked subprocess. To use MUSA", "forked child"),
    ("RuntimeError: MUSA out of memory. Tried to allocate 2.00 GiB", "card is full"),
    (
        "RuntimeError: MUSA error: an illegal memory access was encountered",
        "missing synchronisation",
    ),
    ("RuntimeError: MUSA error: unknown error", "bound to its card"),
    ("RuntimeError: please try torch_musa.optim.FusedAdamW", "fused Adam does not exist"),
    ("RuntimeError: Unexpected ReduceOp", "SUM, AVG, MIN, MAX"),
    ("AttributeError: module 'torch.cuda' has no attribute '_device_count_nvml'", "private"),
    (
        "NotImplementedError: Could not run 'aten::poisson' with arguments from the 'musa' backend",
        "no kernel for that operator",
    ),
    ("TypeError: graph() got an unexpected keyword argument 'cuda_graph'", "musa_graph"),
    ("ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11", "CUDA-only flag"),
    (
        "RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed",
        "inference mode",
    ),
]
ANYWHERE = [
    ("ModuleNotFoundError: No module named 'torch'", "torch is not installed"),
    ("RuntimeError: The server socket has failed to bind to [::]:29500. EADDRINUSE", "port"),
    ("InvalidCxxCompiler: No working C++ compiler found", "C++ compiler"),
    ("ImportError: /scratch/torchinductor_me/2q/c2qx.main.so: file too short", "was stopped"),
    ("RuntimeError: unable to write to file </torch_42>: /dev/shm No space left", "shared memory"),
    ("OSError: [Errno 24] Too many open files", "limit of open files"),
    ("RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory", "not enough"),
    ("gaierror: [Errno -2] Name or service not known", "cannot be resolved"),
    ("RuntimeError: Failed to load the backend extension: torch_other", "one of them failed"),
]


@pytest.mark.parametrize(("text", "cause"), [*MUSA, *ANYWHERE])
def test_a_text_that_people_met_is_explained(text: str, cause: str) -> None:
    symptom = explain(f"Traceback (most recent call last):\n  ...\n{text}\n")
    assert symptom is not None
    assert cause in symptom.cause


@pytest.mark.parametrize(("text", "cause"), [*MUSA[11:15], *ANYWHERE[:-1]])
def test_it_is_explained_for_the_device_in_use_too(text: str, cause: str) -> None:
    symptom = explain(text, "musa")
    assert symptom is not None
    assert cause in symptom.cause


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_another_device_is_not_told_about_musa(device: str) -> None:
    assert explain("RuntimeError: MUSA error: unknown error", device) is None


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: five does not divide 64",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 6x7)",
        "RuntimeError: all_reduce of a product of Bool tensors is in progress",
        "ModuleNotFoundError: No module named 'torchvision'",
        "AttributeError: module 'torch' has no attribute 'must'",
        "RuntimeError: the flash of an architect",
        "KeyError: 'graph'",
    ],
)
def test_an_ordinary_error_is_not_explained_away(text: str) -> None:
    assert explain(text) is None


ALL = [*GENERAL, *(symptom for family in SYMPTOMS.values() for symptom in family)]


@pytest.mark.parametrize("symptom", ALL, ids=lambda symptom: symptom.pattern[:40])
def test_every_symptom_has_cause_remedy_and_source(symptom: object) -> None:
    pattern, cause = getattr(symptom, "pattern", ""), getattr(symptom, "cause", "")
    assert re.compile(pattern)
    assert cause
    assert not cause.endswith(".")
    assert getattr(symptom, "remedy", "")
    assert getattr(symptom, "source", "")
    assert f"{symptom}".startswith(f"why: {cause}\nhelp: ")
