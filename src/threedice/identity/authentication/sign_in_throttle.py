"""Sign-in throttling: count failed attempts per account name, client network and known device.

An attempt from an unknown device counts under the account's name and under the client's network. An
attempt from a known device, and one in a session, counts under that device alone, so that guesses
from elsewhere do not delay it.

After 5 failures of a name, or 4 at a device, the next attempt has to wait: one second at first,
then four times as long after each further failure, up to 15 minutes. That is at most 13 attempts an
hour for a name and 12 at a device, together 25. Failures of a network are forgiven one by one, ten
a minute: a whole gaming hall may share one, and somebody there always mistypes.

An attempt is counted before the credentials are checked and uncounted if they are right, so that
many concurrent attempts cannot exceed the limit. Counts are in the database, shared by all servers.
They are stored under keyed hashes: neither names nor addresses are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from threedice.identity.roles import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.db import SqlRunner

FIRST_WAIT_MICROSECONDS: Final = SECOND
MAX_WAIT_MICROSECONDS: Final = 900 * SECOND
FAILURE_LIFETIME_MICROSECONDS: Final = HOUR


class Allowance(NamedTuple):
    """How many failures a subject may have without a wait.

    `forgiven_after` is the time in microseconds in which one failure is forgiven. If it is 0, they
    are only forgiven all together, after an hour without another one, and the wait grows.
    """

    free_attempts: int
    forgiven_after: int = 0


NAME_ALLOWANCE: Final = Allowance(5)
DEVICE_ALLOWANCE: Final = Allowance(4)
NETWORK_ALLOWANCE: Final = Allowance(40, forgiven_after=6 * SECOND)

NETWORK_CREDIT: Final = 5
"""Failures of a network that the success of an account takes back, once an hour: an intruder who
has an account of their own must not earn guesses by signing in to it."""

DEVICE_CREDIT: Final = 2
"""Failures of a device that a success takes back: those of an owner who mistyped before."""


@dataclass(frozen=True, slots=True)
class CountedAttempt:
    """An attempt that may proceed and has been counted as a failure in advance.

    `wait_microseconds` is the wait before the next attempt if this one fails. `previous_times` has
    the time of the previous failure of each subject, for `uncount_attempt`.
    """

    at: int
    wait_microseconds: int
    previous_times: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class ThrottleDelay:
    """An attempt that may not proceed yet, and how long it has to wait."""

    wait_microseconds: int


def find_delay(
    run: SqlRunner, now: int, allowances: Mapping[bytes, Allowance]
) -> ThrottleDelay | None:
    """Return how long an attempt has to wait, or None; nothing is counted.

    A subject is the keyed hash of a name, a network or a device.
    """
    waits = [
        _wait(allowance, *_read_failures(run, now, subject, allowance), now)
        for subject, allowance in allowances.items()
    ]
    return ThrottleDelay(max(waits)) if max(waits, default=0) > 0 else None


def count_attempt(
    run: SqlRunner, now: int, allowances: Mapping[bytes, Allowance]
) -> CountedAttempt | ThrottleDelay:
    """Count an attempt as a failure of each subject, or return how long it has to wait."""
    run("DELETE FROM people_attempts WHERE latest < ?", (now - FAILURE_LIFETIME_MICROSECONDS,))
    if delay := find_delay(run, now, allowances):
        return delay
    previous_times, next_wait = {}, 0
    for subject, allowance in allowances.items():
        failures, latest = _read_failures(run, now, subject, allowance)
        previous_times[subject] = latest
        # Forgiving goes on from the time up to which failures have been forgiven.
        latest = latest if failures and allowance.forgiven_after else now
        next_wait = max(next_wait, _wait(allowance, failures + 1, latest, now))
        run(
            "INSERT INTO people_attempts (mark, failures, latest) VALUES (?, ?, ?)"
            " ON CONFLICT (mark) DO UPDATE SET failures = excluded.failures,"
            " latest = excluded.latest",
            (subject, failures + 1, latest),
        )
    return CountedAttempt(now, next_wait, previous_times)


def _read_failures(
    run: SqlRunner, now: int, subject: bytes, allowance: Allowance
) -> tuple[int, int]:
    """Return the failures of a subject that are not forgiven yet, and the time of the latest."""
    rows = run("SELECT failures, latest FROM people_attempts WHERE mark = ?", (subject,))
    failures, latest = rows[0] if rows else (0, 0)
    if latest < now - FAILURE_LIFETIME_MICROSECONDS:
        return 0, 0
    if allowance.forgiven_after:
        forgiven = min(failures, max(0, now - latest) // allowance.forgiven_after)
        return failures - forgiven, latest + forgiven * allowance.forgiven_after
    return failures, latest


def _wait(allowance: Allowance, failures: int, latest: int, now: int) -> int:
    """Return how long from now the next attempt of a subject has to wait; 0 or less: not at all."""
    if failures < allowance.free_attempts:
        return 0
    wait = allowance.forgiven_after or wait_after(failures, allowance.free_attempts)
    # The maximum also applies if the clock has gone back and `latest` lies in the future.
    return min(latest + wait - now, MAX_WAIT_MICROSECONDS)


def wait_after(failures: int, free_attempts: int) -> int:
    """Return the wait in microseconds after a number of failures.

    >>> [wait_after(failures, 5) // SECOND for failures in (4, 5, 6, 7, 8, 9, 10, 99)]
    [0, 1, 4, 16, 64, 256, 900, 900]
    """
    if failures < free_attempts:
        return 0
    doublings = min(2 * (failures - free_attempts), 30)
    return min(FIRST_WAIT_MICROSECONDS << doublings, MAX_WAIT_MICROSECONDS)


def uncount_attempt(run: SqlRunner, attempt: CountedAttempt) -> None:
    """Take back the count of an attempt that did not fail."""
    for subject, latest in attempt.previous_times.items():
        if latest:
            sql = "UPDATE people_attempts SET latest = ? WHERE mark = ? AND latest = ?"
            run(sql, (latest, subject, attempt.at))
        lower_failures(run, subject, 1)


def lower_failures(run: SqlRunner, subject: bytes, count: int) -> None:
    """Forgive some failures of a subject."""
    sql = "UPDATE people_attempts SET failures = failures - ? WHERE mark = ?"
    run(sql, (count, subject))
    run("DELETE FROM people_attempts WHERE mark = ? AND failures <= 0", (subject,))


def credit_network(run: SqlRunner, now: int, account_mark: bytes, network: bytes) -> None:
    """Forgive some failures of a network after a success, once an hour for each account."""
    first_in_hour = run(
        "INSERT INTO people_attempts (mark, failures, latest) VALUES (?, 1, ?)"
        " ON CONFLICT (mark) DO NOTHING RETURNING mark",
        (account_mark, now),
    )
    if first_in_hour:
        lower_failures(run, network, NETWORK_CREDIT)
