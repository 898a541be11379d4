"""Events as bytes: what was written once is readable for ever."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from threedice.errors import TamperedData
from threedice.house.codec import CURRENT_SCHEMA, EVENT_DECODERS, decode, encode
from threedice.house.events import AnyStreamEvent
from threedice.log.entry import Entry

GOLDEN = Path(__file__).parent / "golden"


class Row(msgspec.Struct):
    kind: str
    schema: int
    data: msgspec.Raw


def entry(kind: str, schema: int, data: bytes) -> Entry:
    return Entry("table/1", 7, 0, kind, schema, data, bytes(32), bytes(32))


def rows(file: Path) -> list[Row]:
    return [msgspec.json.decode(line, type=Row) for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("version", EVENT_DECODERS)
def test_every_event_that_a_version_wrote_can_be_read(version: int) -> None:
    golden = rows(GOLDEN / f"schema-{version}.jsonl")

    for row in golden:
        assert type(decode(entry(row.kind, row.schema, bytes(row.data)))).__name__ == row.kind


def test_every_kind_of_event_is_in_the_golden_log_and_is_written_as_it_was() -> None:
    golden = rows(GOLDEN / f"schema-{CURRENT_SCHEMA}.jsonl")

    assert {row.kind for row in golden} == {kind.__name__ for kind in get_args(AnyStreamEvent)}
    for row in golden:
        record = encode(decode(entry(row.kind, row.schema, bytes(row.data))))
        assert (record.kind, record.schema, record.data) == (row.kind, row.schema, bytes(row.data))


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
def test_bytes_that_are_no_event_are_told_with_their_place(
    kind: str, schema: int, data: bytes, problem: str
) -> None:
    with pytest.raises(TamperedData, match=problem) as found:
        decode(entry(kind, schema, data))
    assert found.value.where == "table/1 version 7"
