"""What is known of the machine that a training is for, and what something needs of it."""

from __future__ import annotations

import attrs

from specc.targets.version import ANY, Range, Version


@attrs.frozen
class Platform:
    """Versions and hardware; None for what is not known, as when a spec is checked elsewhere.

    Args:
        plugin: version of the package that registers the device.
        arch: major and minor of the device's capability: (2, 2) for mp_22, (9, 0) for sm_90.
    """

    torch: Version | None = None
    plugin: Version | None = None
    arch: Version | None = None


UNKNOWN = Platform()


@attrs.frozen
class Needs:
    """What must hold together.

    Args:
        never: no machine of the target will do.
    """

    torch: Range = ANY
    plugin: Range = ANY
    arch: Range = ANY
    never: bool = False

    def met(self, platform: Platform, floor: Platform) -> bool | None:
        """Whether all of it holds; None if that depends on what is not known.

        Args:
            floor: what is taken for granted of a machine that is not known.
        """
        if self.never:
            return False
        answers = (
            _holds(self.torch, platform.torch, floor.torch),
            _holds(self.plugin, platform.plugin, floor.plugin),
            _holds(self.arch, platform.arch, floor.arch),
        )
        if False in answers:
            return False
        return None if None in answers else True


ALWAYS = Needs()
NEVER = Needs(never=True)


def _holds(wanted: Range, known: Version | None, floor: Version | None) -> bool | None:
    if not wanted:
        return True
    if known is not None:
        return known in wanted
    is_safe = wanted.below is None and floor is not None and floor in wanted
    return True if is_safe else None
