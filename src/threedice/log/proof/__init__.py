"""Proof that a log is intact: signing keys, checkpoints, verification and backups.

This module holds the result of a verification.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from threedice.errors import TamperedData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.log.proof.checkpoints import RestoreMark
    from threedice.log.proof.unsigned import UnsignedTail
    from threedice.log.records import Checkpoint


class IntegrityFinding(msgspec.Struct, frozen=True, order=True, gc=False):
    """One deviation from the log as it was written: where it is and what is wrong."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The findings of a verification, and how many records it checked.

    `restores` are those that the checkpoints record. `given_up` is the last checkpoint kept outside
    that a restore of the verified backup gives up, if any. `people` counts the compared rows about
    people, and `notes` say what could not be compared. `unsigned` are the entries after the last
    checkpoint; `judged_macs` tells whether the key was at hand that proves who wrote them.
    """

    findings: tuple[IntegrityFinding, ...]
    streams: int
    entries: int
    answers: int
    games: int
    checkpoints: int
    restores: tuple[RestoreMark, ...] = ()
    given_up: Checkpoint | None = None
    people: int = 0
    notes: tuple[str, ...] = ()
    unsigned: tuple[UnsignedTail, ...] = ()
    judged_macs: bool = False

    @property
    def unsigned_entries(self) -> int:
        """The number of entries after the last checkpoint."""
        return sum(tail.entries for tail in self.unsigned)

    @property
    def is_sound(self) -> bool:
        """True if there are no findings."""
        return not self.findings


@contextmanager
def tampering_as_finding(findings: list[IntegrityFinding]) -> Iterator[None]:
    """Turn `TamperedData` into a finding and skip the rest of the block."""
    try:
        yield
    except TamperedData as tampered:
        findings.append(IntegrityFinding(tampered.where, tampered.problem))


def describe_versions(stream: str, first: int, last: int) -> str:
    """Describe a range of entries.

    >>> describe_versions("table/7", 12, 12), describe_versions("table/7", 12, 15)
    ('table/7 version 12', 'table/7 versions 12 to 15')
    """
    if first == last:
        return f"{stream} version {first}"
    return f"{stream} versions {first} to {last}"
