"""Decoding of stored events."""

from __future__ import annotations

import pytest

from threedice.errors import InvalidInput, TamperedData
from threedice.house.codec import decode, normalise_command
from threedice.log.entry import Entry
from threedice.table import events
from threedice.table.commands import AbandonRound, Actor


def entry(kind: str, schema: int, data: bytes) -> Entry:
    return Entry("table/1", 7, 0, kind, schema, data, bytes(32), bytes(32))


@pytest.mark.parametrize(
    ("kind", "schema", "data", "problem"),
    [
        ("SeedLost", 99, b'{"type":"SeedLost","round":1}', "schema 99 is unknown"),
        ("SeedLost", 1, b'{"type":"SeedLost","round":"x"}', "not an event"),
        ("SeedLost", 1, b"\xff", "not an event"),
        ("SeedLost", 1, b'{"type":"SeedLost","round":1,"more":2}', "not an event"),
        ("SeedLost", 1, b'{"type":"KeyPressed","key":1}', "a KeyPressed is stored as SeedLost"),
    ],
)
def test_undecodable_entry_is_reported_with_its_stream_and_version(
    kind: str, schema: int, data: bytes, problem: str
) -> None:
    with pytest.raises(TamperedData, match=problem) as found:
        decode(entry(kind, schema, data))
    assert found.value.where == "table/1 version 7"


@pytest.mark.parametrize("player", [r"zed\n", r"\u202edez", "..", "console", r"ze\u0301d"])
def test_event_of_an_old_log_with_a_deceptive_id_is_decoded(player: str) -> None:
    data = b'{"type":"BoughtIn","player":"%b","amount":5,"source":"cash"}' % player.encode()
    decoded = decode(entry("BoughtIn", 1, data))
    assert isinstance(decoded, events.BoughtIn)
    assert decoded.player.encode() == player.encode().decode("unicode_escape").encode()


def test_spellings_of_a_text_that_look_the_same_are_one_command() -> None:
    by = Actor(id="d", role="dealer")
    composed, decomposed = (
        normalise_command("1", AbandonRound(by=by, reason=reason))
        for reason in ("\u00eb", "e\u0308")
    )
    assert composed == decomposed


@pytest.mark.parametrize(
    "character", ["\x00", "\n", "\x7f", "\x9f", "\u200d", "\u2066", "\U000f0000"]
)
def test_command_with_a_deceptive_character_is_rejected(character: str) -> None:
    command = AbandonRound(by=Actor(id="d", role="dealer"), reason=f"a{character}b")
    with pytest.raises(InvalidInput, match=rf"U\+{ord(character):04X}"):
        normalise_command("1", command)
