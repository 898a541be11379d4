"""How long somebody who failed to sign in has to wait; kept in the database, for all servers.

A try is counted before it is made and given back if it was right, so that a hundred at once are
not a hundred. Waiting doubles with each failure and has a limit: nobody can lock another out for
good. Neither names nor addresses are kept, only marks of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from threedice.identity.roles import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.identity.database import SqlRunner

FREE_ATTEMPTS_PER_NAME: Final = 5
FREE_ATTEMPTS_PER_ADDRESS: Final = 20
"""More than by name: a whole hall may come from one address."""

FIRST_WAIT_MICROSECONDS: Final = SECOND
MAX_WAIT_MICROSECONDS: Final = 900 * SECOND
FAILURE_LIFETIME_MICROSECONDS: Final = HOUR


@dataclass(frozen=True, slots=True)
class CountedAttempt:
    """A try that was counted; `wait` says how long, if it fails, until the next."""

    at: int
    wait: int
    previous_times: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class ThrottleDelay:
    """A try that may not be made yet."""

    wait: int


def wait_after(failures: int, free: int) -> int:
    """Return how many microseconds nobody may try after so many failures.

    >>> [wait_after(failures, free=5) // SECOND for failures in (4, 5, 6, 10, 14, 15, 99)]
    [0, 1, 2, 32, 512, 900, 900]
    """
    if failures < free:
        return 0
    return min(FIRST_WAIT_MICROSECONDS << min(failures - free, 30), MAX_WAIT_MICROSECONDS)


def count_attempt(
    run: SqlRunner, now: int, free_attempts: Mapping[bytes, int]
) -> CountedAttempt | ThrottleDelay:
    """Count a try under each mark, which has so many free; or say how long to wait."""
    run("DELETE FROM people_attempts WHERE latest < ?", (now - FAILURE_LIFETIME_MICROSECONDS,))
    found = dict.fromkeys(free_attempts, (0, 0))
    for mark in free_attempts:
        for row in run("SELECT failures, latest FROM people_attempts WHERE mark = ?", (mark,)):
            found[mark] = (row[0], row[1])
    waits = [
        min(latest + wait_after(failures, free_attempts[mark]) - now, MAX_WAIT_MICROSECONDS)
        for mark, (failures, latest) in found.items()
        if failures >= free_attempts[mark]
    ]
    if (wait := max(waits, default=0)) > 0:
        return ThrottleDelay(wait)
    for mark in free_attempts:
        run(
            "INSERT INTO people_attempts (mark, failures, latest) VALUES (?, 1, ?)"
            " ON CONFLICT (mark) DO UPDATE SET failures = people_attempts.failures + 1,"
            " latest = excluded.latest",
            (mark, now),
        )
    next_wait = max(wait_after(found[mark][0] + 1, free) for mark, free in free_attempts.items())
    return CountedAttempt(now, next_wait, {mark: latest for mark, (_, latest) in found.items()})


def uncount_attempt(run: SqlRunner, attempt: CountedAttempt) -> None:
    """Count a try that was right as none."""
    for mark, latest in attempt.previous_times.items():
        run("UPDATE people_attempts SET failures = failures - 1 WHERE mark = ?", (mark,))
        run(
            "UPDATE people_attempts SET latest = ? WHERE mark = ? AND latest = ?",
            (latest, mark, attempt.at),
        )
        run("DELETE FROM people_attempts WHERE mark = ? AND failures <= 0", (mark,))


def clear_failures(run: SqlRunner, subject_hash: bytes) -> None:
    """Forget the failures under a mark."""
    run("DELETE FROM people_attempts WHERE mark = ?", (subject_hash,))


def client_network(address: str) -> str:
    """Return where an address belongs: of IPv6 everybody has 2**64 of them.

    >>> client_network("2001:db8::1") == client_network("2001:db8::2"), client_network("::ffff:192.0.2.7")
    (True, '192.0.2.7')
    """
    try:
        known = ip_address(address)
    except ValueError:
        return address[:64]
    if not isinstance(known, IPv6Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ip_network((int(known), 64), strict=False))
