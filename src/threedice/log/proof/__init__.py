"""What a verification finds: where something is not as it was written, and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


class IntegrityFinding(msgspec.Struct, frozen=True, order=True, gc=False):
    """One thing that is wrong, and where it is."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What was looked at, and everything that is wrong with it."""

    findings: tuple[IntegrityFinding, ...]
    streams: int
    entries: int
    answers: int
    games: int
    checkpoints: int

    @property
    def is_sound(self) -> bool:
        """Tell whether everything is as it was written."""
        return not self.findings


def describe_versions(stream: str, first: int, last: int) -> str:
    """Say where entries are.

    >>> describe_versions("table/7", 12, 12), describe_versions("table/7", 12, 15)
    ('table/7 version 12', 'table/7 versions 12 to 15')
    """
    if first == last:
        return f"{stream} version {first}"
    return f"{stream} versions {first} to {last}"
