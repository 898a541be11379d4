"""Sign-in throttling: waiting time after failed attempts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threedice.db.sqlite import SqliteDatabase
from threedice.identity.authentication.sign_in_throttle import (
    DEVICE_ALLOWANCE,
    FAILURE_LIFETIME_MICROSECONDS,
    MAX_WAIT_MICROSECONDS,
    NAME_ALLOWANCE,
    NETWORK_ALLOWANCE,
    Allowance,
    CountedAttempt,
    ThrottleDelay,
    count_attempt,
    find_delay,
    lower_failures,
    uncount_attempt,
    wait_after,
)
from threedice.identity.roles import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME, ADDRESS = b"name", b"address"


@pytest.fixture
def database() -> Iterator[SqliteDatabase]:
    made = empty_database()
    yield made
    made.close()


def empty_database() -> SqliteDatabase:
    made = SqliteDatabase(None)
    made.prepare_tables("create", needed="people_attempts")
    return made


def attempt(
    database: SqliteDatabase, now: int, free: dict[bytes, int]
) -> CountedAttempt | ThrottleDelay:
    allowances = {subject: Allowance(attempts) for subject, attempts in free.items()}
    return database.transact(lambda run: count_attempt(run, now, allowances))


def attempt_under(
    database: SqliteDatabase, now: int, allowance: Allowance
) -> CountedAttempt | ThrottleDelay:
    return database.transact(lambda run: count_attempt(run, now, {NAME: allowance}))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 20 * 60 * SECOND), max_size=60))
@pytest.mark.parametrize(
    ("allowance", "most"), [(NAME_ALLOWANCE, 13), (DEVICE_ALLOWANCE, 12)], ids=["name", "device"]
)
def test_attempts_counted_in_an_hour_are_limited(
    allowance: Allowance, most: int, pauses: list[int]
) -> None:
    database, now, made = empty_database(), HOUR, []
    for pause in pauses:
        now += pause
        match attempt_under(database, now, allowance):
            case CountedAttempt():
                made.append(now)
            case ThrottleDelay(wait):
                assert 0 < wait <= MAX_WAIT_MICROSECONDS
    database.close()

    for start in made:
        assert sum(start <= each < start + HOUR for each in made) <= most


def test_a_name_and_a_device_together_have_25_attempts_an_hour(database: SqliteDatabase) -> None:
    made = 0
    for allowance in (NAME_ALLOWANCE, DEVICE_ALLOWANCE):
        now = HOUR
        while now < 2 * HOUR:
            match attempt_under(database, now, allowance):
                case CountedAttempt():
                    made += 1
                case ThrottleDelay(wait):
                    now += wait
        database.transact(lambda run: lower_failures(run, NAME, 99))

    assert made == 25


def test_failures_of_a_network_are_forgiven_one_by_one(database: SqliteDatabase) -> None:
    now, free, pause = HOUR, NETWORK_ALLOWANCE.free_attempts, NETWORK_ALLOWANCE.forgiven_after
    for _ in range(free):
        assert isinstance(attempt_under(database, now, NETWORK_ALLOWANCE), CountedAttempt)
    for later in range(1, 100):
        now = HOUR + later * pause
        early = attempt_under(database, now - 1, NETWORK_ALLOWANCE)
        assert early == ThrottleDelay(1), "no failure is forgiven early"
        assert isinstance(attempt_under(database, now, NETWORK_ALLOWANCE), CountedAttempt)

    assert find_delay(database.query, now, {NAME: NETWORK_ALLOWANCE}) == ThrottleDelay(pause)
    assert find_delay(database.query, now + pause, {NAME: NETWORK_ALLOWANCE}) is None


@given(st.integers(0, 10_000), st.integers(1, 50))
def test_waiting_time_grows_with_failures_up_to_a_limit(failures: int, free: int) -> None:
    assert (
        0 <= wait_after(failures, free) <= wait_after(failures + 1, free) <= MAX_WAIT_MICROSECONDS
    )
    assert (wait_after(failures, free) > 0) == (failures >= free)


def test_attempt_after_the_announced_wait_is_allowed(database: SqliteDatabase) -> None:
    now = HOUR
    for _ in range(20):
        while isinstance(outcome := attempt(database, now, {NAME: 5}), ThrottleDelay):
            assert isinstance(
                attempt(database, now + outcome.wait_microseconds - 1, {NAME: 5}), ThrottleDelay
            )
            now += outcome.wait_microseconds
        assert isinstance(outcome, CountedAttempt)


def test_successful_attempt_is_not_counted(database: SqliteDatabase) -> None:
    free = {NAME: 2, ADDRESS: 5}
    attempt(database, HOUR, free)
    for later in range(1, 50):
        right = attempt(database, HOUR + later, free)
        assert isinstance(right, CountedAttempt)
        database.transact(partial(uncount_attempt, attempt=right))

    assert database.query("SELECT mark, failures, latest FROM people_attempts ORDER BY mark") == [
        (ADDRESS, 1, HOUR),
        (NAME, 1, HOUR),
    ]


def test_failures_expire_or_can_be_lowered(database: SqliteDatabase) -> None:
    for _ in range(2):
        attempt(database, HOUR, {NAME: 2})
    assert isinstance(attempt(database, HOUR, {NAME: 2}), ThrottleDelay)
    database.transact(lambda run: lower_failures(run, NAME, 5))
    for _ in range(2):
        assert isinstance(attempt(database, HOUR, {NAME: 2}), CountedAttempt)

    attempt(database, HOUR + FAILURE_LIFETIME_MICROSECONDS + 1, {b"other": 2})

    assert database.query("SELECT mark FROM people_attempts") == [(b"other",)]


def test_clock_set_back_does_not_lengthen_the_wait(database: SqliteDatabase) -> None:
    for _ in range(2):
        attempt(database, 100 * HOUR, {NAME: 2})

    held = attempt(database, HOUR, {NAME: 2})

    assert isinstance(held, ThrottleDelay)
    assert held.wait_microseconds <= MAX_WAIT_MICROSECONDS
