"""Create a backup: copy every table from one snapshot, add the keys and the house file, encrypt.

Nothing is written to the database, and the house may be in service meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput, StoreFailed, StoreUnusable, TamperedData
from threedice.house.audit.people import compare_people
from threedice.house.backup.container import MAGIC, MIN_WORK_FACTOR, encrypt
from threedice.house.backup.contents import (
    Manifest,
    append_manifest,
    hash_file,
    read_state_files,
)
from threedice.identity.authentication.encryption_key import KEY_FILE_NAME, EncryptionKey
from threedice.log.entry import Head
from threedice.log.proof import keys
from threedice.log.proof.checkpoints import (
    decode_checkpoint,
    read_last_checkpoints,
    signed_heads,
)
from threedice.log.proof.head_macs import ADOPTED_KEY, LOG_KEY_FILE, read_head_macs
from threedice.log.proof.log_copy import read_stored_heads
from threedice.log.proof.verification import verify_log
from threedice.log.stores import schema
from threedice.log.stores.new_files import (
    create_file,
    refuse_existing,
    remove_unfinished,
    remove_unused_folders,
    temporary_folder,
)
from threedice.log.stores.sqlite_rows import open_sqlite_rows
from threedice.log.stores.table_copies import (
    create_tables_of_version,
    fill_sqlite_file,
    insert_rows,
    list_copied_tables,
    migrate_sqlite_file,
    read_rows,
    select_copied_rows,
    translate_copy_errors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from threedice.house.backup.container import Encryption
    from threedice.log.records import Checkpoint, StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.schema import DatabaseTable


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """The contents of a backup: row counts by table, and whether it has the house file.

    `work_factor` is that of its passphrase, None if it is encrypted to recipients.
    """

    rows: Mapping[str, int]
    has_house_file: bool
    work_factor: int | None = None

    @property
    def is_weakly_sealed(self) -> bool:
        """True if its passphrase is easier to try than it should be."""
        return self.work_factor is not None and self.work_factor < MIN_WORK_FACTOR


def create_backup(
    rows: LogRows,
    file: Path,
    *,
    state_dir: Path,
    house_file: bytes | None,
    encryption: Encryption,
    program: str,
    now: int,
    signed: Sequence[Checkpoint] = (),
    progress: Callable[[int, int], None] | None = None,
) -> BackupSummary:
    """Back up a house to a new file, encrypted and signed.

    The copy is verified first: a backup that could not be restored is refused, and so is a log that
    was cut back. `signed` are the last checkpoints in the house's file, read before the rows.
    """
    refuse_existing(file)
    if not keys.has_signing_key(state_dir):
        raise InvalidInput(
            f"the house's signing key is not in {state_dir}; create the backup on the machine that"
            " serves the house, as the user that runs it; if the key is lost, replace it first with"
            " threedice keys replace"
        )
    keys.read_keys(state_dir)  # raises if a public key is missing, without which no copy verifies
    remove_unfinished(file.parent, MAGIC)
    with create_file(file) as part, translate_copy_errors(), ExitStack() as exits:
        places = [state_dir, file.absolute().parent, Path(gettempdir())]
        database, counts = _copy_where_there_is_room(rows, places, exits)
        _check_heads(rows, state_dir)
        files = read_state_files(state_dir)
        _check_encryption_key(database, files)
        heads, checkpoint = _verify_copy(database, state_dir, signed, progress)
        signing_keys = keys.open_keys(state_dir)
        if read_state_files(state_dir) != files:
            raise StoreUnusable("a key was replaced during the backup; try again")
        manifest = Manifest(
            program=program,
            created=now,
            checkpoint=checkpoint,
            heads=heads,
            database=hash_file(database),
            key_id=signing_keys.key_id,
            files=files,
            house_file=house_file,
        )
        append_manifest(database, manifest, signing_keys)
        with database.open("rb") as plain, part.open("wb") as target:
            work_factor = encrypt(plain, target, encryption)
            target.flush()
            os.fsync(target.fileno())
    return BackupSummary(counts, house_file is not None, work_factor)


def _copy_where_there_is_room(
    rows: LogRows, places: Sequence[Path], exits: ExitStack
) -> tuple[Path, dict[str, int]]:
    """Copy all tables into a file below the first folder that can hold it.

    The disk of a halted house may be full or read-only. `exits` removes the file.
    """
    for place in places:
        with suppress(OSError):
            remove_unused_folders(place)
    for place in places:
        with ExitStack() as attempt:
            try:
                database = attempt.enter_context(temporary_folder(place)) / "house.sqlite"
                counts = _copy_database(rows, database)
            except (OSError, sqlite3.Error, StoreFailed):
                if place == places[-1]:
                    raise
            else:
                exits.push(attempt.pop_all())
                return database, counts
    raise AssertionError("the last place returns or raises")


def _copy_database(rows: LogRows, database: Path) -> dict[str, int]:
    """Copy all tables into a new file of the present version; return row counts by table."""
    version, stored_tables = rows.read_schema()
    counts = {}
    with fill_sqlite_file(database) as connection:
        create_tables_of_version(connection, version)
        for table in list_copied_tables(connection):
            counts[table.name] = 0
            for chunk in _needed_rows(rows, table) if table.name in stored_tables else ():
                copied = select_copied_rows(table, chunk)
                insert_rows(connection, table, copied)
                counts[table.name] += len(copied)
    migrate_sqlite_file(database)
    return counts


def _needed_rows(rows: LogRows, table: DatabaseTable) -> Iterator[list[StoredRow]]:
    """Return the rows of a table without checkpoints that are rolled up and not yet deleted."""
    if table == schema.checkpoints and (last := read_last_checkpoints(rows)):
        roll_up = decode_checkpoint(last[0]).rolled_up
        return rows.checkpoints_after(roll_up.up_to if roll_up else 0)
    return rows.chunks(table)


def _check_heads(rows: LogRows, state_dir: Path) -> None:
    """Refuse heads that neither a checkpoint has signed nor the house itself has written."""
    adopted = [value for name, value in read_rows(rows, schema.meta) if name == ADOPTED_KEY]
    macs = read_head_macs(state_dir)
    if macs is None and not adopted:
        return  # a database that no version with these MACs has served
    if macs is None or [macs.key_id] != adopted:
        raise StoreUnusable(
            f"{state_dir / keys.KEYS_FOLDER / LOG_KEY_FILE} is missing or not the key of the"
            " database, so nothing shows that the house wrote the last entries; put it back first,"
            " or if it is lost, replace it with threedice keys replace"
        )
    signed = signed_heads(read_last_checkpoints(rows))
    for stream, version, digest, mac in read_rows(rows, schema.streams):
        head = Head(version, digest)
        if signed.get(stream) != head and not macs.is_valid(stream, head, mac):
            raise TamperedData(
                f"head of {stream}",
                "was not written by the house, so a backup of it is not created; run threedice log"
                f" verify, then accept its entries with threedice release --stream {stream}, or"
                " restore an earlier backup",
            )


def _check_encryption_key(database: Path, files: Mapping[str, bytes]) -> None:
    """Refuse a backup without the key that its stored secrets are encrypted with."""
    with closing(sqlite3.connect(database)) as connection:
        stored = connection.execute("SELECT value FROM people_meta WHERE name = 'key'").fetchall()
    key = files.get(KEY_FILE_NAME)
    if stored and (key is None or EncryptionKey(key).id != stored[0][0]):
        raise StoreUnusable(
            f"{KEY_FILE_NAME} in the state directory is missing or not that of the database, so"
            " nobody with a second factor could sign in to a restored house; put it back first, or"
            " if it is lost, replace it with threedice keys replace"
        )


def _verify_copy(
    database: Path,
    state_dir: Path,
    signed: Sequence[Checkpoint],
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, tuple[int, str]], int]:
    """Verify the log and the rows about people; return the heads, and the last checkpoint."""
    with open_sqlite_rows(database) as rows:
        public_keys = keys.read_public_keys(state_dir)
        report = verify_log(rows, public_keys=public_keys, against=signed, progress=progress)
        findings = (*report.findings, *compare_people(rows, is_house=True).findings)
        if findings:
            first, others = findings[0], len(findings) - 1
            more = f" (and {others} more findings)" if others else ""
            raise TamperedData(
                first.where,
                f"{first.what}{more}; a backup with it could not be restored, so none is created:"
                " run threedice log verify",
            )
        heads = {
            name: (head.version, head.hash.hex()) for name, head in read_stored_heads(rows).items()
        }
        checkpoints = read_last_checkpoints(rows)
    return heads, checkpoints[-1].number if checkpoints else 0
