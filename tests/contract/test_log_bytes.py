"""Commands, events and stored formats have the recorded bytes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract import adapter, log_bytes, recordings

RECORDED_COMMANDS = recordings.read_lines(log_bytes.COMMANDS)
RECORDED_FORMATS = recordings.read(log_bytes.FORMATS)


@pytest.mark.parametrize("row", RECORDED_COMMANDS, ids=lambda row: str(row["sent"]["type"]))
def test_command_is_read_hashed_and_written_as_recorded(row: dict[str, Any]) -> None:
    assert log_bytes.command_row(row["sent"]) == row


def test_every_kind_of_command_is_recorded() -> None:
    tags = adapter.command_tags()
    assert {row["sent"]["type"] for row in RECORDED_COMMANDS} == {*tags["table"], *tags["account"]}


def test_events_are_read_chained_and_written_as_recorded() -> None:
    recorded = recordings.read_lines(log_bytes.EVENTS)
    assert log_bytes.event_rows(recorded) == recorded


def test_every_kind_of_event_is_recorded() -> None:
    recorded = recordings.read_lines(log_bytes.EVENTS)
    assert sorted(row["kind"] for row in recorded) == adapter.event_tags()


@pytest.mark.parametrize("part", sorted(RECORDED_FORMATS))
def test_stored_format_is_as_recorded(part: str) -> None:
    assert log_bytes.formats()[part] == RECORDED_FORMATS[part]
