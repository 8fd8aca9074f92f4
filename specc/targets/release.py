"""Which versions belong together, as data, and what does not fit where they do not."""

import attrs

from specc.targets.version import ANY, Range, Version, parse_version, version_text


@attrs.frozen
class Release:
    """One release of a plugin with the versions that it was made for.

    Args:
        plugin: a post release counts as its base.
        torch: as many numbers as must be equal.
        sdk: of the vendor; any where no public text says it.
    """

    plugin: Version
    torch: Version
    sdk: Range = ANY
    source: str = ""


def find_release(releases: tuple[Release, ...], plugin: Version) -> Release | None:
    """The row of a version of the plugin."""
    return next((release for release in releases if release.plugin == plugin[:3]), None)


def misfit(name: str, release: Release, torch: str, sdk: str | None) -> str:
    """What does not fit to a release of the plugin `name`, with the versions that would; or empty.

    Args:
        sdk: None if it could not be found out.
    """
    plugin = f"{name} {version_text(release.plugin)}"
    if parse_version(torch)[: len(release.torch)] != release.torch:
        return f"{plugin} was made for torch {version_text(release.torch)}, found {torch}"
    if sdk is not None and parse_version(sdk) not in release.sdk:
        return f"{plugin} was made for SDK {release.sdk.text}, found {sdk}"
    return ""
