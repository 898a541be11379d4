"""The date from which a rulebook is in force."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_effective(text: str) -> datetime:
    """Parse a date or a time with its zone; without a zone it is UTC.

    >>> parse_effective("2023-10-06T08:00:00+08:00").isoformat()
    '2023-10-06T08:00:00+08:00'
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_in_force(effective: str, moment: datetime) -> bool:
    """Return whether a rulebook is in force at a moment; one without a date always is.

    >>> is_in_force("2023-10-06", parse_effective("2023-10-05")), is_in_force("", datetime.now(UTC))
    (False, True)
    """
    return not effective or moment >= parse_effective(effective)
