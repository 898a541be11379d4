"""Decoding of stored events."""

from __future__ import annotations

import pytest

from threedice.errors import TamperedData
from threedice.house.codec import decode
from threedice.log.entry import Entry


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
