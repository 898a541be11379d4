"""`threedice doctor`: list what a person on call should know about a house.

Nothing is written. A check that fails is a line of the report and does not stop the others, so that
the command also works on a house that is suspended, damaged or on read-only media.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, Literal

import msgspec
import typer

from threedice.cli.arguments import (
    DatabaseOption,
    HouseFileOption,
    JsonOption,
    command_group,
    default_house_file,
    find_house_file,
)
from threedice.cli.log import require_database
from threedice.cli.output import print_json, print_line
from threedice.db.postgres import SERVING_LOCK, describe_url, one_line
from threedice.db.schema import VERSION_TABLE, load_migrations
from threedice.errors import ThreediceError
from threedice.identity.authentication.encryption_key import KEY_FILE_NAME, read_encryption_key
from threedice.log.entry import EMPTY_HEAD
from threedice.log.halt_causes import classify_halt
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, read_last_lines
from threedice.log.proof.checkpoints import (
    decode_checkpoint,
    read_last_checkpoints,
    signed_heads,
)
from threedice.log.proof.head_macs import ADOPTED_KEY, LOG_KEY_FILE, read_head_macs
from threedice.log.proof.keys import (
    KEYS_FOLDER,
    LOST_KEY_REMEDY,
    PRIVATE_KEY_FILE,
    read_keys,
)
from threedice.log.records import decode_heads
from threedice.log.stores import schema
from threedice.log.stores.files import read_halt, removed_file_advice, serving_process
from threedice.log.stores.rows import LogRows, open_postgres_rows
from threedice.log.stores.sql_rows import Query
from threedice.log.stores.sqlite_rows import open_house_file
from threedice.log.stores.urls import (
    RESTORE_MARK,
    database_exists,
    default_url,
    sqlite_path,
    state_directory,
)
from threedice.version import describe_version

commands = command_group()

State = Literal["ok", "attention"]

MISSING_KEY_REMEDY: Final = (
    "put the file back from its copy or from a backup; if it is lost, run threedice keys replace"
)

SUSPENSION_ROW: Final = "suspended"
LAST_BACKUP_FILE: Final = "last-backup.json"
MICROSECOND: Final = 1_000_000

MAX_UNSIGNED_SECONDS: Final = 300
"""A house in service signs a checkpoint every minute."""

MAX_BACKUP_AGE_SECONDS: Final = 2 * 24 * 3600
MAX_CLOCK_ERROR_SECONDS: Final = 5
MAX_WAL_BYTES: Final = 256 << 20
MIN_FREE_BYTES, MIN_FREE_SHARE = 1 << 30, 0.02
WAL_RACE_VERSIONS: Final = ((3, 7, 0), (3, 51, 2))


class LastBackup(msgspec.Struct, frozen=True):
    """The record of the last backup: time, file name and number of heads."""

    at: int
    file: str
    heads: int


@dataclass(frozen=True, slots=True)
class Check:
    """A line of the report; without a remedy, nothing needs attention."""

    name: str
    text: str
    remedy: str = ""

    @property
    def state(self) -> State:
        """`attention` if a person should do something, else `ok`."""
        return "attention" if self.remedy else "ok"


@commands.command("doctor")
def doctor(
    house: HouseFileOption = None,
    database: DatabaseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Report the state of a house to the person on call.

    Lists files, sizes, keys, the last backup and checkpoint, disk space, the clock and versions,
    each with a remedy if it needs attention; the exit code is 1 then. Nothing is written.
    """
    url = database or default_url()
    if not state_directory(url).exists():
        require_database(url)
    checks = list(Doctor(url, house).examine())
    needs_attention = any(check.remedy for check in checks)
    if as_json:
        lines = [
            {"name": each.name, "state": each.state, "text": each.text, "remedy": each.remedy}
            for each in checks
        ]
        print_json({"state": "attention" if needs_attention else "ok", "checks": lines})
    else:
        for each in checks:
            print_line(f"{each.state:<9}  {each.name}: {each.text}")
            if each.remedy:
                print_line(f"{'':<11}{each.remedy}")
    raise typer.Exit(1 if needs_attention else 0)


class Doctor:
    """Examine a house, one check after the other."""

    def __init__(self, url: str, house_file: Path | None = None) -> None:
        self._url, self._house_file = url, house_file
        self._file, self._state = sqlite_path(url), state_directory(url)
        self._now = time.time_ns() // 1000
        self._meta: dict[str, str] = {}

    def examine(self) -> Iterator[Check]:
        """Yield the results of all checks."""
        yield from self._run("versions", self._check_versions)
        try:
            with self._open_rows() as rows:
                for name, check in (
                    ("database", self._check_database),
                    ("service", self._check_servers),
                    ("writing", self._check_writing),
                    ("keys", self._check_keys),
                    ("checkpoints", self._check_checkpoints),
                    ("clock", self._check_clock),
                    ("people", self._check_people),
                ):
                    yield from self._run(name, partial(check, rows))
        except (ThreediceError, OSError, sqlite3.Error) as error:
            remedy = "look into this first"
            if not database_exists(self._url):
                remedy = "put the file back, or restore a backup with threedice restore"
                if self._file and (process := serving_process(self._file)):
                    remedy = removed_file_advice(f"process {process}")
            skipped = "; the other checks of the database were left out"
            yield Check("database", one_line(error), remedy + skipped)
        for name, check_files in (
            ("service", self._check_process),
            ("restore", self._check_restore),
            ("last backup", self._check_last_backup),
            ("disk", self._check_disk),
            ("house file", self._check_house_file),
        ):
            yield from self._run(name, check_files)

    def _run(self, name: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
        """Yield the results of a check, or the error that it ended with."""
        try:
            yield from check()
        except (ThreediceError, OSError, sqlite3.Error, ValueError) as error:
            yield Check(name, one_line(error) or type(error).__name__, "look into this error")

    def _open_rows(self) -> AbstractContextManager[LogRows]:
        if self._file is None:
            return open_postgres_rows(self._url)
        return open_house_file(self._file)

    # --- the program and the database -----------------------------------------------------------

    def _check_versions(self) -> Iterator[Check]:
        yield Check(
            "versions", f"threedice {describe_version()}, Python {platform.python_version()}"
        )
        if self._file is None:
            return
        text, (first, last) = f"SQLite {sqlite3.sqlite_version}", WAL_RACE_VERSIONS
        if first <= sqlite3.sqlite_version_info <= last:
            text += (
                " (3.7.0 to 3.51.2 are reported to have a race when the write-ahead log is reset;"
                " the house's own write lock avoids it: let no other program write to the file)"
            )
        yield Check("SQLite", text)

    def _check_database(self, rows: LogRows) -> Iterator[Check]:
        stored, known, remedy = self._read_version(rows), max(load_migrations("sqlite")), ""
        if stored < known:
            remedy = (
                f"this program has version {known}: stop the house, make a backup and run"
                " threedice migrate"
            )
        elif stored > known:
            remedy = f"this program knows version {known}: use the newer program"
        if self._file is None:
            ((size, version),) = rows.select(
                Query(
                    "pg_database",
                    ["pg_database_size(oid)", "current_setting('server_version')"],
                    "WHERE datname = current_database()",
                )
            )
            text = f"PostgreSQL {version}, {describe_url(self._url)}, {_format_size(size)}"
            yield Check("database", f"{text}, tables of version {stored}", remedy)
            return
        file = self._file.resolve()
        ((free,),) = rows.select(Query("pragma_freelist_count", ["freelist_count"]))
        text = f"SQLite file {file}, {_format_size(file.stat().st_size)}, {free} free pages"
        yield Check("database", f"{text}, tables of version {stored}", remedy)
        wal = file.with_name(f"{file.name}-wal")
        wal_size = wal.stat().st_size if wal.exists() else 0
        remedy = "end long reads of the file (log verify, backup), then restart the house"
        text = f"{_format_size(wal_size)} in the write-ahead log"
        yield Check("write-ahead log", text, remedy if wal_size > MAX_WAL_BYTES else "")

    def _read_version(self, rows: LogRows) -> int:
        tables = (
            Query("pg_tables", ["tablename::text"], "WHERE schemaname = current_schema()")
            if self._file is None
            else Query("sqlite_master", ["name"], "WHERE type = 'table'")
        )
        versions = Query("meta", ["value"], "WHERE name = 'schema'")  # of the first programs
        if (VERSION_TABLE,) in rows.select(tables):
            versions = Query(VERSION_TABLE, ["max(version)"])
        return int(rows.select(versions)[0][0])

    def _check_process(self) -> Iterator[Check]:
        if self._file is not None:
            process = serving_process(self._file)
            yield Check("service", f"served by process {process}" if process else "not in service")

    def _check_servers(self, rows: LogRows) -> Iterator[Check]:
        if self._file is not None:
            return
        class_id, object_id = SERVING_LOCK.split(", ")
        servers = rows.select(
            Query(
                "pg_locks JOIN pg_stat_activity USING (pid)",
                ["pid::text", "coalesce(host(client_addr), 'local')"],
                f"WHERE locktype = 'advisory' AND classid = {class_id} AND objid = {object_id}",
            )
        )
        names = ", ".join(f"from {address} (backend {pid})" for pid, address in sorted(servers))
        yield Check("service", f"{len(servers)} servers: {names}" if servers else "not in service")

    def _check_writing(self, rows: LogRows) -> Iterator[Check]:
        self._meta = dict(rows.select(Query("meta", ["name", "value"])))
        if reason := self._meta.get(SUSPENSION_ROW, "") or read_halt(self._state):
            text = f"suspended ({classify_halt(reason)}): {reason}"
            remedy = "remove the cause, then run threedice release --by NAME --reason TEXT"
            yield Check("writing", text, remedy)
        else:
            yield Check("writing", "not suspended")

    # --- keys and proof -------------------------------------------------------------------------

    def _check_keys(self, rows: LogRows) -> Iterator[Check]:
        if self._state.is_dir():
            mode = stat.S_IMODE(self._state.stat().st_mode)
            text = f"{self._state}, mode {mode:04o}"
            remedy = f"run chmod 0700 {self._state}" if mode & 0o077 else ""
            yield Check("state directory", text, remedy)
        else:
            yield Check("state directory", f"{self._state} is missing", MISSING_KEY_REMEDY)
        signer = rows.select(Query("checkpoints", ["key_id"], "ORDER BY number DESC LIMIT 1"))
        people = rows.select(Query("people_meta", ["value"], "WHERE name = 'key'"))
        log_id, keys = self._meta.get(ADOPTED_KEY, ""), self._state / KEYS_FOLDER
        yield _check_key(
            "signing key",
            keys / PRIVATE_KEY_FILE,
            signer[0][0] if signer else "",
            lambda: [(own := read_keys(self._state)).key_id, *own.public],
        )
        yield _check_key(
            "log key",
            keys / LOG_KEY_FILE,
            log_id,
            lambda: [macs.key_id] if (macs := read_head_macs(self._state)) else [],
        )
        yield _check_key(
            "people's key",
            self._state / KEY_FILE_NAME,
            people[0][0] if people else "",
            lambda: [read_encryption_key(self._state).id],
        )

    def _check_checkpoints(self, rows: LogRows) -> Iterator[Check]:
        recent, text = read_last_checkpoints(rows), "none yet"
        if recent:
            body = decode_checkpoint(recent[-1])
            age = _format_age(self._now - body.at)
            text = f"the last one has number {body.number}, {age}"
        yield Check("checkpoints", *self._compare_with_file(text, rows))
        signed = signed_heads(recent)
        stored = list(chain.from_iterable(rows.chunks(schema.streams)))
        heads = decode_heads(row[:3] for row in stored)
        tail = {
            stream: head.version - signed.get(stream, EMPTY_HEAD).version
            for stream, head in heads.items()
            if head.version > signed.get(stream, EMPTY_HEAD).version
        }
        if macs := read_head_macs(self._state):
            foreign = [
                stream
                for stream, *_, mac in stored
                if stream in tail and not macs.is_valid(stream, heads[stream], mac)
            ]
            remedy = (
                "the house did not write them: keep a copy, run threedice log verify, then restore"
                " a backup or accept them with threedice release --stream STREAM"
            )
            text = f"in {len(foreign)} streams, such as {foreign[0]}" if foreign else "none"
            yield Check("foreign entries", text, remedy if foreign else "")
        if not tail:
            yield Check("unsigned entries", "none")
            return
        oldest = min(
            at
            for stream, count in tail.items()
            for (at,) in rows.select(_ENTRY_TIME, (stream, heads[stream].version - count + 1))
        )
        age = self._now - oldest
        text = f"{sum(tail.values())} in {len(tail)} streams, the oldest {_format_age(age)}"
        remedy = (
            "a house in service signs every minute: look at its journal (books-behind), or start"
            " the house; then run threedice log verify"
        )
        is_old = age > MAX_UNSIGNED_SECONDS * MICROSECOND
        yield Check("unsigned entries", text, remedy if is_old else "")

    def _compare_with_file(self, text: str, rows: LogRows) -> tuple[str, str]:
        """Return a text, and a remedy if the state directory knows later checkpoints."""
        file = self._state / CHECKPOINTS_FILE
        in_file = [each.number for each in read_last_lines(file)]
        recent = read_last_checkpoints(rows)  # again, as the house may have signed meanwhile
        if max(in_file, default=0) <= (recent[-1].number if recent else 0):
            return text, ""
        remedy = (
            "the database is an older one, or was cut back: put the right one back, or move it away"
            " and restore a backup with threedice restore"
        )
        return f"{text}, but {file} has number {in_file[-1]}", remedy

    def _check_clock(self, rows: LogRows) -> Iterator[Check]:
        ((last,),) = rows.select(_LAST_ENTRY_TIME)
        ahead = (last or 0) - self._now
        if last is None:
            yield Check("clock", "no entry yet")
        elif ahead <= MAX_CLOCK_ERROR_SECONDS * MICROSECOND:
            yield Check("clock", f"the last entry was written {_format_age(-ahead)}")
        else:
            text = f"the last entry was written {ahead // MICROSECOND} s in the future"
            yield Check("clock", text, "set the clock of this machine, or find out who set it back")

    # --- people ---------------------------------------------------------------------------------

    def _check_people(self, rows: LogRows) -> Iterator[Check]:
        accounts = rows.select(Query("people_accounts", ["id", "roles"], "WHERE enabled = 1"))
        enrolled = {
            account
            for account, secret in rows.select(Query("people_codes", ["account", "secret"]))
            if secret
        }
        staff = {id_: roles.split(",") for id_, roles in accounts if roles != "player"}
        administrators = {id_ for id_, roles in staff.items() if "administrator" in roles}
        text = (
            f"{len(administrators)} administrators ({len(administrators & enrolled)} with a second"
            f" factor), {len(staff)} staff ({len(staff.keys() & enrolled)} with one),"
            f" {len(accounts) - len(staff)} players"
        )
        remedy = "add a second one with threedice users add NAME --role administrator"
        yield Check("people", text, remedy if len(administrators) < 2 else "")

    # --- files ----------------------------------------------------------------------------------

    def _check_restore(self) -> Iterator[Check]:
        if (self._state / RESTORE_MARK).exists():
            text = "a restore was interrupted here, or is in progress"
            yield Check("restore", text, "run the same threedice restore command again")

    def _check_last_backup(self) -> Iterator[Check]:
        file, remedy = self._state / LAST_BACKUP_FILE, "make a backup with threedice backup FILE"
        if not file.exists():
            yield Check("last backup", "none is recorded here", remedy)
            return
        try:
            last = msgspec.json.decode(file.read_bytes(), type=LastBackup)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield Check("last backup", f"{file} is damaged: {error}", remedy)
            return
        age = self._now - last.at
        text = f"{last.file}, {_format_age(age)}, {last.heads} streams"
        is_old = age > MAX_BACKUP_AGE_SECONDS * MICROSECOND
        yield Check("last backup", text, remedy if is_old else "")

    def _check_disk(self) -> Iterator[Check]:
        folders = {"state directory": self._state}
        if self._file is not None:
            folders = {"database": self._file.resolve().parent} | folders
        for name, path in folders.items():
            folder = path if path.exists() else path.parent
            usage = shutil.disk_usage(folder)
            is_low = usage.free < max(MIN_FREE_BYTES, usage.total * MIN_FREE_SHARE)
            text = f"{_format_size(usage.free)} of {_format_size(usage.total)} free for the {name}"
            if os.statvfs(folder).f_flag & os.ST_RDONLY:
                yield Check("disk", f"the {name} is on a read-only file system", "remount it")
            else:
                yield Check("disk", text, "free disk space" if is_low else "")

    def _check_house_file(self) -> Iterator[Check]:
        from threedice.api.config import load_config

        file = find_house_file(self._house_file, self._state)
        if file is None:
            text = f"there is none at {self._house_file or default_house_file()}"
            yield Check("house file", text, "name the one in use with --house FILE")
            return
        try:
            config = load_config(file)
        except ThreediceError as error:
            yield Check("house file", str(error), f"run threedice house check {file}")
        else:
            yield Check("house file", f"{file}, {len(config.tables)} tables")


def _check_key(name: str, file: Path, used_id: str, read_ids: Callable[[], list[str]]) -> Check:
    """Check a key file against the id of the key that the database was written with."""
    if not file.exists():
        if used_id:
            return Check(name, f"{file} is missing", MISSING_KEY_REMEDY)
        return Check(name, "none yet; the first start creates it")
    try:
        ids = read_ids()
    except ThreediceError as error:
        problem, _, remedy = str(error).partition("; ")
        return Check(name, problem, remedy or LOST_KEY_REMEDY)
    if used_id and used_id not in ids:
        problem = f"{file} has the id {ids[0]}, but the database was written with {used_id}"
        return Check(name, problem, LOST_KEY_REMEDY)
    return Check(name, f"{file}, id {ids[0]}")


_ENTRY_TIME: Final = Query("entries", ["at"], "WHERE stream = ? AND version = ?")
_LAST_ENTRY_TIME: Final = Query("streams JOIN entries USING (stream, version)", ["max(at)"])


def _format_size(size: int) -> str:
    """Format a number of bytes.

    >>> _format_size(512), _format_size(3 << 20)
    ('512 bytes', '3.0 MiB')
    """
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _format_age(microseconds: int) -> str:
    """Format how long ago something was.

    >>> _format_age(90 * MICROSECOND), _format_age(50 * 3600 * MICROSECOND)
    ('1 min ago', '2 days ago')
    """
    seconds = max(0, microseconds // MICROSECOND)
    for unit, factor in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= factor * (2 if unit == "days" else 1):
            return f"{seconds // factor} {unit} ago"
    return f"{seconds} s ago"
