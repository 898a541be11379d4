"""MACs of the heads of streams, under a key outside the database.

A program that can write to the database can append an entry with the right hash, head and answer; a
checkpoint shows that only for the entries that it signs. So every commit writes, with each head
that it moves, a message authentication code under a key that only the servers of the house have. As
a head's hash covers the whole stream, its MAC covers every entry before it.

The key is `keys/log.key` of the state directory, the same for all servers of a house. A database
adopts a key once: its id is then in `meta` and in the signed checkpoints, and all heads have a MAC.
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.db.sqlite import sync_directory
from threedice.errors import ForeignEntries, StoreUnusable
from threedice.log.proof.keys import (
    KEYS_FOLDER,
    LOST_KEY_REMEDY,
    damaged_key,
    open_keys_folder,
    read_secret,
    write_secret,
)
from threedice.log.records import decode_heads
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.db import Database, SqlRunner
    from threedice.log.entry import Head
    from threedice.log.records import Snapshot

LOG_KEY_FILE: Final = "log.key"
KEY_BYTES: Final = 32
HASH_BLOCK_BYTES: Final = 64
ADOPTED_KEY: Final = "mac-key"
"""Name of the row in `meta` with the id of the key that a database has adopted."""

HEADS_PER_UPDATE: Final = 1000
_HEAD = Struct(">Q32s")
_SELECT_ADOPTED: Final = f"SELECT value FROM meta WHERE name = '{ADOPTED_KEY}'"
_FIND_USE: Final = (
    "SELECT 1 FROM streams WHERE length(mac) > 0 LIMIT 1",
    "SELECT 1 FROM snapshots WHERE form LIKE '% %' LIMIT 1",
)
"""Queries for values that only a house with a key writes."""


class _UsedKey(msgspec.Struct):
    """The part of a checkpoint that names the key in use."""

    log_key: str = ""


_decode_used_key = msgspec.json.Decoder(_UsedKey).decode


class HeadMacs:
    """Compute and check the MACs of heads with one key."""

    def __init__(self, key: bytes) -> None:
        self._snapshot_key = hmac.digest(key, b"snapshots", "sha256")
        block = key.ljust(HASH_BLOCK_BYTES, b"\0")
        self._inner = sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = sha256(bytes(byte ^ 0x5C for byte in block))
        self.key_id = sha256(b"threedice log key " + key).hexdigest()[:16]

    def compute(self, stream: str, head: Head) -> bytes:
        """Return the MAC of a stream's head: HMAC-SHA256.

        Written out, because `hmac.digest` prepares the key anew each time and takes three times as
        long, for every head that a batch of bets moves.
        """
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(_HEAD.pack(head.version, head.hash) + stream.encode())
        outer.update(inner.digest())
        return outer.digest()

    def is_valid(self, stream: str, head: Head, mac: bytes) -> bool:
        """Return whether a head was written with this key."""
        return hmac.compare_digest(self.compute(stream, head), mac)

    def compute_for_snapshot(self, snapshot: Snapshot) -> str:
        """Return the MAC of a snapshot, in hexadecimal digits."""
        stream, name, form, head, data = msgspec.structs.astuple(snapshot)
        message = msgspec.msgpack.encode((stream, name, form, head)) + data
        return hmac.digest(self._snapshot_key, message, "sha256").hex()

    def require_valid(self, stream: str, head: Head, mac: bytes) -> None:
        """Raise `ForeignEntries` for a head that was not written with this key."""
        if head.version and not self.is_valid(stream, head, mac):
            raise ForeignEntries(
                stream,
                f"its entries up to version {head.version} were not all written by this house (the"
                " MAC of its head is not valid); see what threedice log verify reports, then"
                " release the stream or restore a backup",
            )


def read_head_macs(state_dir: Path) -> HeadMacs | None:
    """Return the MACs of the key in a state directory, or None if there is none."""
    file = state_dir / KEYS_FOLDER / LOG_KEY_FILE
    return _read_key(file) if file.exists() else None


def read_adopted_macs(database: Database, state_dir: Path) -> HeadMacs | None:
    """Return the MACs of the key in a state directory if the database has adopted that key."""
    macs = read_head_macs(state_dir)
    return macs if macs is not None and macs.key_id == read_adopted_id(database) else None


def open_head_macs(database: Database, state_dir: Path) -> HeadMacs:
    """Return the MACs of the key that a database has adopted; let it adopt one if it has none.

    Adoption accepts all present heads, so a database that ever had a key does not adopt another
    one, even if nothing in `meta` says so. A new key lies in a file under its id until the database
    has adopted it, so that a crash leaves neither a database without its key nor a key that was not
    adopted.
    """
    folder = open_keys_folder(state_dir)
    adopted = read_adopted_id(database) or _adopt_first_key(database, folder)
    file, new = folder / LOG_KEY_FILE, _new_key_file(folder, adopted)
    if not file.exists():
        with suppress(FileNotFoundError):  # not created here, or another server was faster
            new.rename(file)
            sync_directory(folder)
    for leftover in folder.glob("log-*.new"):  # of a start that was interrupted before adoption
        leftover.unlink(missing_ok=True)
    if not file.exists():
        raise StoreUnusable(
            f"{file} is missing: the entries of {database.name} are protected with the key"
            f" {adopted}. Put it back from its copy, from a backup or from another server of this"
            " house; if it is lost, two administrators can replace it with threedice keys replace"
        )
    macs = _read_key(file)
    if macs.key_id != adopted:
        raise StoreUnusable(
            f"{file} is the key {macs.key_id}, but the entries of {database.name} are protected"
            f" with the key {adopted}; {LOST_KEY_REMEDY}"
        )
    return macs


def read_adopted_id(database: Database) -> str:
    """Return the id of the key that a database has adopted, or an empty string."""
    return next((key_id for (key_id,) in database.query(_SELECT_ADOPTED)), "")


def has_used_key(database: Database) -> bool:
    """Return whether anything in a database shows that it has adopted a key."""
    if read_adopted_id(database) or any(database.query(sql) for sql in _FIND_USE):
        return True
    bodies = database.query("SELECT body FROM checkpoints ORDER BY number DESC")
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return any(_decode_used_key(body).log_key for (body,) in bodies)
    return True  # a damaged checkpoint proves nothing


def _adopt_first_key(database: Database, folder: Path) -> str:
    """Let a database that has no key adopt one, and return the id of the adopted key."""
    file = folder / LOG_KEY_FILE
    if objection := _find_objection(database, file):
        # Entries are written after an adoption, so another server that starts now may be the cause.
        if adopted := read_adopted_id(database):
            return adopted
        raise StoreUnusable(objection)
    return _adopt(database, _read_key(file) if file.exists() else _create_key(folder))


def _find_objection(database: Database, file: Path) -> str:
    """Return why a database without a key must not adopt one, or an empty string."""
    if not file.exists() and has_used_key(database):
        return (
            f"{file} is missing, and so is the row of {database.name} that names it, but its"
            " entries were protected with a key: somebody has removed both, and may have added"
            " entries. Run threedice log verify, and restore a backup with threedice restore; if"
            " the key is lost, two administrators can replace it with threedice keys replace"
        )
    if file.exists() and database.query("SELECT 1 FROM streams WHERE version > 0 LIMIT 1"):
        return (
            f"{database.name} has entries, but none that were written with {file}: it is not the"
            " database that belongs to that key, or its row in meta was deleted. Put back the"
            " database, or restore a backup with threedice restore"
        )
    return ""


def _create_key(folder: Path) -> HeadMacs:
    key = SYSTEM_RUNTIME.random_bytes(KEY_BYTES)
    macs = HeadMacs(key)
    write_secret(_new_key_file(folder, macs.key_id), key)
    return macs


def create_another_key(state_dir: Path) -> HeadMacs:
    """Create a key to be adopted in place of one that is lost."""
    return _create_key(open_keys_folder(state_dir))


def adopt_another_key(database: Database, macs: HeadMacs) -> None:
    """Let a database adopt a key in place of one that is lost, with the MACs of all its heads.

    Without the lost key nobody can check the MACs that the heads had. The present heads are
    accepted.
    """

    def work(run: SqlRunner) -> None:
        run(
            "INSERT INTO meta (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (ADOPTED_KEY, macs.key_id),
        )
        write_all_macs(run, macs)

    database.transact(work)


def _adopt(database: Database, macs: HeadMacs) -> str:
    """Let a database adopt a key, with the MACs of all its heads.

    Returns the id of the adopted key, which is another one if another server was first.
    """

    def work(run: SqlRunner) -> str:
        if not run(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING value",
            (ADOPTED_KEY, macs.key_id),
        ):
            return str(run(_SELECT_ADOPTED)[0][0])
        write_all_macs(run, macs)
        return macs.key_id

    return database.transact(work)


def write_all_macs(run: SqlRunner, macs: HeadMacs) -> None:
    """Write the MACs of all heads."""
    heads = decode_heads(run("SELECT stream, version, hash FROM streams WHERE version > 0"))
    rows = [(stream, macs.compute(stream, head)) for stream, head in heads.items()]
    for start in range(0, len(rows), HEADS_PER_UPDATE):
        chunk = rows[start : start + HEADS_PER_UPDATE]
        places = ", ".join(["(?, ?)"] * len(chunk))
        run(
            f"UPDATE streams SET mac = new.column2 FROM (VALUES {places}) AS new"
            " WHERE streams.stream = new.column1",
            [value for row in chunk for value in row],
        )


def _new_key_file(folder: Path, key_id: str) -> Path:
    return folder / f"log-{key_id}.new"


def _read_key(file: Path) -> HeadMacs:
    key = read_secret(file)
    if len(key) != KEY_BYTES:
        raise damaged_key(file)
    return HeadMacs(key)
