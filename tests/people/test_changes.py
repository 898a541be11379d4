"""What ends a session is heard of, at once here and by polling elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.people.setting import PASSWORD, add
from threedice.errors import StoreAway
from threedice.people import Change, Policy
from threedice.people.changes import KEPT, announce
from threedice.people.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.people.setting import HandClock, Setting
    from threedice.people import People
    from threedice.people.database import Run


class Named(NamedTuple):
    """Whom a digest stands for."""

    id: str
    holder: str


def heard(people: People) -> list[tuple[str, str, str]]:
    """Return a list that fills with what is heard of."""
    told: list[tuple[str, str, str]] = []
    people.changes.listen(lambda each: told.append((each.account, each.session, each.what)))
    return told


def test_whoever_listens_hears_at_once_what_happens_here(people: People) -> None:
    ann = add(people, "ann", "player").id
    one, two = (people.door.sign_in("ann", PASSWORD) for _ in range(2))
    told = heard(people)

    people.sessions.sign_out(one.token)
    people.sessions.lock(two.token)
    opened = people.door.unlock(two.token, password=PASSWORD)
    people.accounts.disable(ann)

    assert told == [
        (ann, one.session.id, "ended"),
        (ann, two.session.id, "locked"),
        (ann, opened.session.id, "rotated"),
        (ann, "", "ended"),
    ]


@pytest.mark.parametrize(
    "revoke",
    [
        lambda people, ann, _: people.accounts.disable(ann),
        lambda people, ann, _: people.accounts.forget(ann),
        lambda people, ann, _: people.accounts.reset_password(ann),
        lambda people, ann, _: people.codes.reset(ann),
        lambda people, ann, _: people.sessions.end_all(ann),
        lambda people, _, token: people.sessions.sign_out(token),
        lambda people, _, token: people.door.change_password(token, PASSWORD, PASSWORD[::-1]),
        lambda people, _, token: people.door.sign_in("ann", PASSWORD, replacing=token),
    ],
)
def test_what_is_revoked_at_one_server_is_worth_nothing_at_another(
    revoke: Callable[[People, str, str], object], people: People, setting: Setting
) -> None:
    other = setting.open(Policy(second_factor=False))
    ann = add(people, "ann", "player").id
    token = people.door.sign_in("ann", PASSWORD).token
    assert other.sessions.recognise(token) is not None
    told = heard(other)

    revoke(people, ann, token)

    assert people.sessions.recognise(token) is None
    other.poll()
    assert other.sessions.recognise(token) is None
    assert [account for account, _, _ in told] == [ann]
    other.poll()
    assert len(told) == 1, "each is told once"


def test_within_a_second_no_server_believes_a_revoked_token_even_if_nobody_polls(
    people: People, setting: Setting
) -> None:
    other = setting.open(Policy(second_factor=False))
    ann = add(people, "ann", "player").id
    token = people.door.sign_in("ann", PASSWORD).token
    assert other.sessions.recognise(token) is not None

    people.sessions.end_all(ann)

    setting.clock.move(1.001)
    assert other.sessions.recognise(token) is None


def test_what_is_remembered_is_not_asked_for_again(people: People) -> None:
    add(people, "ann", "player")
    token = people.door.sign_in("ann", PASSWORD).token
    people.sessions.recognise(token)
    people.records.database.change(lambda run: run("DELETE FROM people_sessions"))

    assert people.sessions.recognise(token) is not None


def test_what_was_read_before_a_change_is_not_remembered_after_it() -> None:
    remembered: Remembered[Named] = Remembered()
    epoch = remembered.epoch
    remembered.hear(Change(1, "ann", "session", "ended"))

    remembered.put(b"digest", Named("session", "ann"), epoch)

    assert remembered.get(b"digest") is None


def test_an_account_disabled_by_hand_is_disabled(people: People, setting: Setting) -> None:
    ann = add(people, "ann", "player").id
    session = people.door.sign_in("ann", PASSWORD).token
    program = people.tokens.make(ann, "robot", ["read"]).token
    people.records.database.change(lambda run: run("UPDATE people_accounts SET enabled = 0"))

    other = setting.open(Policy(second_factor=False))

    assert other.sessions.recognise(session) is None
    assert other.tokens.recognise(program) is None


def test_memory_has_an_end_and_loses_nothing_by_it(
    people: People, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.people.remembered.MOST", 2)
    dan = add(people, "dan", "dealer").id
    sessions = [people.door.sign_in("dan", PASSWORD).token for _ in range(3)]
    programs = [people.tokens.make(dan, "robot", ["read"]).token for _ in range(3)]
    clock.move(20)

    for _ in range(2):
        assert all(map(people.sessions.recognise, sessions))
        assert all(map(people.tokens.recognise, programs))

    clock.move(299)
    assert people.sessions.recognise(sessions[0], touch=False) == people.sessions.of(dan)[0]
    assert {each.standing for each in people.sessions.of(dan)} == {"open"}


def test_only_what_a_change_concerns_is_forgotten(people: People) -> None:
    add(people, "ann", "player")
    bob = add(people, "bob", "player").id
    token = people.door.sign_in("ann", PASSWORD).token
    assert people.sessions.recognise(token) is not None

    people.sessions.end_all(bob)
    people.records.database.change(lambda run: run("DELETE FROM people_sessions"))

    assert people.sessions.recognise(token) is not None


def test_a_server_that_cannot_hear_believes_nothing(people: People, setting: Setting) -> None:
    add(people, "ann", "player")
    token = people.door.sign_in("ann", PASSWORD).token
    assert people.sessions.recognise(token) is not None
    people.records.database.close()
    setting.clock.move(2)

    with pytest.raises(StoreAway):
        people.sessions.recognise(token)


def test_changes_are_numbered_and_asked_for_from_any_number(people: People) -> None:
    ann = add(people, "ann", "player").id
    assert people.changes.changed_since(0) == []
    people.sessions.end_all(ann)
    people.accounts.disable(ann)

    both = people.changes.changed_since(0)
    assert both == [Change(1, ann, "", "ended"), Change(2, ann, "", "ended")]
    assert people.changes.changed_since(1) == both[1:]
    assert people.changes.changed_since(2) == []
    assert people.changes.latest() == 2


def test_whoever_comes_too_late_is_told_to_start_over(people: People, setting: Setting) -> None:
    other = setting.open(Policy(second_factor=False))
    ann = add(people, "ann", "player").id
    token = people.door.sign_in("ann", PASSWORD).token
    assert other.sessions.recognise(token) is not None
    told = heard(other)

    def many(run: Run) -> None:
        sql = "INSERT INTO people_changes (number, account, session, what) VALUES (?, ?, ?, ?)"
        run(sql, (KEPT + 5, "somebody", "", "ended"))
        announce(run, ann, "rights")

    people.sessions.end_all(ann)
    people.records.database.change(many)
    other.poll()

    assert told == [("", "", "ended")]
    assert other.sessions.recognise(token) is None
    assert people.changes.changed_since(3) == [Change(KEPT + 6, "", "", "ended")]
    assert people.changes.changed_since(KEPT + 99) == [Change(KEPT + 6, "", "", "ended")]


def test_one_who_fails_to_listen_keeps_nobody_else_from_hearing(people: People) -> None:
    ann = add(people, "ann", "player").id

    def failing(_: Change) -> None:
        raise ValueError("out of order")

    stop = people.changes.listen(failing)
    told = heard(people)

    with pytest.raises(ExceptionGroup):
        people.accounts.disable(ann)

    assert told == [(ann, "", "ended")]
    stop()
    people.sessions.end_all(ann)
    assert len(told) == 2
