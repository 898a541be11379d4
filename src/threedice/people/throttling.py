"""How long somebody who failed to sign in has to wait; kept in the database, for all servers.

A try is counted before it is made and given back if it was right, so that a hundred at once are
not a hundred. Waiting doubles with each failure and has a limit: nobody can lock another out for
good. Neither names nor addresses are kept, only marks of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from threedice.people.policy import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.people.database import Run

FREE_BY_NAME: Final = 5
FREE_BY_ADDRESS: Final = 20
"""More than by name: a whole hall may come from one address."""

FIRST_WAIT: Final = SECOND
LONGEST_WAIT: Final = 900 * SECOND
FORGOTTEN_AFTER: Final = HOUR


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try that was counted; `wait` says how long, if it fails, until the next."""

    at: int
    wait: int
    before: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class Held:
    """A try that may not be made yet."""

    wait: int


def wait_after(failures: int, free: int) -> int:
    """Return how many microseconds nobody may try after so many failures.

    >>> [wait_after(failures, free=5) // SECOND for failures in (4, 5, 6, 10, 14, 15, 99)]
    [0, 1, 2, 32, 512, 900, 900]
    """
    if failures < free:
        return 0
    return min(FIRST_WAIT << min(failures - free, 30), LONGEST_WAIT)


def begin(run: Run, now: int, marks: Mapping[bytes, int]) -> Attempt | Held:
    """Count a try under each mark, which has so many free; or say how long to wait."""
    run("DELETE FROM people_attempts WHERE latest < ?", (now - FORGOTTEN_AFTER,))
    found = dict.fromkeys(marks, (0, 0))
    for mark in marks:
        for row in run("SELECT failures, latest FROM people_attempts WHERE mark = ?", (mark,)):
            found[mark] = (row[0], row[1])
    waits = [
        min(latest + wait_after(failures, marks[mark]) - now, LONGEST_WAIT)
        for mark, (failures, latest) in found.items()
        if failures >= marks[mark]
    ]
    if (wait := max(waits, default=0)) > 0:
        return Held(wait)
    for mark in marks:
        run(
            "INSERT INTO people_attempts (mark, failures, latest) VALUES (?, 1, ?)"
            " ON CONFLICT (mark) DO UPDATE SET failures = people_attempts.failures + 1,"
            " latest = excluded.latest",
            (mark, now),
        )
    next_wait = max(wait_after(found[mark][0] + 1, free) for mark, free in marks.items())
    return Attempt(now, next_wait, {mark: latest for mark, (_, latest) in found.items()})


def give_back(run: Run, attempt: Attempt) -> None:
    """Count a try that was right as none."""
    for mark, latest in attempt.before.items():
        run("UPDATE people_attempts SET failures = failures - 1 WHERE mark = ?", (mark,))
        run(
            "UPDATE people_attempts SET latest = ? WHERE mark = ? AND latest = ?",
            (latest, mark, attempt.at),
        )
        run("DELETE FROM people_attempts WHERE mark = ? AND failures <= 0", (mark,))


def forget(run: Run, mark: bytes) -> None:
    """Forget the failures under a mark."""
    run("DELETE FROM people_attempts WHERE mark = ?", (mark,))


def network(address: str) -> str:
    """Return where an address belongs: of IPv6 everybody has 2**64 of them.

    >>> network("2001:db8::1") == network("2001:db8::2"), network("::ffff:192.0.2.7")
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
