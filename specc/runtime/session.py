"""Builds what a printed text says and hands it to somebody else's loop, or measures it."""

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import attrs
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from specc.diagnostics import SpeccError
from specc.parts.ahead import ahead
from specc.plan.facts import Facts
from specc.plan.holding import HeldTensor
from specc.printing.context import group_name
from specc.runtime.beside import modules_beside
from specc.runtime.environment import variables
from specc.runtime.execute import load_text
from specc.runtime.symptoms import explain


class Ready(BaseException):
    """No error: it ends `main` where the loop would begin."""


@attrs.frozen(eq=False)
class Built:
    """A training on this rank, ready for a loop; a context manager that ends what it began.

    A loop of one's own draws a batch, calls the model, calls `backward` on this rank's mean of its
    loss, then `sum_gradients`, clips, and steps. Storage averages gradients over the ranks that
    split the data. Under a tensor rule what the model returns lies as its dims say: a dim that the
    rule names is this rank's piece, so a loss over split classes is
    `specc.parts.losses.split_cross_entropy`; where the ranks of the rule have pieces of one value
    (`else`), each gives its mean divided by their number.

    Args:
        model: sharded, its weights drawn or loaded.
        mesh: of the spec's leaf axes, by name; None where it has none.
        start: step to begin with: 0, or that of the checkpoint.
        owns_group: whether the process group was made for this training.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    mesh: DeviceMesh | None
    device: torch.device
    start: int
    facts: Facts
    module: ModuleType = attrs.field(repr=False)
    owns_group: bool = attrs.field(repr=False)
    _sources: tuple[Any, ...] = attrs.field(repr=False)
    _sums: "_GradientSums | None" = attrs.field(repr=False)

    def batches(self, start: int | None = None) -> Iterator[tuple[torch.Tensor, ...]]:
        """This rank's part of every microbatch: a tensor for each field, in the spec's order.

        Dropout of the model takes the masks of the batch that was drawn last.

        Args:
            start: step whose batch comes first; the step to begin with by default.
        """
        first = self.start if start is None else start
        seed_dropout = vars(self.module).get("seed_dropout")
        number = first * self.facts.training.accumulate
        for index, batch in enumerate(self._drawn(first), number):
            if seed_dropout is not None:
                seed_dropout(self.model, self.module.SEED, index)
            yield batch if isinstance(batch, tuple) else (batch,)

    def sum_gradients(self) -> None:
        """Add up the gradients of whole parameters that the ranks of a tensor rule use on pieces.

        Once a step, between the last `backward` and clipping; a spec without such parameters has
        nothing to add up. The optimizer refuses to step where it was left out.
        """
        if self._sums is not None:
            self._sums.sum_all()

    def train(self, start: int | None = None) -> Generator[dict[str, Any], None, None]:
        """The spec's own loop: a record after each step, its tensors still on the device."""
        first = self.start if start is None else start
        return self.module.train(self.model, self.optimizer, self._drawn(first), first)

    def _drawn(self, start: int) -> Iterator[Any]:
        """Batches as the text's loop takes them: the bare tensor where there is one field."""
        return ahead(self.module.batches(*self._sources, start))

    def close(self) -> None:
        """End the process group if it was made for this training; all ranks must call it.

        The weights stay; a model that sends something in `forward` or `backward` has ended too.
        """
        if self.owns_group and dist.is_initialized():
            for name in ("logger", "reducer"):  # of DDP: each can hang if it outlives the group
                vars(self.model).pop(name, None)
            dist.destroy_process_group()

    def __enter__(self) -> "Built":  # noqa: PYI034  typing.Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def world() -> int:
    """Ranks of the process group; without one, those that torchrun started; alone, one."""
    if dist.is_initialized():
        return dist.get_world_size()
    text = os.environ.get("WORLD_SIZE", "1")
    if not text.isdecimal():
        raise SpeccError(f"WORLD_SIZE is `{text}`: torchrun sets it to a number")
    return int(text)


def build(text: str, facts: Facts, *, resume: str | None = None) -> Built:
    """What the text's `main` builds, up to its loop.

    Raises:
        SpeccError: the process group has another size, or the machine lacks something.
    """
    if resume is not None and facts.training.save_every is None:
        raise SpeccError("the spec saves nothing, so there is nothing to resume: add `save`", 2)
    _check_world(facts)
    owns_group = not dist.is_initialized()
    with variables(_rank_variables()), modules_beside(facts.program.source.name):
        module = _loaded(text, facts)
        seen = _Seen()
        vars(module).update(seen.watching(module))
        if resume is not None:
            vars(module)["RESUME"] = resume
        try:
            inspect.unwrap(module.main)()
        except Ready:
            pass
        except SystemExit as refusal:
            raise SpeccError(f"{refusal}") from None
        vars(module).update(seen.originals)
    device = next(seen.model.parameters()).device
    mesh = _mesh(facts, seen, module)
    sums = _GradientSums(seen.model, facts, module) if facts.summed else None
    if sums is not None:
        seen.optimizer.register_step_pre_hook(sums.before_step)
    return Built(
        seen.model,
        seen.optimizer,
        mesh,
        device,
        seen.start,
        facts,
        module,
        owns_group,
        seen.sources,
        sums,
    )


class _GradientSums:
    """Watches that gradients are summed before each step, by the text's loop or another one."""

    def __init__(self, model: nn.Module, facts: Facts, module: ModuleType) -> None:
        assert facts.layout.tensor is not None
        self.parameters = module.named_parameters(model, module.SUMMED)
        self.group = getattr(model, group_name(facts.layout.tensor.axes))
        self.sum, self.done = module.sum_gradients, False
        vars(module)["sum_gradients"] = self

    def __call__(self, parameters: Iterable[nn.Parameter], group: dist.ProcessGroup) -> None:
        self.sum(parameters, group)
        self.done = True

    def sum_all(self) -> None:
        self(self.parameters, self.group)

    def before_step(self, *_: object) -> None:
        if not self.done:
            raise RuntimeError(
                f"gradients of {len(self.parameters)} parameters are not summed over the ranks that"
                " use them: call `sum_gradients()` of the built training once a step, after"
                " `backward` and before clipping"
            )
        self.done = False


class _Seen:
    """What `main` hands to its loop, and to the functions that open the data."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    start: int
    sources: tuple[Any, ...]

    def __init__(self) -> None:
        self.meshes: list[DeviceMesh] = []
        self.originals: dict[str, Any] = {}

    def watching(self, module: ModuleType) -> dict[str, Callable[..., Any]]:
        """Functions to put in the place of the module's own while `main` runs."""
        names = ("train", "batches", "init_device_mesh")
        self.originals = {n: vars(module)[n] for n in names if n in vars(module)}
        mine = {"train": self._train, "batches": self._batches, "init_device_mesh": self._mesh}
        return {name: mine[name] for name in self.originals}

    def _train(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        _batches: object,
        start: int = 0,
    ) -> None:
        self.model, self.optimizer, self.start = model, optimizer, start
        raise Ready

    def _batches(self, *arguments: Any) -> Iterator[tuple[torch.Tensor, ...]]:  # noqa: ANN401
        self.sources = arguments[:-1]
        return iter(())

    def _mesh(self, *arguments: Any, **words: Any) -> DeviceMesh:  # noqa: ANN401
        mesh = self.originals["init_device_mesh"](*arguments, **words)
        self.meshes.append(mesh)
        return mesh


def _check_world(facts: Facts) -> None:
    if world() != facts.mesh.world:
        axes = " x ".join(f"{axis.name}={axis.size.value}" for axis in facts.mesh.axes) or "none"
        raise SpeccError(
            f"{facts.program.name} needs {facts.mesh.world} ranks ({axes}), here are {world()}"
        )


def _rank_variables() -> dict[str, str]:
    """What the text reads, where a process group exists that torchrun has not started."""
    if not dist.is_initialized():
        return {}
    return {"RANK": str(dist.get_rank()), "WORLD_SIZE": str(dist.get_world_size())}


def _loaded(text: str, facts: Facts) -> ModuleType:
    try:
        return load_text(text, facts.program.name)
    except ImportError as error:
        symptom = explain(f"{error}", facts.target.device)
        raise SpeccError(f"{error}\n{symptom}" if symptom else f"{error}") from None


def _mesh(facts: Facts, seen: _Seen, module: ModuleType) -> DeviceMesh | None:
    names = tuple(axis.name for axis in facts.mesh.axes)
    if not names:
        return None
    for mesh in seen.meshes:
        if mesh.mesh_dim_names == names:
            return mesh
    sizes = tuple(axis.size.value for axis in facts.mesh.axes)
    return init_device_mesh(module.DEVICE, sizes, mesh_dim_names=names)


# ----------------------------------------------------------------------------------- measuring


def held(model: nn.Module) -> tuple[HeldTensor, ...]:
    """Every parameter and saved buffer of a built model as this rank holds it."""
    tensors = {**dict(model.named_parameters()), **_saved_buffers(model)}
    return tuple(
        HeldTensor(
            name.removeprefix("module."),  # of DistributedDataParallel
            tuple(tensor.shape),
            tuple((tensor.to_local() if isinstance(tensor, DTensor) else tensor).shape),
            tensor.element_size(),
        )
        for name, tensor in tensors.items()
    )


def _saved_buffers(model: nn.Module) -> dict[str, torch.Tensor]:
    saved = model.state_dict(keep_vars=True)
    return {name: buffer for name, buffer in model.named_buffers() if name in saved}


def held_without_devices(text: str, facts: Facts, rank: int = 0) -> tuple[HeldTensor, ...]:
    """What a rank would hold: the model is sharded for real, without memory, among fake ranks.

    The device is of no matter: neither it nor its plugin need to be here.
    """
    if dist.is_initialized():
        raise SpeccError("a process group exists: fake ranks need a process of their own")
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=facts.mesh.world)
    try:
        place = {"RANK": str(rank), "WORLD_SIZE": str(facts.mesh.world)}
        with variables(place), _plugin(facts), modules_beside(facts.program.source.name):
            module = _loaded(text, facts)
            vars(module)["DEVICE"] = "cpu"
            return held(module.build_model())
    finally:
        dist.destroy_process_group()


@contextmanager
def _plugin(facts: Facts) -> Generator[None, None, None]:
    """Let the text import its plugin where it is not installed: nothing of it is used."""
    plugin = facts.target.plugin
    if plugin is None or importlib.util.find_spec(plugin.module) is not None:
        yield
        return
    sys.modules[plugin.module] = ModuleType(plugin.module)
    try:
        yield
    finally:
        del sys.modules[plugin.module]


def numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """A record with plain numbers; waits for the device."""
    return {key: value.item() if hasattr(value, "item") else value for key, value in row.items()}
