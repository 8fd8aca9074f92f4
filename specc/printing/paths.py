"""Module paths as Python text, and loops over the elements of a list that are treated alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence


@attrs.frozen
class Loop:
    """What is done to the elements of one list, or to the model itself when `variable` is empty.

    Args:
        variable, source: `block` and `model.blocks[:4]` of `for block in model.blocks[:4]`.
        actions: for each action the paths below the element, empty for the element itself, and its
            payload.
    """

    variable: str
    source: str
    actions: tuple[tuple[tuple[str, ...], Hashable], ...]


def access(base: str, path: str) -> str:
    """`model.blocks[0].attn` for `blocks.0.attn`."""
    text = base
    for word in path.split(".") if path else ():
        text += f"[{word}]" if word.isdigit() else f".{word}"
    return text


def loops(
    actions: Iterable[tuple[tuple[str, ...], Hashable]], counts: dict[str, int]
) -> list[Loop]:
    """Actions on modules folded into loops over lists.

    Args:
        actions: paths of modules and what is done to them, in order; all of an action's paths lie
            in one element.
        counts: number of elements of each list, by path.
    """
    by_element: dict[tuple[str, int] | None, list[tuple[tuple[str, ...], Hashable]]] = {}
    for paths, payload in actions:
        element = _element(paths[0], counts)
        below = tuple(_below(path, element) for path in paths)
        by_element.setdefault(element, []).append((below, payload))
    found: list[Loop] = []
    for element, inside in by_element.items():
        if element is None:
            found.append(Loop("", "model", tuple(inside)))
            continue
        source, index = element
        last = found[-1] if found else None
        if (
            last is not None
            and last.actions == tuple(inside)
            and _continues(last.source, source, index)
        ):
            found[-1] = attrs.evolve(
                last,
                source=f"{source}|{last.source.partition('|')[2].partition(':')[0]}:{index + 1}",
            )
        else:
            found.append(Loop(_singular(source), f"{source}|{index}:{index + 1}", tuple(inside)))
    return [_finished(loop, counts) for loop in found]


def _continues(last: str, source: str, index: int) -> bool:
    return last.startswith(f"{source}|") and last.endswith(f":{index}")


def _finished(loop: Loop, counts: dict[str, int]) -> Loop:
    if "|" not in loop.source:
        return loop
    path, _, bounds = loop.source.partition("|")
    first, last = (int(bound) for bound in bounds.split(":"))
    whole = access("model", path)
    if last - first == 1 and counts[path] > 1:
        return Loop("", f"{whole}[{first}]", loop.actions)
    if (first, last) != (0, counts[path]):
        whole += f"[{first or ''}:{last if last < counts[path] else ''}]"
    return attrs.evolve(loop, source=whole)


def _element(path: str, counts: dict[str, int]) -> tuple[str, int] | None:
    words = path.split(".")
    for position, word in enumerate(words):
        parent = ".".join(words[:position])
        if word.isdigit() and parent in counts:
            return parent, int(word)
    return None


def _below(path: str, element: tuple[str, int] | None) -> str:
    if element is None:
        return path
    prefix = f"{element[0]}.{element[1]}"
    return path[len(prefix) + 1 :]


def _singular(path: str) -> str:
    word = re.sub(r"\W", "", path.rsplit(".", maxsplit=1)[-1])
    return word[:-1] if word.endswith("s") and len(word) > 1 else "layer"


def folded(names: Sequence[str], counts: dict[str, int]) -> dict[str, list[str]]:
    """Names grouped by their form with `*` for the index of every list."""
    groups: dict[str, list[str]] = {}
    for name in names:
        words = name.split(".")
        form = [
            "*" if word.isdigit() and ".".join(words[:i]) in counts else word
            for i, word in enumerate(words)
        ]
        groups.setdefault(".".join(form), []).append(name)
    return groups


def patterns(names: Iterable[str], universe: Sequence[str], counts: dict[str, int]) -> list[str]:
    """The shortest list of forms that names exactly these of all names."""
    wanted = set(names)
    found: list[str] = []
    for form, members in folded(universe, counts).items():
        inside = [name for name in members if name in wanted]
        if len(inside) == len(members):
            found.append(form)
        else:
            found.extend(inside)
    return found
