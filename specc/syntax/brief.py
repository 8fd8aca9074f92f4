"""Shortens what the user wrote for a title."""


def brief(text: str, longest: int = 40) -> str:
    """The text on one line, its middle left out where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 15]}...{flat[-12:]}"
