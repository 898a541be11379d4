"""Sealed dice are drawn without bias and can be checked from the log alone."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from tests.house.house_driver import DEALER, QUICK, SUPERVISOR, ManualClock, start_round
from threedice.errors import StoreUnavailable
from threedice.house import events as house_events
from threedice.house.codec import decode, encode, normalise_command
from threedice.house.dealer.sealed_dice import (
    DiceCheck,
    check_dice,
    closing_key,
    draw_dice,
    seed_commitment,
)
from threedice.house.decisions import HOUSE_ACCOUNT, HOUSE_DEALER
from threedice.house.house import House
from threedice.log.entry import EMPTY_HEAD, Entry, extend_stream, hash_cause
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table import events as table_events
from threedice.table.commands import CloseBetting
from threedice.table.limits import TableLimits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from threedice.log.records import Proposal, ProposalOutcome

SEED = bytes(range(32))


OPENED_AT = 1_000
CLOSED_AT = OPENED_AT + 20_000_000
CLOSING = hash_cause(
    HOUSE_ACCOUNT,
    closing_key("1", 1),
    normalise_command("1", CloseBetting(by=HOUSE_DEALER))[1],
)


def log(*events: object, closed_at: int = CLOSED_AT, cause: bytes = CLOSING) -> list[Entry]:
    """Return entries of a table; the event "dice" stands for dice drawn from the seed."""
    entries: list[Entry] = []
    head, closed = EMPTY_HEAD, b""
    for event in (ESTABLISHED, *events):
        called = table_events.ResultCalled(dice=draw_dice(SEED, closed), call="", by=HOUSE_DEALER)
        stored: Any = called if event == "dice" else event
        closing = isinstance(event, table_events.BettingClosed)
        at = closed_at if closing else max(head.version and entries[-1].at, OPENED_AT)
        why = cause if closing else bytes(32)
        fresh, head = extend_stream(head, "table/1", at, why, [encode(stored)])
        entries += fresh
        closed = head.hash if closing else closed
    return entries


ESTABLISHED = house_events.TableEstablished(
    table="1", game="g", game_hash="00", dealt_by_house=house_events.Timing(), by="s"
)
COMMITTED = house_events.SeedCommitted(round=1, commitment=seed_commitment(SEED))
STARTED = table_events.RoundStarted(round=1, game_hash="00")
OPENED = table_events.BettingOpened(limits=TableLimits(families={}), by=HOUSE_DEALER)
CLOSED = table_events.BettingClosed(by=HOUSE_DEALER)
REVEALED = house_events.SeedRevealed(round=1, seed=SEED.hex())
VOID = table_events.RoundVoided(round=1, cause="c", bets="returned", returned=[], by=HOUSE_DEALER)
WRONG = table_events.ResultCalled(dice=(1, 1, 1), call="", by=HOUSE_DEALER)


def test_dice_drawn_from_the_committed_seed_and_the_bets_pass_the_check() -> None:
    entries = log(COMMITTED, STARTED, OPENED, CLOSED, REVEALED, "dice")
    (checked,) = check_dice(entries)
    assert checked == DiceCheck(1, draw_dice(SEED, entries[4].hash))


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ((COMMITTED, STARTED, OPENED, CLOSED, REVEALED, WRONG), "do not follow"),
        ((STARTED, OPENED, CLOSED, REVEALED, "dice"), "no seed was committed"),
        ((STARTED, OPENED, COMMITTED, CLOSED, REVEALED, "dice"), "after betting had opened"),
        ((COMMITTED, STARTED, OPENED, CLOSED, "dice"), "before the seed was revealed"),
        (
            (
                house_events.SeedCommitted(round=1, commitment="00"),
                STARTED,
                OPENED,
                CLOSED,
                REVEALED,
                "dice",
            ),
            "not the one that was committed",
        ),
        (
            (
                COMMITTED,
                STARTED,
                OPENED,
                CLOSED,
                house_events.SeedRevealed(round=1, seed="xyz"),
                "dice",
            ),
            "not the one that was committed",
        ),
        ((COMMITTED, STARTED, OPENED, house_events.SeedLost(round=1), VOID), "never drawn from"),
        ((COMMITTED, STARTED, OPENED, VOID), "never drawn from"),
        ((COMMITTED, STARTED, OPENED, CLOSED, VOID), "never drawn from"),
        ((COMMITTED, STARTED, REVEALED, "dice"), "do not follow"),
    ],
)
def test_dice_without_a_committed_and_revealed_seed_fail_the_check(
    events: tuple[object, ...], problem: str
) -> None:
    (checked,) = check_dice(log(*events))
    assert problem in checked.problem


@pytest.mark.parametrize(
    "choice",
    [
        {"closed_at": CLOSED_AT + 1},
        {"closed_at": CLOSED_AT - 1},
        {"cause": hash_cause(HOUSE_ACCOUNT, "another key", bytes(32))},
    ],
)
def test_betting_closed_at_another_time_or_by_another_command_fails_the_check(
    choice: dict[str, Any],
) -> None:
    entries = log(COMMITTED, STARTED, OPENED, CLOSED, REVEALED, "dice", **choice)
    (checked,) = check_dice(entries)
    assert checked.problem == (
        "betting was not closed at the prescribed time or not by the prescribed command"
    )


DEALT = (COMMITTED, STARTED, OPENED, CLOSED, REVEALED, "dice")


@pytest.mark.parametrize(
    "other",
    [
        table_events.ResultCalled(dice=(1, 1, 1), call="", by=HOUSE_DEALER),
        table_events.ResultEntered(dice=(1, 1, 1), by=HOUSE_DEALER),
        table_events.ResultEntered(dice=(1, 1, 1), by=DEALER),
        table_events.ResultAmended(dice=(1, 1, 1), by=DEALER, approved_by=SUPERVISOR),
        table_events.WinnersPaid(round=1, dice=(1, 1, 1), bets=[]),
    ],
)
def test_dice_entered_amended_or_paid_differently_from_the_call_fail_the_check(
    other: object,
) -> None:
    fair = decode(log(*DEALT)[-1])
    assert isinstance(fair, table_events.ResultCalled)
    for events in (
        (*DEALT, other),
        (*DEALT, other, table_events.RoundStarted(round=2, game_hash="00")),
    ):
        (checked,) = check_dice(log(*events))
        assert checked.dice == fair.dice != (1, 1, 1)
        assert "1 1 1 were used instead" in checked.problem


def test_dice_entered_and_paid_as_called_pass_the_check() -> None:
    called = decode(log(*DEALT)[-1])
    assert isinstance(called, table_events.ResultCalled)
    entered = table_events.ResultEntered(dice=called.dice, by=HOUSE_DEALER)
    paid = table_events.WinnersPaid(round=1, dice=called.dice, bets=[])
    assert list(check_dice(log(*DEALT, entered, paid))) == [DiceCheck(1, called.dice)]


def test_dice_paid_without_a_call_are_checked() -> None:
    paid = table_events.WinnersPaid(round=1, dice=(1, 1, 1), bets=[])
    (checked,) = check_dice(log(COMMITTED, STARTED, OPENED, CLOSED, REVEALED, paid))
    assert "do not follow" in checked.problem


@pytest.mark.parametrize(
    "dice", [WRONG, table_events.WinnersPaid(round=1, dice=(1, 1, 1), bets=[])]
)
def test_automatic_dice_without_a_seed_fail_the_check(dice: object) -> None:
    (checked,) = check_dice(log(STARTED, OPENED, CLOSED, dice))
    assert checked == DiceCheck(1, (1, 1, 1), "no seed was committed to")


def test_rounds_dealt_by_people_are_not_checked() -> None:
    called = table_events.ResultCalled(dice=(1, 1, 1), call="", by=DEALER)
    paid = table_events.WinnersPaid(round=1, dice=(1, 1, 1), bets=[])
    assert list(check_dice(log(STARTED, OPENED, CLOSED, called, paid))) == []


def test_tables_dealt_by_people_are_not_checked() -> None:
    called = table_events.ResultCalled(dice=(1, 1, 1), call="", by=DEALER)
    paid = table_events.WinnersPaid(round=1, dice=(1, 1, 1), bets=[])
    theirs = structs.replace(ESTABLISHED, dealt_by_house=None)
    assert list(check_dice(log(theirs, STARTED, OPENED, CLOSED, called, paid))) == []
    assert list(check_dice(log(theirs, STARTED, OPENED, CLOSED, paid))) == []


def test_faces_are_drawn_without_bias() -> None:
    """Compare the frequency of each face with a sixth, within five standard deviations."""
    rolls = 20_000
    faces = Counter(
        face for i in range(rolls) for face in draw_dice(SEED, sha256(str(i).encode()).digest())
    )
    expected, deviation = rolls * 3 / 6, (rolls * 3 * 5 / 36) ** 0.5
    assert sorted(faces) == [1, 2, 3, 4, 5, 6]
    assert all(abs(count - expected) < 5 * deviation for count in faces.values())


def test_dice_depend_on_the_seed_and_on_the_last_entry_hash() -> None:
    heads = [sha256(str(i).encode()).digest() for i in range(200)]
    assert len({draw_dice(SEED, head) for head in heads}) > 50
    assert len({draw_dice(head, SEED) for head in heads}) > 50


@pytest.mark.anyio
async def test_round_voided_during_betting_is_reported_as_never_drawn(tmp_path: Path) -> None:
    store, clock = MemoryStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, _ = await start_round(house, clock)
        await people.send(commands.CloseTable(by=SUPERVISOR))

    (checked,) = check_dice(store.scan("table/1"))
    assert (checked.round, checked.dice) == (1, None)
    assert "never drawn" in checked.problem


class UnavailableStore(MemoryStore):
    """A store that can be unavailable."""

    is_unavailable = False

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        if self.is_unavailable:
            raise StoreUnavailable("the database does not answer")
        return super().write(proposals)


@pytest.mark.anyio
async def test_late_bet_that_was_not_written_does_not_delay_the_close(tmp_path: Path) -> None:
    store, clock = UnavailableStore(), ManualClock()
    async with House("memory:", store=store, state_dir=tmp_path, runtime=clock) as house:
        people, watch = await start_round(house, clock)
        clock.time += int((QUICK.betting_seconds + 0.3) * 1e6)  # the dealer is about to wake
        store.is_unavailable = True
        with pytest.raises(StoreUnavailable):
            await people.bet("ann", 5, "big")
        store.is_unavailable = False
        clock.move(0)
        await watch.until("1", lambda t: "close-betting" in t.table.current.done)
        clock.move(QUICK.closing_seconds)
        await watch.until("1", lambda t: t.table.current.called is not None)

    (checked,) = check_dice(store.scan("table/1"))
    assert checked.problem == ""
