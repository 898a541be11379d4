"""Tables in chips that older versions recorded are judged by the rules of their time.

They raised returns over a limit to what the rack could make, and the float owed for coloured chips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from tests.contract import recordings
from threedice import load
from threedice.house.codec import decode, encode
from threedice.house.reports.projection import StatementProjector
from threedice.house.stream_state import StreamBalances, fold_of
from threedice.log.entry import Entry
from threedice.table import BetRef, explain

if TYPE_CHECKING:
    from threedice.table.events import AnyEvent

STREAM, AT = "table/1", 1_800_000_000_000_000

RECORDED: dict[str, Any] = recordings.read("older-chip-tables.json")
"""By table: its game, its events, the statement rows of that time, and the explanation of a bet."""


def stored_entries(table: dict[str, Any]) -> list[Entry]:
    """Return the recorded events as entries of a stream."""
    return [
        Entry(STREAM, version, AT + version, each["type"], 1, msgspec.json.encode(each), b"", b"")
        for version, each in enumerate(table["events"], start=1)
    ]


@pytest.mark.parametrize("name", RECORDED)
def test_older_table_in_chips_replays_with_its_balances_and_bytes(name: str) -> None:
    entries = stored_entries(RECORDED[name])
    fold = fold_of(STREAM)
    state = fold.state_type()
    balances = StreamBalances(STREAM, fold, state)
    for entry in entries:
        event = decode(entry)
        fold.evolve(state, event, entry.at, entry.version)
        balances.post(event, state)
        assert msgspec.json.decode(encode(event).data) == msgspec.json.decode(entry.data)
    balances.compare_all(state)
    assert "colours" not in balances.balances


@pytest.mark.parametrize("name", RECORDED)
def test_statement_rows_of_an_older_table_in_chips_are_those_of_its_time(name: str) -> None:
    table = RECORDED[name]
    projector = StatementProjector(STREAM, lambda _: load(table["game"]))
    rows = [
        [line.subject, msgspec.json.decode(line.data)]
        for entry in stored_entries(table)
        for line in projector.project(entry, decode(entry))
    ]
    assert rows == table["rows"]


def test_explanation_of_a_raised_return_says_so_as_at_its_time() -> None:
    table = RECORDED["pro-rata"]
    history = cast("list[AnyEvent]", [decode(entry) for entry in stored_entries(table)])
    number, player, spot = table["bet"]

    words = explain(load(table["game"]), history, BetRef(number, player, spot))

    assert words == table["explained"]
    assert "No chips make the 150 to return, so the next higher amount goes back." in words
