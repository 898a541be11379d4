"""Audiences of events and views: players see the felt, the totals and their own bets only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.likely_commands import PLAYERS
from tests.properties.random_table import RandomTable
from threedice import load
from threedice.api.auth.audiences import (
    event_for_player,
    player_events,
    public_event,
    spot_total_changes,
)
from threedice.api.live.channel import split_entries
from threedice.api.live.messages import encode_for_audiences
from threedice.api.views import TableView, build_table_view
from threedice.house import events as house_events
from threedice.house.codec import encode
from threedice.house.events import TableStreamEvent
from threedice.house.stream_state import HouseTable, fold_of
from threedice.log.entry import EMPTY_HEAD, Entry, extend_stream
from threedice.table import events as table_events
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threedice.table.limits import LimitMode

GAMES = ["sg-rws-tai-sai-v6/a", "sg-rws-tai-sai-v6/e", "nz-tai-sai-2008/2", "triple-dice/mat"]
SHOOTERS = (
    table_events.DiceOffered,
    table_events.DiceChosen,
    table_events.ShooterAdvanced,
    table_events.ShooterWon,
    table_events.ShooterLost,
    table_events.ShooterRestored,
)
"""Events that name the shooter, who is public."""

STEPS = 150


def drive(game: str, mode: LimitMode, seed: int) -> list[table_events.AnyEvent]:
    driven = RandomTable(load(game), mode, seed)
    for _ in range(STEPS):
        driven.step()
    return driven.events


plays = st.builds(
    drive,
    st.sampled_from(GAMES),
    st.sampled_from(cast("list[LimitMode]", ["refuse", "record"])),
    st.integers(0, 2**32),
)
quick = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


def test_every_event_declares_its_audience() -> None:
    for kind in TableStreamEvent.__args__:
        audience, fields = kind.audience, set(kind.__struct_fields__)
        assert {*audience.hidden, *audience.lists, *audience.others} <= fields, kind
        if audience.others or audience.seen_by == "its player":
            assert "player" in fields, kind


def test_public_events_declare_all_their_lists_of_players() -> None:
    for kind in TableStreamEvent.__args__:
        fields = msgspec.structs.fields(kind)
        lists = {each.name for each in fields if "tuple[str" in str(each.type)}
        audience = kind.audience
        redacted = {*audience.lists, *audience.hidden, *audience.others}
        assert audience.seen_by != "everybody" or lists <= redacted, kind


@given(plays)
@quick
def test_player_events_never_name_another_player(
    events: list[table_events.AnyEvent],
) -> None:
    viewer, others = PLAYERS[0], PLAYERS[1:]
    for event in events:
        seen = event_for_player(event, viewer)
        if seen is None or isinstance(seen, SHOOTERS):
            continue
        content = msgspec.json.encode(without_actors(seen))
        assert not [name for name in others if f'"{name}"'.encode() in content], content


def test_void_round_shows_players_only_their_own_bets_that_were_put_back() -> None:
    by = Actor(id="dealer", role="dealer")
    stood = table_events.RoundVoided(round=1, cause="x", bets="stand", returned=[], by=by)
    restored = [("big", player, 5) for player in PLAYERS[:2]]
    put_back = msgspec.structs.replace(stood, restored=restored)

    assert event_for_player(stood, PLAYERS[0]) == stood
    assert event_for_player(put_back, PLAYERS[0]) == msgspec.structs.replace(
        stood, restored=restored[:1]
    )
    assert event_for_player(put_back, "zoe") == msgspec.structs.replace(stood, restored=[])


def without_actors(event: Any) -> dict[str, Any]:
    """Return the fields of an event, except for the staff who acted and the shooter."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    return {name: each for name, each in fields.items() if not _is_actor(each)}


def _is_actor(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"id", "role"}


@given(plays)
@quick
def test_player_events_do_not_reveal_which_other_player_acted(
    events: list[table_events.AnyEvent],
) -> None:
    """Events look the same when two other players swap places."""
    viewer, one, other = PLAYERS[0], PLAYERS[1], PLAYERS[2]
    for event in events:
        if isinstance(event, SHOOTERS):
            continue
        swapped = rename_players(event, {one: other, other: one})
        assert content_of(event_for_player(swapped, viewer)) == content_of(
            event_for_player(event, viewer)
        )
        assert spot_total_changes(swapped) == spot_total_changes(event)


@given(plays, st.integers(1, 10**9))
@quick
def test_player_events_do_not_reveal_winnings_or_stacks_of_others(
    events: list[table_events.AnyEvent], more: int
) -> None:
    viewer = PLAYERS[0]
    for event in events:
        assert event_for_player(enrich_others(event, viewer, more), viewer) == event_for_player(
            event, viewer
        )


def content_of(event: Any) -> dict[str, Any] | None:
    return None if event is None else without_actors(event)


def rename_players(event: table_events.AnyEvent, names: dict[str, str]) -> table_events.AnyEvent:
    """Return an event with the names of players replaced everywhere."""

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [change(each) for each in value]
        return names.get(value, value) if isinstance(value, str) else value

    changed = change(msgspec.to_builtins(event))
    return msgspec.convert(changed, type(event))


def enrich_others(event: table_events.AnyEvent, viewer: str, more: int) -> table_events.AnyEvent:
    """Return an event in which the other players win, buy and carry away more."""
    match event:
        case (
            table_events.BoughtIn()
            | table_events.CashedOut()
            | table_events.RulingMade()
            | table_events.BetCorrected()
        ):
            if event.player != viewer:
                return msgspec.structs.replace(event, amount=event.amount + more)
        case table_events.AreaPaid() | table_events.WinnersPaid():
            paid = [
                (spot, who, stake, won + (more if who != viewer else 0))
                for spot, who, stake, won in event.bets
            ]
            return msgspec.structs.replace(event, bets=paid)
        case table_events.TableClosed():
            carried = [
                (who, amount + (more if who != viewer else 0)) for who, amount in event.carried_away
            ]
            return msgspec.structs.replace(event, carried_away=carried)
        case table_events.ShooterWon() if event.player != viewer:
            return msgspec.structs.replace(event, winnings=event.winnings + more)
        case _:
            pass
    return event


@given(plays)
@quick
def test_player_events_together_cover_every_bet_paid(
    events: list[table_events.AnyEvent],
) -> None:
    for event in events:
        for player, seen in player_events(event).items():
            assert player.encode() in msgspec.json.encode(seen)
        assert player_events(event, (PLAYERS[0],)).keys() <= {PLAYERS[0]}
        assert player_events(event, PLAYERS) == player_events(event)
        if isinstance(event, table_events.AreaPaid | table_events.WinnersPaid):
            shares = [bet for seen in player_events(event).values() for bet in bets_of(seen)]
            assert sorted(shares) == sorted(event.bets)


def bets_of(event: Any) -> list[Any]:
    bets: list[Any] = event.bets
    return bets


def test_float_drop_and_reasons_are_hidden_from_players() -> None:
    by = Actor(id="sue", role="supervisor")
    released = table_events.TableReleased(reason="ann complained about bob", by=by)
    assert public_event(released) == table_events.TableReleased(reason="", by=by)
    closed = table_events.TableClosed(carried_away=[("ann", 5)], float_amount=9, drop=3, by=by)
    assert public_event(closed) == table_events.TableClosed(
        carried_away=[], float_amount=0, drop=0, by=by
    )
    assert player_events(closed) == {"ann": replace_fields(closed, float_amount=0, drop=0)}
    assert public_event(table_events.FloatFilled(amount=1, by=by)) is None
    notice = house_events.PlayersNotified(round=1, players=["ann", "bob"], outcome="void")
    assert player_events(notice)["bob"] == replace_fields(notice, players=["bob"])
    assert public_event(notice) == replace_fields(notice, players=[])


def replace_fields(event: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(event, **changes)


# --- views --------------------------------------------------------------------------------------


def entries_of(events: Sequence[table_events.AnyEvent]) -> tuple[Entry, ...]:
    entries, _ = extend_stream(EMPTY_HEAD, "table/1", 1, b"", map(encode, events))
    return tuple(entries)


def states(
    events: Sequence[table_events.AnyEvent],
) -> Iterator[tuple[int, HouseTable, table_events.AnyEvent]]:
    fold, house_table = fold_of("table/1"), HouseTable(id="1")
    for version, event in enumerate(events, start=1):
        fold.evolve(house_table, event, version, version)
        yield version, house_table, event


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("mode", ["refuse", "record"])
def test_totals_folded_from_events_match_the_table_view(game: str, mode: LimitMode) -> None:
    """A client that reads the view once and applies every change has the current totals."""
    rules, totals, standing = load(game), dict[str, int](), dict[str, int]()
    for _, house_table, event in states(drive(game, mode, 7)):
        totals, standing = fold_totals(event, totals, standing)
        shown = build_table_view(rules, house_table, 1, "player", PLAYERS[0])
        assert {spot: total for spot, total in totals.items() if total} == (
            shown.round.totals if shown.round else {}
        )


def fold_totals(
    event: table_events.AnyEvent, totals: dict[str, int], standing: dict[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Apply an event to the totals of a client."""
    match event:
        case table_events.RoundStarted():
            return standing, {}
        case table_events.RoundVoided():
            return {}, totals if event.bets == "stand" else {}
        case table_events.WinnersPaid() | table_events.TableClosed():
            return {}, {}
        case _:
            for spot, change in spot_total_changes(event).items():
                totals[spot] = totals.get(spot, 0) + change
            return totals, standing


@pytest.mark.parametrize("game", GAMES)
def test_table_view_shows_players_their_own_seat_and_staff_all_seats(game: str) -> None:
    rules = load(game)
    seated = 0
    for version, house_table, _ in states(drive(game, "record", 3)):
        mine = build_table_view(rules, house_table, version, "player", PLAYERS[0])
        assert set(mine.seats) <= {PLAYERS[0]}
        assert (mine.float_amount, mine.drop) == (None, None)
        staffs = build_table_view(rules, house_table, version, "staff")
        assert set(staffs.seats) == set(house_table.table.seats)
        assert staffs.float_amount == house_table.table.float_amount
        assert build_table_view(rules, house_table, version, "player").seats == {}
        seated += len(mine.seats)
    assert seated


@pytest.mark.parametrize("game", GAMES)
def test_player_view_does_not_depend_on_stacks_of_others(game: str) -> None:
    rules, viewer = load(game), PLAYERS[0]
    for version, house_table, _ in states(drive(game, "refuse", 11)):
        mine = encoded(build_table_view(rules, house_table, version, "player", viewer))
        kept = {name: (seat.stack, seat.at_risk) for name, seat in house_table.table.seats.items()}
        for name, seat in house_table.table.seats.items():
            if name != viewer:
                seat.stack += 777
        house_table.table.float_amount -= 777
        assert encoded(build_table_view(rules, house_table, version, "player", viewer)) == mine
        for name, (stack, at_risk) in kept.items():
            house_table.table.seats[name] = replace(
                house_table.table.seats[name], stack=stack, at_risk=at_risk
            )
        house_table.table.float_amount += 777


def encoded(shown: TableView) -> bytes:
    return msgspec.json.encode(shown)


# --- encoded messages ---------------------------------------------------------------------------


def events_in(text: str) -> list[dict[str, Any]]:
    message = msgspec.json.decode(text)
    assert message["type"] == "events"
    events: list[dict[str, Any]] = message["events"]
    return events


@pytest.mark.parametrize("game", GAMES)
def test_each_audience_receives_every_version_exactly_once(game: str) -> None:
    entries = entries_of(drive(game, "refuse", 5))
    whole = encode_for_audiences(entries, staff=True, players=PLAYERS)
    assert [each["version"] for each in events_in(whole.staff.text)] == list(
        range(1, len(entries) + 1)
    )
    for player in (*PLAYERS, ""):
        alone = [
            item
            for chunk in split_entries(entries)
            for item in events_in(
                encode_for_audiences(chunk, staff=False, players=(player,))
                .message_for("player", player)
                .text
            )
        ]
        assert alone == events_in(whole.message_for("player", player).text)
        assert [each["version"] for each in alone] == list(range(1, len(entries) + 1))


def test_staff_receive_events_as_stored() -> None:
    entries = entries_of(drive(GAMES[0], "record", 9))
    items = events_in(encode_for_audiences(entries, staff=True, players=()).staff.text)
    assert [each["event"] for each in items] == [msgspec.json.decode(each.data) for each in entries]


def test_unaffected_players_share_one_encoded_message() -> None:
    by = Actor(id="ann", role="player")
    placed = table_events.BetPlaced(
        player="ann", spot="big", area="", amount=50, number=1, manner="self", by=by
    )
    messages = encode_for_audiences(
        entries_of([placed]), staff=False, players=("ann", "bob", "cat")
    )
    assert messages.message_for("player", "bob") is messages.message_for("player", "cat")
    (own,), (others,) = (
        events_in(messages.message_for("player", "ann").text),
        events_in(messages.message_for("player", "bob").text),
    )
    assert own["event"]["player"] == "ann"
    assert others["event"] is None
    assert own["totals"] == others["totals"] == {"big": 50}
