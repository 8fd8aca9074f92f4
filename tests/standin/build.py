"""Builds the stand-in musa device, once for each torch, and gives the environment that uses it."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
# Reading torch's headers is most of the work: two translation units, compiled side by side.
UNITS = {
    "device": ("device.cpp", "kernels.cpp", "autocast.cpp"),
    "mccl": ("mccl.cpp", "module.cpp"),
}
LIBRARY = "musa_standin.so"
COMPILER_FLAGS = (
    "-O0",
    "-fPIC",
    "-fvisibility=hidden",
    "-w",
    "-DUSE_DISTRIBUTED",
    "-DUSE_C10D_GLOO",
)


class MissingCompilerError(RuntimeError):
    """There is no g++ on this machine."""


def build() -> Path:
    """The path of the extension for this torch; it is built if the cache has none of these sources.

    The cache is `$XDG_CACHE_HOME/specc-tests/standin/<digest>` (`~/.cache/...`). Of two processes
    that come at once, one builds and the other waits.

    Raises:
        MissingCompilerError: if it has to be built and g++ is not on the PATH.
        RuntimeError: if the compiler fails; the message is its output.
    """
    folder = cache_folder() / digest()
    library = folder / LIBRARY
    if library.exists():
        return library
    compiler = shutil.which("g++")
    if compiler is None:
        raise MissingCompilerError("the stand-in musa device needs g++, which is not on the PATH")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not library.exists():
            compile_into(folder, compiler)
    return library


def environment(
    musa: str = "2.9.1.post1", arch: int = 22, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment in which `import torch_musa` gives the stand-in device; builds it if need be.

    Args:
        musa: the torch_musa version whose names torch.musa has, "2.9.1.post1" or "2.7.1".
        arch: 22 for an S4000, 31 for an S5000.
        base: the environment to start from; this process's own by default.
    """
    variables = dict(os.environ if base is None else base)
    path = variables.get("PYTHONPATH")
    variables |= {
        "PYTHONPATH": f"{HERE}{os.pathsep}{path}" if path else str(HERE),
        "SPECC_STANDIN_LIBRARY": str(build()),
        "SPECC_STANDIN_MUSA": musa,
        "TORCH_MUSA_ARCH": str(arch),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "TORCH_COMPILE_DISABLE": "1",  # inductor knows no such device
        "OMP_NUM_THREADS": "1",
    }
    return variables


def cache_folder() -> Path:
    """Where built extensions lie, outside of every checkout."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "specc-tests" / "standin"


def digest() -> str:
    """A name for what the build depends on: the sources, the flags, torch and Python."""
    state = hashlib.sha256()
    for file in sorted((HERE / "native").iterdir()):
        state.update(file.read_bytes())
    state.update(repr((COMPILER_FLAGS, torch.__version__, torch.__file__, sys.version)).encode())
    return state.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on a file; the lock goes with the process."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_into(folder: Path, compiler: str) -> None:
    """Compiles and links in a folder of its own, which takes the final name when all is done."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        work = Path(scratch) / "build"
        work.mkdir()
        flags = compile_flags()
        objects = [str(Path(scratch) / f"{unit}.o") for unit in UNITS]
        with ThreadPoolExecutor(len(UNITS)) as pool:
            jobs = [
                pool.submit(
                    run_compiler, [compiler, *flags, "-xc++", "-", "-c", "-o", out], includes(files)
                )
                for files, out in zip(UNITS.values(), objects, strict=True)
            ]
        for job in jobs:
            job.result()
        run_compiler([compiler, *objects, *link_flags(), "-o", str(work / LIBRARY)])
        work.rename(folder)


def compile_flags() -> list[str]:
    """What torch's own extension builder passes, without its need for ninja and setuptools."""
    include = Path(torch.__file__).parent / "include"
    flags = [*COMPILER_FLAGS, f"-std={cpp_standard()}"]
    flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}")
    flags += [f"-I{include}", f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}"]
    flags.append(f"-I{sysconfig.get_path('include')}")
    # Types such as c10d::Backend pass between modules only if their pybind11 builds agree.
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{name}", None)
        if value is not None:
            flags.append(f'-DPYBIND11_{name}="{value}"')
    return flags


def cpp_standard() -> str:
    """The C++ standard of torch's headers: C++20 since 2.12."""
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    return "c++20" if (major, minor) >= (2, 12) else "c++17"


def link_flags() -> list[str]:
    """Shared, against the libraries of this torch."""
    libraries = Path(torch.__file__).parent / "lib"
    names = ("c10", "torch_cpu", "torch", "torch_python")
    return [
        "-shared",
        f"-L{libraries}",
        *(f"-l{name}" for name in names),
        f"-Wl,-rpath,{libraries}",
    ]


def includes(files: tuple[str, ...]) -> str:
    """The text of a translation unit that is made of several sources."""
    return "".join(f'#include "{HERE / "native" / file}"\n' for file in files)


def run_compiler(command: list[str], text: str = "") -> None:
    """Runs one compiler command on a text; what it complains of becomes the error."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-4000:]}")


def main() -> None:
    """Builds, and prints one line: how long it took and where the extension is."""
    start = time.perf_counter()
    try:
        library = build()
    except MissingCompilerError as missing:
        raise SystemExit(str(missing)) from None
    seconds = time.perf_counter() - start
    print(f"stand-in musa device for torch {torch.__version__}: {library} ({seconds:.1f} s)")


if __name__ == "__main__":
    main()
