"""The bytes that the log is made of: commands, events, hashes, answers, checkpoints, keys."""

from __future__ import annotations

import json
from typing import Any

from tests.contract import adapter, recordings

COMMANDS, EVENTS, FORMATS = "commands.jsonl", "events.jsonl", "formats.json"

TABLE, STREAM, AT = "1", "table/1", 1_800_000_000_000_000
PRIVATE_KEY = bytes(range(32))
SPANS = '[["table/1",3,7],["cage/p1",2,2]]'
CHECKPOINT = {
    "number": 2,
    "at": AT,
    "previous": "ab" * 32,
    "full": True,
    "heads": {"table/1": [7, "cd" * 32], "cage/p1": [2, "ef" * 32]},
}
PUBLIC_KEY = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")


def command_row(command: dict[str, Any]) -> dict[str, Any]:
    """Return a command with its stored bytes and hash."""
    table = "" if command["type"] in adapter.command_tags()["account"] else TABLE
    stored, digest = adapter.command_bytes(table, json.dumps(command).encode())
    return {"sent": command, "stored": stored.decode(), "hash": digest.hex()}


def event_rows(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events as the rows of one stream, each with its chained hash."""
    rows, previous = [], bytes(32)
    cause = adapter.cause_hash("p1", "key-1", bytes(range(32)))
    for version, event in enumerate(events, start=1):
        kind, schema, data = adapter.event_bytes(
            event["kind"], event["schema"], event["data"].encode()
        )
        previous = adapter.entry_hash(
            previous, STREAM, version, AT + version, kind, schema, data, cause
        )
        rows.append({"kind": kind, "schema": schema, "data": data.decode(), "hash": previous.hex()})
    return rows


def formats() -> dict[str, Any]:
    """Return format numbers, codes, tags and the encodings that are not events or commands."""
    key_id = json.loads(adapter.signed_checkpoint(PRIVATE_KEY, CHECKPOINT))["key_id"]
    exported = json.dumps([{"key_id": key_id, "public": PUBLIC_KEY.hex()}]).encode()
    return {
        "versions": adapter.format_versions(),
        "commands": adapter.command_tags(),
        "events": adapter.event_tags(),
        "codes": adapter.problem_codes(),
        "games": adapter.game_hashes(),
        "bytes": {
            "answer spans": adapter.answer_spans(SPANS.encode()).decode(),
            "checkpoint": adapter.signed_checkpoint(PRIVATE_KEY, CHECKPOINT).decode(),
            "exported keys": adapter.exported_keys(exported).decode(),
            "cause": adapter.cause_hash("p1", "key-1", bytes(32)).hex(),
        },
    }


def record() -> None:
    """Record commands, events and formats.

    Recorded commands and events stay as they are; an arbitrary one of each new kind is added.
    """
    commands, events = recordings.read_lines(COMMANDS), recordings.read_lines(EVENTS)
    tags = adapter.command_tags()
    new_commands = {*tags["table"], *tags["account"]} - {row["sent"]["type"] for row in commands}
    samples = [json.loads(data) for _, _, data in adapter.samples(new_commands)]
    recordings.write_lines(
        COMMANDS, [command_row(each) for each in [*(row["sent"] for row in commands), *samples]]
    )
    new_events = set(adapter.event_tags()) - {row["kind"] for row in events}
    events += [
        {"kind": kind, "schema": schema, "data": data.decode()}
        for kind, schema, data in adapter.samples(new_events)
    ]
    recordings.write_lines(EVENTS, event_rows(events))
    recordings.write(FORMATS, formats())
