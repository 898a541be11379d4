"""Sign-in throttling: count failed attempts per account name and per client network.

After 5 failures of a name, or 20 from a network, the next attempt has to wait: one second at
first, then twice as long after each further failure, up to 15 minutes. The limit means that nobody
can lock another user out for good. Failures are forgotten after an hour.

An attempt is counted before the credentials are checked and uncounted if they are right, so that
many concurrent attempts cannot exceed the limit. Counts are in the database, shared by all servers.
They are stored under keyed hashes: neither names nor addresses are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.identity.roles import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.db import SqlRunner

FREE_ATTEMPTS_PER_NAME: Final = 5
FREE_ATTEMPTS_PER_ADDRESS: Final = 20
"""Higher than per name, because everybody in a hall may share one address."""

FIRST_WAIT_MICROSECONDS: Final = SECOND
MAX_WAIT_MICROSECONDS: Final = 900 * SECOND
FAILURE_LIFETIME_MICROSECONDS: Final = HOUR


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


def count_attempt(
    run: SqlRunner, now: int, free_attempts: Mapping[bytes, int]
) -> CountedAttempt | ThrottleDelay:
    """Count an attempt as a failure of each subject, or return how long it has to wait.

    A subject is the keyed hash of a name or of a network; `free_attempts` gives the number of
    failures that each may have without a wait.
    """
    run("DELETE FROM people_attempts WHERE latest < ?", (now - FAILURE_LIFETIME_MICROSECONDS,))
    failures_and_latest = dict.fromkeys(free_attempts, (0, 0))
    for subject in free_attempts:
        for row in run("SELECT failures, latest FROM people_attempts WHERE mark = ?", (subject,)):
            failures_and_latest[subject] = (row[0], row[1])
    waits = [
        # The maximum also applies if the clock has gone back and `latest` lies in the future.
        min(latest + wait_after(failures, free_attempts[subject]) - now, MAX_WAIT_MICROSECONDS)
        for subject, (failures, latest) in failures_and_latest.items()
        if failures >= free_attempts[subject]
    ]
    if (wait := max(waits, default=0)) > 0:
        return ThrottleDelay(wait)
    for subject in free_attempts:
        run(
            "INSERT INTO people_attempts (mark, failures, latest) VALUES (?, 1, ?)"
            " ON CONFLICT (mark) DO UPDATE SET failures = people_attempts.failures + 1,"
            " latest = excluded.latest",
            (subject, now),
        )
    next_wait = max(
        wait_after(failures_and_latest[subject][0] + 1, free)
        for subject, free in free_attempts.items()
    )
    previous_times = {subject: latest for subject, (_, latest) in failures_and_latest.items()}
    return CountedAttempt(now, next_wait, previous_times)


def wait_after(failures: int, free_attempts: int) -> int:
    """Return the wait in microseconds after a number of failures.

    >>> [wait_after(failures, 5) // SECOND for failures in (4, 5, 6, 10, 14, 15, 99)]
    [0, 1, 2, 32, 512, 900, 900]
    """
    if failures < free_attempts:
        return 0
    return min(FIRST_WAIT_MICROSECONDS << min(failures - free_attempts, 30), MAX_WAIT_MICROSECONDS)


def uncount_attempt(run: SqlRunner, attempt: CountedAttempt) -> None:
    """Take back the count of an attempt that did not fail."""
    for subject, latest in attempt.previous_times.items():
        run("UPDATE people_attempts SET failures = failures - 1 WHERE mark = ?", (subject,))
        run(
            "UPDATE people_attempts SET latest = ? WHERE mark = ? AND latest = ?",
            (latest, subject, attempt.at),
        )
        run("DELETE FROM people_attempts WHERE mark = ? AND failures <= 0", (subject,))


def clear_failures(run: SqlRunner, subject: bytes) -> None:
    """Delete all failures of a subject."""
    run("DELETE FROM people_attempts WHERE mark = ?", (subject,))
