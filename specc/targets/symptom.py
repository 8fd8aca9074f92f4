"""What people see when something is not installed as it should be: a text, its cause, a remedy."""

import attrs


@attrs.frozen
class Symptom:
    """A text that people meet, what causes it and what to do.

    Args:
        pattern: regular expression that finds the symptom within a line of an error's text.
        cause: one sentence.
        remedy: one sentence in the imperative.
    """

    pattern: str
    cause: str
    remedy: str
    source: str

    def __str__(self) -> str:
        return f"why: {self.cause}\nhelp: {self.remedy}"


@attrs.frozen
class VersionTool:
    """A command of the vendor and where its output names a version.

    Args:
        subject: what the version is of, for people.
        pattern: its first group is the version.
    """

    subject: str
    command: tuple[str, ...]
    pattern: str
