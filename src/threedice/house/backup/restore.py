"""Restore a house from a backup: verify all of it, then fill an empty database.

Nothing is written before the whole backup is verified, and the copy is verified before it is
committed. The key files are written before the commit, so a restore that was interrupted can be
repeated: files that are equal stay, and a database that already holds this backup is accepted.
Until then a mark keeps everybody else from using what there is.

The restore is an event in the log, signed at once. It says what is given up: everything after the
backup that checkpoints kept outside had signed.
"""

from __future__ import annotations

import shutil
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec.structs import astuple

from threedice.errors import InvalidInput, StoreUnusable, TamperedData
from threedice.house.audit.people import compare_people
from threedice.house.backup.container import decrypt, is_plain_backup
from threedice.house.backup.contents import (
    hash_file,
    is_signed_by,
    plan_state_files,
    split_manifest,
    write_state_files,
)
from threedice.house.backup.restore_mark import mark_added_files, refuse_leftover_files
from threedice.house.codec import decode, encode
from threedice.house.events import HouseRestored
from threedice.house.stream_state import HOUSE_STREAM
from threedice.log.entry import EMPTY_HEAD, Entry, Head, extend_stream, hash_cause
from threedice.log.proof import describe_versions, keys
from threedice.log.proof.checkpoints import (
    CheckpointSigner,
    decode_checkpoint,
    read_last_checkpoints,
    sign_restore,
    signed_heads,
)
from threedice.log.proof.head_macs import ADOPTED_KEY, read_head_macs
from threedice.log.proof.log_copy import read_stored_heads
from threedice.log.proof.verification import verify_log
from threedice.log.records import Checkpoint, EntrySpan, encode_spans
from threedice.log.stores import schema
from threedice.log.stores.files import clear_halt
from threedice.log.stores.new_files import temporary_folder
from threedice.log.stores.sqlite_rows import open_sqlite_rows
from threedice.log.stores.table_copies import (
    all_tables,
    fill_empty,
    migrate_sqlite_file,
    select_copied_rows,
    translate_copy_errors,
)
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.house.backup.container import Decryption
    from threedice.house.backup.contents import Manifest
    from threedice.log.proof import VerificationReport
    from threedice.log.proof.checkpoint_files import ExternalCheckpoint
    from threedice.log.proof.keys import PublicKey
    from threedice.log.records import StoredRow
    from threedice.log.stores.rows import LogRows
    from threedice.log.stores.table_copies import EmptyDatabase

    Progress = Callable[[int, int], None]
    Verify = Callable[..., VerificationReport]

LAST_PLAIN_VERSION: Final = 2
"""The last version of the tables for which backups were plain SQLite files."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The losses of a restore: checkpoints, and the first and last version of each stream."""

    last: Checkpoint | None = None
    checkpoints: tuple[int, int] | None = None
    versions: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VerifiedBackup:
    """A backup that was decrypted and verified, in a temporary folder.

    Plain backups of earlier versions have no manifest: they hold the log and names, but no sign-ins
    and no keys.
    """

    database: Path
    manifest: Manifest | None
    digest: str
    public_keys: Mapping[str, PublicKey]
    report: VerificationReport
    checkpoints: Sequence[Checkpoint]
    given_up: GivenUp

    @property
    def created(self) -> int:
        """When the backup was created, in microseconds since 1970; 0 if unknown."""
        return self.manifest.created if self.manifest else 0

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The last checkpoint in the backup."""
        return self.checkpoints[-1] if self.checkpoints else None


# --- opening and verifying ----------------------------------------------------------------------


@contextmanager
def open_backup(
    file: Path,
    *,
    folder: Path,
    decryption: Decryption,
    trusted: Mapping[str, PublicKey] | None,
    own_keys: Mapping[str, PublicKey],
    outside: Iterable[ExternalCheckpoint] = (),
    verify: Verify = verify_log,
    progress: Progress | None = None,
) -> Iterator[VerifiedBackup]:
    """Decrypt a backup below `folder` and verify everything in it.

    `trusted` are the keys to believe; if None, those of the state directory (`own_keys`), and on a
    new machine those in the backup itself. `outside` are checkpoints kept outside the database, and
    errors for lines that are none; it is read twice.
    """
    with temporary_folder(folder) as temporary:
        with translate_copy_errors():
            database, manifest = temporary / "house.sqlite", None
            if is_plain_backup(file):
                digest = _copy_plain(file, database)
                public_keys = own_keys if trusted is None else trusted
                if not public_keys:
                    raise InvalidInput(
                        "there are no keys to verify the backup with; name them with --keys"
                    )
            else:
                with database.open("xb") as plain:
                    decrypt(file, plain, decryption)
                manifest, data, signature = split_manifest(database)
                digest = sha256(data).hexdigest()
                public_keys = _trust(manifest, data, signature, trusted, own_keys)
            migrate_sqlite_file(database)
            verified = _verify_database(
                database, manifest, digest, public_keys, outside, verify=verify, progress=progress
            )
        yield verified


def _copy_plain(file: Path, database: Path) -> str:
    """Copy a backup of an earlier version, and return its hash."""
    shutil.copyfile(file, database)
    with open_sqlite_rows(database) as rows:
        version, _ = rows.read_schema()
    if version > LAST_PLAIN_VERSION:
        raise InvalidInput(
            f"{file} is a copy of the log or the database of a house, not a backup; restore one"
            " that threedice backup created"
        )
    return hash_file(database)


def _trust(
    manifest: Manifest,
    data: bytes,
    signature: bytes,
    trusted: Mapping[str, PublicKey] | None,
    own_keys: Mapping[str, PublicKey],
) -> dict[str, PublicKey]:
    """Return the keys to verify a backup with, of which one must have signed its manifest."""
    offered = manifest.public_keys()
    roots = (own_keys or offered) if trusted is None else trusted
    public_keys = keys.trusted_keys(roots, offered)
    key = public_keys.get(manifest.key_id)
    if key is None:
        raise StoreUnusable(
            f"the backup is signed with the key {manifest.key_id}, which is not one of this"
            " house's; name the house's keys with --keys, or restore to another database"
        )
    if not is_signed_by(key, data, signature):
        raise TamperedData("the backup", f"its signature is not that of the key {key.key_id}")
    return public_keys


def _verify_database(
    database: Path,
    manifest: Manifest | None,
    digest: str,
    public_keys: Mapping[str, PublicKey],
    outside: Iterable[ExternalCheckpoint],
    *,
    verify: Verify,
    progress: Progress | None,
) -> VerifiedBackup:
    with open_sqlite_rows(database) as rows:
        checkpoints, heads = read_last_checkpoints(rows), read_stored_heads(rows)
    report = verify(
        database, public_keys=public_keys, against=outside, restoring=True, progress=progress
    )
    remedy = ". If the fault is in a file of checkpoints kept outside, move it away and repeat"
    _refuse_unsound(report, "the backup", remedy)
    if manifest is None:
        _refuse_unsigned(signed_heads(checkpoints), heads)
    elif {name: (head.version, head.hash.hex()) for name, head in heads.items()} != manifest.heads:
        raise TamperedData("the backup", "its heads are not those of its manifest")
    return VerifiedBackup(
        database,
        manifest,
        digest,
        public_keys,
        report,
        checkpoints,
        _find_given_up(report.given_up, checkpoints, heads, outside),
    )


def _refuse_unsound(report: VerificationReport, name: str, remedy: str = "") -> None:
    if report.findings:
        first, remaining = report.findings[0], len(report.findings) - 1
        others = f" (and {remaining} more findings)" if remaining else ""
        raise TamperedData(first.where, f"{first.what}{others}; {name} is not restored{remedy}")


def _refuse_unsigned(signed: Mapping[str, Head], heads: Mapping[str, Head]) -> None:
    """Refuse a plain backup that continues past its last checkpoint, where nothing is signed."""
    unsigned = {
        stream: (signed[stream].version if stream in signed else 0, head.version)
        for stream, head in sorted(heads.items())
        if signed.get(stream) != head
    }
    if not heads:
        raise TamperedData("the backup", "holds no entries")
    if unsigned:
        count = sum(last - first for first, last in unsigned.values())
        streams = ", ".join(
            describe_versions(stream, first + 1, last) for stream, (first, last) in unsigned.items()
        )
        raise TamperedData(
            "the backup",
            f"no checkpoint signs its last {count} entries ({streams}), so anybody could have"
            " added them; it is not restored",
        )


def _find_given_up(
    last: Checkpoint | None,
    checkpoints: Sequence[Checkpoint],
    heads: Mapping[str, Head],
    outside: Iterable[ExternalCheckpoint],
) -> GivenUp:
    """Return what checkpoints kept outside have signed and the backup lacks, up to the last one."""
    if last is None:
        return GivenUp()
    number, versions = checkpoints[-1].number if checkpoints else 0, dict[str, int]()
    for each in outside:
        if isinstance(each, Checkpoint) and each.number > number:
            for stream, (version, _) in decode_checkpoint(each).heads.items():
                versions[stream] = max(version, versions.get(stream, 0))
    kept = {stream: heads.get(stream, EMPTY_HEAD).version for stream in versions}
    return GivenUp(
        last,
        (number + 1, last.number),
        {
            stream: (kept[stream] + 1, version)
            for stream, version in sorted(versions.items())
            if version > kept[stream]
        },
    )


# --- filling the database -----------------------------------------------------------------------


def restore_backup(
    backup: VerifiedBackup,
    url: str,
    *,
    state_dir: Path,
    by: str,
    now: int,
    progress: Progress | None = None,
) -> HouseRestored:
    """Restore a verified backup into an empty database and its state directory.

    Runs within `mark_restore`, which ends when everything else is restored, too.
    Returns the event in the log. If this backup was restored before and nothing was written since,
    only what an interruption may have left undone is done, and the former event returned.
    """
    refuse_leftover_files(url)
    files = plan_state_files(backup.manifest, state_dir) if backup.manifest else {}

    def fill(target: EmptyDatabase) -> None:
        known_keys = state_dir / keys.KNOWN_KEYS_FILE
        adds_known_keys = backup.manifest is None and not known_keys.exists()
        mark_added_files(state_dir, [*files, *([known_keys.name] if adds_known_keys else [])])
        write_state_files(files, state_dir)
        if backup.manifest is None:
            keys.save_known_keys(state_dir, backup.public_keys)
        _fill(target, backup, state_dir=state_dir, by=by, now=now)
        report = verify_log(target.rows, public_keys=backup.public_keys, progress=progress)
        people = tuple(compare_people(target.rows, is_house=True).findings)
        _refuse_unsound(replace(report, findings=report.findings + people), "the copy")

    with translate_copy_errors():
        fill_empty(url, fill, unless=partial(_is_restored, backup))
    clear_halt(state_dir)
    with closing(open_store(url, tables="require")) as store:
        if keys.has_signing_key(state_dir):
            CheckpointSigner(store, keys.open_keys(state_dir), state_dir)  # completes its file
        (entry,) = store.read(HOUSE_STREAM, store.head(HOUSE_STREAM).version - 1)
    event = decode(entry)
    assert isinstance(event, HouseRestored)
    return event


def _fill(
    target: EmptyDatabase, backup: VerifiedBackup, *, state_dir: Path, by: str, now: int
) -> None:
    """Copy all tables, and add the restore itself."""
    target.clear_facts()
    with open_sqlite_rows(backup.database) as rows:
        added = _record_restore(backup, read_stored_heads(rows), state_dir, by, now)
        for table in all_tables():
            if table.name != schema.streams.name:
                for chunk in rows.chunks(table):
                    target.fill(table, select_copied_rows(table, chunk))
            target.fill(table, added.get(table.name, []))


def _record_restore(
    backup: VerifiedBackup, heads: dict[str, Head], state_dir: Path, by: str, now: int
) -> dict[str, list[StoredRow]]:
    """Extend the house's stream by the restore; return the rows that differ from the backup.

    These are the entry and its answer, all heads with their MACs, and a checkpoint.
    """
    event = HouseRestored(
        by=by,
        backup=backup.digest,
        backup_at=backup.created,
        checkpoint=backup.last_checkpoint.number if backup.last_checkpoint else 0,
        given_up_checkpoints=backup.given_up.checkpoints,
        given_up=backup.given_up.versions,
    )
    key, command_hash = f"restore {backup.digest}", bytes.fromhex(backup.digest)
    cause = hash_cause(by, key, command_hash)
    before = heads.get(HOUSE_STREAM, EMPTY_HEAD)
    (entry,), head = extend_stream(before, HOUSE_STREAM, now, cause, [encode(event)])
    heads[HOUSE_STREAM] = head
    span = EntrySpan(HOUSE_STREAM, head.version, head.version)
    macs = read_head_macs(state_dir)
    return {
        schema.entries.name: [astuple(entry)],
        schema.answers.name: [(by, key, command_hash, encode_spans((span,)), b"")],
        schema.streams.name: [
            (name, each.version, each.hash, macs.compute(name, each) if macs else b"")
            for name, each in heads.items()
        ],
        schema.meta.name: [(ADOPTED_KEY, macs.key_id)] if macs else [],
        schema.checkpoints.name: [
            astuple(
                sign_restore(
                    keys.open_keys(state_dir), now, heads, backup.checkpoints, backup.given_up.last
                )
            )
            for _ in range(keys.has_signing_key(state_dir))
        ],
    }


def _is_restored(backup: VerifiedBackup, rows: LogRows) -> bool:
    """Return whether this backup was restored into a database, and nothing written since."""
    heads = read_stored_heads(rows)
    stored = heads.pop(HOUSE_STREAM, None)
    with open_sqlite_rows(backup.database) as backup_rows:
        expected = read_stored_heads(backup_rows)
    before = expected.pop(HOUSE_STREAM, EMPTY_HEAD)
    if stored is None or heads != expected or stored.version != before.version + 1:
        return False
    *_, last = chain.from_iterable(rows.chunks(schema.entries, [HOUSE_STREAM]))
    event = decode(Entry(*last))
    return isinstance(event, HouseRestored) and event.backup == backup.digest
