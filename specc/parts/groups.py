"""Parameters by name: which are frozen, and which have optimizer settings of their own."""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns fits a parameter's name; `*` stands for one index of a list."""
    parts = name.split(".")
    return any(
        len(pattern.split(".")) == len(parts)
        and all(
            p == part or (p == "*" and part.isdigit())
            for p, part in zip(pattern.split("."), parts, strict=True)
        )
        for pattern in patterns
    )


def is_below(name: str, patterns: Iterable[str]) -> bool:
    """Whether a parameter is one of a module, or of a part of it, that one of the patterns fits."""
    parts = name.split(".")
    return any(is_named(".".join(parts[:length]), patterns) for length in range(1, len(parts)))


def freeze(model: nn.Module, patterns: Iterable[str]) -> None:
    """Take the named parameters out of training."""
    for name, parameter in model.named_parameters():
        if is_named(name, patterns):
            parameter.requires_grad_(False)


def parameter_groups(
    model: nn.Module, special: Iterable[tuple[Mapping[str, Any], Iterable[str]]]
) -> list[dict[str, Any]]:
    """One group for each special setting, and one for all other trained parameters."""
    groups: list[dict[str, Any]] = [{"params": [], **settings} for settings, _ in special]
    rest: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        for group, (_, patterns) in zip(groups, special, strict=True):
            if is_named(name, patterns):
                group["params"].append(parameter)
                break
        else:
            rest.append(parameter)
    return [{"params": rest}, *groups]
