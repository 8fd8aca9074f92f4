"""One rank of a musa cluster in this process: fake tensors, fake groups, counted collectives.

    python -m tests.standin.fake script.py --rank 0 --rank 8 --set STEPS=1

runs `main()` of a script once for each rank and prints one JSON object a line: the rank and the
collectives it took part in. Shapes, devices, dtypes and names of torch.musa are checked as the
script uses them; no number is computed. Needs torch 2.11, where a device can be made in Python.
"""

import argparse
import ast
import contextlib
import functools
import importlib
import json
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

# torch reads these when it is imported.
os.environ["TORCH_COMPILE_DISABLE"] = "1"
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import FakeProcessGroup
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.distributed import device_mesh, distributed_c10d
from torch.distributed.fsdp._fully_shard import _fsdp_param
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from specc.runtime.recorder import Recorder

HERE = Path(__file__).resolve().parent
REDUCTIONS = ("SUM", "AVG", "MIN", "MAX", "PRODUCT")
REDUCING = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor")


@contextlib.contextmanager
def fake_rank(
    rank: int,
    world_size: int = 16,
    gpus_per_node: int = 8,
    musa: str = "2.9.1.post1",
    arch: int = 22,
    started: bool = False,
) -> Iterator[Recorder]:
    """A context in which this process is one rank of a cluster, as torchrun would have started it.

    init_process_group gives fake groups, every tensor is fake, and collectives are counted in the
    recorder. Tensors on the host are real, so data is read and weights are drawn as ever. A process
    may enter it again for another rank, with the musa and arch of the first.

    Args:
        rank: of `world_size` ranks, `gpus_per_node` of them on each node.
        musa: the torch_musa version whose names torch.musa has.
        arch: 22 for an S4000, 31 for an S5000.
        started: whether the default process group exists already, for a script that would wait
            for its peers before it starts one.
    """
    node, local_rank = divmod(rank, gpus_per_node)
    variables = {
        "RANK": rank,
        "LOCAL_RANK": local_rank,
        "GROUP_RANK": node,
        "WORLD_SIZE": world_size,
        "LOCAL_WORLD_SIZE": gpus_per_node,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": 29500,
    }
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        enter(mock.patch.dict(os.environ, {name: str(value) for name, value in variables.items()}))
        register_musa(musa, arch)
        recorder = Recorder()
        for patch in patches(rank, world_size, recorder):
            enter(patch)
        stack.callback(destroy_groups)
        # What "musa" without an index means was remembered from the rank before.
        FakeTensorMode.cache_clear()
        # A device made in Python counts as one card: autograd has a thread for the first only.
        enter(torch.autograd.set_multithreading_enabled(False))
        enter(HostTensors(enter(FakeTensorMode(allow_non_fake_inputs=True))))
        enter(Refusals())
        enter(recorder)
        if started:
            dist.init_process_group("cpu:gloo,musa:mccl")
        yield recorder


def run_script(
    path: Path, rank: int, settings: Mapping[str, Any] | None = None, **cluster: Any
) -> Recorder:
    """Runs `main()` of a script as one rank, and returns what it sent.

    Args:
        path: a script that does its work in `main()`.
        settings: names of the script to set before `main()`: constants, such as {"STEPS": 1}, and
            functions that read results back, such as {"save": skipped}.
        cluster: further arguments of fake_rank.

    Raises:
        KeyError: if the script has no such name.
    """
    with fake_rank(rank, **cluster) as recorder:
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        exec(compile(path.read_text(), str(path), "exec"), vars(module))
        for name, value in (settings or {}).items():
            if name not in vars(module):
                raise KeyError(f"{path.name} has no {name} to set")
            setattr(module, name, value)
        module.main()
    return recorder


def register_musa(musa: str, arch: int) -> None:
    """Imports the stand-in torch_musa without its extension: a device of fake tensors only."""
    os.environ |= {
        "SPECC_STANDIN_FAKE": "1",
        "SPECC_STANDIN_MUSA": musa,
        "TORCH_MUSA_ARCH": str(arch),
    }
    if "torch_musa" in sys.modules:
        return
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    importlib.import_module("torch_musa")
    importlib.import_module("torch_musa._distributed").register(fake_group)


def fake_group(_store: object, rank: int, size: int, *_options: object, **_named: object) -> Any:
    """A process group that returns at once and moves nothing."""
    return FakeProcessGroup._create_internal(rank, size)


def destroy_groups() -> None:
    """Forgets all process groups, if the script has not."""
    if dist.is_initialized():
        dist.destroy_process_group()


def patches(rank: int, world_size: int, recorder: Recorder) -> list[Any]:
    """What must differ from a real rank, each with its reason."""
    in_c10d: Any = functools.partial(mock.patch.multiple, distributed_c10d)
    in_dist: Any = functools.partial(mock.patch.multiple, dist)
    start = functools.partial(start_fake, dist.init_process_group, rank, world_size)
    new_group = functools.partial(new_fake_group, dist.new_group)
    make_mesh = functools.partial(make_real_mesh, device_mesh.init_device_mesh, recorder)
    objects: dict[str, Any] = {
        "all_gather_object": all_gather_object,
        "broadcast_object_list": keep_objects,
    }
    checked = {name: reducing(getattr(dist, name)) for name in REDUCING}
    return [
        # No other rank is there to meet, neither over a store nor over gloo.
        in_dist(init_process_group=start, new_group=new_group),
        # A mesh computes with the numbers of its ranks, which a fake tensor has not.
        mock.patch.object(device_mesh, "init_device_mesh", make_mesh),
        # torch.tensor(..., device=) must not try the device: it has no kernel of its own.
        mock.patch.object(FakeTensorMode, "avoid_device_init", True),
        # FSDP2 cuts a parameter into a view for each of thousands of ranks, and looks at two.
        mock.patch.object(_fsdp_param, "_chunk_with_empty", Chunks),
        # A thread would not know of fake tensors.
        mock.patch.object(ThreadPoolExecutor, "submit", submit_and_do),
        # Pickled objects are bytes, which a fake tensor has not.
        in_dist(**objects),
        in_c10d(**objects),
        # Operators hide their reduction; the functions do not.
        in_dist(**checked),
        in_c10d(**checked),
    ]


class Chunks:
    """The pieces of `torch.chunk`, then empty ones, each made when it is asked for."""

    def __init__(self, tensor: torch.Tensor, num_chunks: int, dim: int) -> None:
        self.tensor, self.dim = tensor, dim
        self.length = -(-tensor.shape[dim] // num_chunks)

    def __getitem__(self, rank: int) -> torch.Tensor:
        start = rank * self.length
        if start >= self.tensor.shape[self.dim]:
            return self.tensor.new_empty(0)
        length = min(self.length, self.tensor.shape[self.dim] - start)
        return self.tensor.narrow(self.dim, start, length)


def start_fake(
    original: Callable[..., None],
    rank: int,
    world_size: int,
    backend: str | None = None,
    **options: Any,
) -> None:
    """init_process_group of the one rank that is there.

    Raises:
        ValueError: if the backend does not say which group carries musa tensors (stock torch would
            accept it, torch_musa would guess), or device_id is another rank's.
    """
    if backend is None or "mccl" not in backend:
        raise ValueError(f"init_process_group(backend={backend!r}) names no mccl for musa tensors")
    device = options.get("device_id")
    if device is not None and device.index != int(os.environ["LOCAL_RANK"]):
        raise ValueError(f"init_process_group(device_id={device}) is not the device of this rank")
    original(
        without_gloo(backend),
        rank=rank,
        world_size=world_size,
        store=FakeStore(),
        timeout=options.get("timeout"),
    )


def new_fake_group(original: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """new_group whose members are not there."""
    if keywords.get("backend") is not None:
        keywords["backend"] = without_gloo(keywords["backend"])
    return original(*args, **keywords)


def without_gloo(backend: str) -> str:
    """The backend with torch's fake group in the place of gloo, which would look for its peers."""
    return backend.replace("gloo", "fake")


def make_real_mesh(
    original: Callable[..., device_mesh.DeviceMesh], recorder: Recorder, *args: Any, **keywords: Any
) -> device_mesh.DeviceMesh:
    """init_device_mesh with real rank numbers; the recorder learns the names of its axes."""
    with unset_fake_temporarily():
        mesh = original(*args, **keywords)
        recorder.add_mesh(mesh)
    return mesh


def submit_and_do(
    _executor: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **keywords: Any
) -> Future[Any]:
    """The finished future of a call."""
    future: Future[Any] = Future()
    try:
        future.set_result(function(*args, **keywords))
    except Exception as error:  # noqa: BLE001  it is raised where the result is asked for
        future.set_exception(error)
    return future


def skipped(*_args: Any, **_keywords: Any) -> int:
    """Stands for a function of the script that reads values back, which are not there."""
    return 0


def all_gather_object(objects: list[Any], obj: Any, group: Any = None) -> None:
    """Every rank says what this one says."""
    del group
    objects[:] = [obj] * len(objects)


def keep_objects(objects: list[Any], *_args: Any, **_named: Any) -> None:
    """The source says what this rank says."""
    del objects


def reducing(original: Callable[..., Any]) -> Callable[..., Any]:
    """A collective that refuses the reductions that MCCL refuses."""

    @functools.wraps(original)
    def checked(*args: Any, **keywords: Any) -> Any:
        for value in (*args, *keywords.values()):
            is_op = isinstance(value, dist.ReduceOp | dist.ReduceOp.RedOpType)
            if is_op and not any(value == getattr(dist.ReduceOp, name) for name in REDUCTIONS):
                raise RuntimeError(f"Unexpected ReduceOp: {value}")
        return original(*args, **keywords)

    return checked


class Refusals(TorchDispatchMode):
    """Refuses what torch_musa refuses; where the host reads a number, it gets 1 or True."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        if func is torch.ops.prim.device.default and isinstance(args[0], FakeTensor):
            return args[0].fake_device  # asked for as often as everything else together
        schema = getattr(func, "_schema", None)
        name = "" if schema is None else schema.name.partition("::")[2]
        if name in ("item", "_local_scalar_dense") and isinstance(args[0], FakeTensor):
            return host_value(args[0].dtype)
        if name in RULES:
            RULES[name](name, args)
        if func.namespace == "c10d":
            check_buffers(args)
        return func(*args, **(kwargs or {}))


class HostTensors(TorchDispatchMode):
    """Keeps what lies on the host real: operators on real CPU tensors alone, and CPU factories."""

    def __init__(self, fake: FakeTensorMode) -> None:
        super().__init__()
        self.fake = fake

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if is_on_host(leaves, kwargs) and getattr(func, "namespace", "") == "aten":
            with unset_fake_temporarily():
                return func(*args, **kwargs)
        if not all(isinstance(leaf, FakeTensor) for leaf in leaves):
            args, kwargs = tree_map(self.as_fake, (args, kwargs))
        return func(*args, **kwargs)

    def as_fake(self, value: Any) -> Any:
        """A real tensor without its values; the mode itself would keep those of small ones."""
        if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
            return self.fake.from_tensor(value)
        return value


def is_on_host(tensors: Sequence[torch.Tensor], kwargs: Mapping[str, Any]) -> bool:
    """Whether an operator has real CPU tensors only, or none, and makes no tensor elsewhere."""
    device = kwargs.get("device")
    is_real = not any(isinstance(tensor, FakeTensor) or not tensor.is_cpu for tensor in tensors)
    return is_real and (device is None or torch.device(device).type == "cpu")


def host_value(dtype: torch.dtype) -> bool | int | float:
    """What a script reads where a real rank would read a result."""
    if dtype == torch.bool:
        return True
    return 1.0 if dtype.is_floating_point else 1


def refuse_fused_adam(name: str, _args: Any) -> None:
    raise RuntimeError(f"aten::{name} is not implemented on MUSA, try torch_musa.optim")


def check_nll_loss(name: str, args: Any) -> None:
    """NLL loss takes fp32 only; an S5000 sends 2-D logits of any dtype to a fused loss."""
    logits = args[1 if name.endswith("backward") else 0]
    is_fused = (
        torch.get_device_module("musa").get_device_capability() >= (3, 1) and logits.dim() == 2
    )
    if logits.device.type == "musa" and logits.dtype != torch.float32 and not is_fused:
        raise RuntimeError(f"aten::{name} on MUSA supports Float32 only, got {logits.dtype}")


def check_buffers(args: Any) -> None:
    """MCCL moves contiguous buffers only."""
    for leaf in tree_leaves(args):
        if (
            isinstance(leaf, torch.Tensor)
            and leaf.device.type == "musa"
            and not leaf.is_contiguous()
        ):
            raise RuntimeError("Tensors must be contiguous")


RULES = {
    "_fused_adam_": refuse_fused_adam,
    "_fused_adamw_": refuse_fused_adam,
    "nll_loss_forward": check_nll_loss,
    "nll_loss_backward": check_nll_loss,
    "nll_loss2d_forward": check_nll_loss,
    "nll_loss2d_backward": check_nll_loss,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a script as the ranks of the command line and prints a JSON line for each."""
    parser = argparse.ArgumentParser(prog="tests.standin.fake")
    parser.add_argument("script", type=Path)
    parser.add_argument("--rank", type=int, action="append", required=True)
    parser.add_argument("--world-size", type=int, default=16)
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--musa", default="2.9.1.post1")
    parser.add_argument("--arch", type=int, default=22)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--skip", action="append", default=[], metavar="FUNCTION")
    parser.add_argument("--started", action="store_true")
    given = parser.parse_args(arguments)
    settings: dict[str, Any] = dict.fromkeys(given.skip, skipped)
    for setting in given.set:
        name, _, value = setting.partition("=")
        settings[name] = ast.literal_eval(value)
    for rank in given.rank:
        recorder = run_script(
            given.script,
            rank,
            settings,
            world_size=given.world_size,
            gpus_per_node=given.gpus_per_node,
            musa=given.musa,
            arch=given.arch,
            started=given.started,
        )
        print(json.dumps({"rank": rank, "collectives": recorder.table()}), flush=True)


if __name__ == "__main__":
    main()
