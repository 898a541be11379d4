"""Everything that the contract tests import from the package, in one place.

Modules, classes and functions may be renamed; this file follows. The recordings may not change.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from io import StringIO
from random import Random
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.api.house_app import open_house_app, seat_players
from tests.api.live_server import (
    follow_over_asgi,
    receive,
    receive_until,
    serve_house,
    wait_for_close,
)
from tests.api.operation_requests import RequestBuilder
from tests.samples import sample
from threedice import load
from threedice.api.app import API_HANDLERS
from threedice.api.http import journal
from threedice.api.http.openapi import build_document
from threedice.api.live.channel import MAX_QUEUED_MESSAGES
from threedice.api.live.messages import PROTOCOL_VERSION
from threedice.api.texts import LANGUAGES, TEXTS
from threedice.cli import main
from threedice.cli.app import COMMANDS, app, load_command
from threedice.db.schema import PROGRAM_NAME, load_migrations
from threedice.house.codec import CURRENT_SCHEMA, decode, encode, normalise_command
from threedice.house.commands import AnyAccountCommand, AnyStreamCommand
from threedice.house.events import AnyStreamEvent
from threedice.house.reports.projection import FORMER_VIEWS, VIEW
from threedice.house.stream_state import FOLDS, encode_state, fold_of
from threedice.log.entry import Entry, hash_cause, hash_entry
from threedice.log.proof.checkpoint_files import decode_checkpoint_line, encode_checkpoint_line
from threedice.log.proof.checkpoints import CheckpointBody, sign_checkpoint
from threedice.log.proof.keys import SigningKeys, export_public_keys, import_public_keys, key_id_of
from threedice.log.records import decode_spans, encode_spans
from threedice.rulebook import shipped_games
from threedice.table.commands import Actor, WithdrawBet

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from tests.api.house_app import HouseApp

__all__ = [
    "MAX_QUEUED_MESSAGES",
    "RequestBuilder",
    "follow_over_asgi",
    "main",
    "receive",
    "receive_until",
    "serve_house",
    "wait_for_close",
]

# --- the API ------------------------------------------------------------------------------------


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document as a client receives it."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(build_document(API_HANDLERS)))
    return content


def problem_codes() -> dict[str, list[str]]:
    """Return the codes of all refusals and problems, by language."""
    return {language: sorted(TEXTS[language]) for language in LANGUAGES}


# --- the log ------------------------------------------------------------------------------------


def command_tags() -> dict[str, list[str]]:
    """Return the tags of all commands, of tables and of accounts."""
    accounts = _tags(AnyAccountCommand)
    return {
        "account": accounts,
        "table": [tag for tag in _tags(AnyStreamCommand) if tag not in accounts],
    }


def event_tags() -> list[str]:
    """Return the tags of all events in the log."""
    return _tags(AnyStreamEvent)


def _tags(union: Any) -> list[str]:
    return sorted(kind.__struct_config__.tag for kind in get_args(union))


def samples(tags: set[str]) -> list[tuple[str, int, bytes]]:
    """Return an arbitrary command or event of each tag: tag, schema and JSON."""
    kinds = {
        each.__struct_config__.tag: each
        for each in (*get_args(AnyStreamCommand), *get_args(AnyStreamEvent))
    }
    random = Random(1)
    made = [(tag, sample(kinds[tag], random)) for tag in sorted(tags)]
    return [(tag, CURRENT_SCHEMA, msgspec.json.encode(each)) for tag, each in made]


def command_bytes(table: str, text: bytes) -> tuple[bytes, bytes]:
    """Return the bytes over which a command is hashed, and the hash."""
    command, digest = normalise_command(table, msgspec.json.decode(text, type=AnyStreamCommand))
    return msgspec.json.encode(command, order="deterministic"), digest


def event_bytes(kind: str, schema: int, data: bytes) -> tuple[str, int, bytes]:
    """Return an event decoded and encoded again."""
    entry = Entry("table/1", 1, 0, kind, schema, data, bytes(32), bytes(32))
    record = encode(decode(entry))
    return record.kind, record.schema, record.data


def entry_hash(
    previous: bytes, stream: str, version: int, at: int, kind: str, schema: int, data: bytes,
    cause: bytes,
) -> bytes:  # fmt: skip
    """Return the chained hash of an entry."""
    return hash_entry(previous, stream, version, at, kind, schema, data, cause)


def cause_hash(account: str, key: str, command_hash: bytes) -> bytes:
    """Return the hash that ties entries to the command that caused them."""
    return hash_cause(account, key, command_hash)


def answer_spans(text: bytes) -> bytes:
    """Return the spans of an answer row decoded and encoded again."""
    return encode_spans(decode_spans(text))


def signed_checkpoint(private: bytes, fields: Mapping[str, Any]) -> bytes:
    """Return a checkpoint as a line of the file outside the database, read and written again."""
    key = Ed25519PrivateKey.from_private_bytes(private)
    keys = SigningKeys(key_id_of(key.public_key()), key, {})
    body = msgspec.convert({**fields, "key_id": keys.key_id, "format": 1}, CheckpointBody)
    line = encode_checkpoint_line(sign_checkpoint(keys, body))
    return encode_checkpoint_line(decode_checkpoint_line(line, "recording"))


def exported_keys(text: bytes) -> bytes:
    """Return exported public keys imported and exported again."""
    return export_public_keys(import_public_keys(text).values())


def folded_state(stream: str, rows: Iterable[tuple[Any, ...]]) -> bytes:
    """Return the encoded state that stored entries lead to, decoded and encoded again."""
    fold = fold_of(stream)
    state = fold.state_type()
    for columns in rows:
        entry = Entry(*columns)
        fold.evolve(state, decode(entry), entry.at, entry.version)
    return encode_state(fold.decode_state(encode_state(state)))


def format_versions() -> dict[str, Any]:
    """Return the version numbers and names of stored and sent formats."""
    return {
        "event schema": CURRENT_SCHEMA,
        "log tables": max(load_migrations("sqlite")),
        "log program": PROGRAM_NAME,
        "identity tables": max(load_migrations("postgresql")),
        "snapshot forms": {kind: fold.form for kind, fold in FOLDS.items()},
        "statement view": VIEW,
        "former statement views": list(FORMER_VIEWS),
        "live protocol": PROTOCOL_VERSION,
    }


def game_hashes() -> dict[str, str]:
    """Return the content hash of every game in the package."""
    return {name: load(name).hash for name in shipped_games()}


# --- a house for requests -----------------------------------------------------------------------


@asynccontextmanager
async def open_house() -> AsyncIterator[HouseApp]:
    """Open a house in memory with an account for every role, the staff assigned to their table."""
    async with open_house_app() as house:
        await seat_players(house)
        house.assign("dealer")
        house.assign("supervisor")
        yield house


async def play_first_round(house: HouseApp) -> None:
    """Settle a round, leave bets in the next, and wait until the statements have the first."""
    client, player = house.client("supervisor"), house.id("player")
    account = {"type": "OpenAccount", "currency": "SGD"}
    headers = {"Idempotency-Key": "account"}
    await client.post(f"/api/accounts/{player}/commands", json=account, headers=headers)
    await house.bet("player", 25)
    await house.bet("other player", 50, "small")
    steps = ("PressEnter", "Illuminate", "CollectLosers", "PayWinners", "OpenBetting")
    commands: list[dict[str, Any]] = [
        {"type": "CloseBetting"},
        {"type": "Tumble", "times": 3},
        {"type": "Uncover"},
        {"type": "CallResult", "dice": [6, 5, 4]},
        *({"type": "PressKey", "key": die} for die in (6, 5, 4)),
        *({"type": step} for step in steps),
    ]
    for command in commands:
        answer = await house.send("dealer", command)
        assert answer.status_code == 200, answer.text
    await house.bet("player", 25)
    await house.bet("other player", 50, "small")
    async with asyncio.timeout(60):
        while not (await client.get("/api/tables/1/results")).json():
            await asyncio.sleep(0)


# --- live sockets and the journal ---------------------------------------------------------------


def withdrawal(player: str, box: str, amount: int) -> WithdrawBet:
    """Return a player's command to withdraw a bet."""
    return WithdrawBet(by=Actor(id=player, role="player"), player=player, box=box, amount=amount)


def journal_lines() -> list[dict[str, Any]]:
    """Return journal lines of each kind: their keys, and the word of each."""
    stream = StringIO()
    handler = journal.open_journal(stream, plain=False)
    try:
        journal.write("listening", tables=1)
        try:
            raise ValueError("anything")
        except ValueError as error:
            journal.warn("suspended", error, cause="tried")
        extra = {"kind": "GET", "place": "/api/tables"}
        logging.getLogger("somewhere.else").warning("a library", extra=extra)
    finally:
        journal.close_journal(handler)
    lines = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    return [
        {
            "keys": list(line),
            "what": line["what"],
            "level": line["level"],
        }
        for line in lines
    ]


# --- the command line ---------------------------------------------------------------------------


def command_line() -> Any:
    """Return the tree of commands."""
    root = typer.main.get_group(app)
    for name in COMMANDS:
        root.add_command(load_command(name), name)
    return root
