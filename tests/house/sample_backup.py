"""A small house with a log, accounts and keys, to back up and to restore."""

from __future__ import annotations

import shutil
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyotp
import pyrage

from tests.log.proposals import bet
from threedice.house.backup.container import Decryption, Encryption
from threedice.house.backup.create import create_backup
from threedice.house.backup.restore import open_backup, restore_backup
from threedice.house.backup.restore_mark import mark_restore
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.head_macs import open_head_macs
from threedice.log.proof.keys import open_keys, read_public_keys
from threedice.log.records import ProjectionLine, Snapshot
from threedice.log.stores.rows import open_rows
from threedice.log.stores.table_copies import META_TABLES, OWN_FACTS, all_tables, read_rows
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.house.backup.create import BackupSummary
    from threedice.house.events import HouseRestored
    from threedice.identity import IdentityService
    from threedice.log.records import Checkpoint
    from threedice.log.store import Store
    from threedice.log.stores.rows import LogRows

IDENTITY = pyrage.x25519.Identity.generate()
TO_RECIPIENT = Encryption([IDENTITY.to_public()])
WITH_IDENTITY = Decryption([IDENTITY])
PASSWORD = "a long and quiet river"
HOUSE_FILE = b'name = "The house"\n'
NOON = 1_900_000_000_000_000
MINUTE = 60_000_000

Rows = dict[str, list[tuple[Any, ...]]]


@dataclass
class SampleHouse:
    """A database with its state directory, and the secrets of its people."""

    url: str
    state: Path
    now: int = NOON
    secrets: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def store(self) -> Iterator[Store]:
        with closing(open_store(self.url)) as store:
            store.head_macs = open_head_macs(store.database, self.state)
            yield store

    @contextmanager
    def identity(self) -> Iterator[IdentityService]:
        with closing(
            open_identity(self.url, state=self.state, cost=TEST_COST, clock=lambda: self.now)
        ) as identity:
            yield identity

    def fill(self) -> None:
        """Write rows into every table of the log, and enrol a player and a supervisor."""
        canonical = b'{"game": "tai sai"}'
        with self.store() as store:
            games = {sha256(canonical).hexdigest(): canonical}
            bet(store, "table/1", "cage/ann", entries=3, games=games)
            bet(store, "table/2", account="bob", data=bytes(range(256)))
            store.save_snapshot(Snapshot("table/1", "table", "1", store.head("table/1"), b"state"))
            line = ProjectionLine("results", "", "table/1", 3, 0, 7, b"4-5-6")
            store.project("results", "table/1", 0, 3, [line])
            store.set_person("ann", b'{"name":"Ann","born":"1990-01-31"}')
            store.acquire_lease("driver of table/1", "server 1", 60)
        with self.identity() as identity:
            identity.accounts.add("adam", ["administrator"], password=PASSWORD)
            identity.accounts.add("ann", ["player"], password=PASSWORD)
            sam = identity.accounts.add("sam", ["supervisor"], password=PASSWORD).account
            issued = identity.authentication.sign_in("sam", PASSWORD, address="::1")
            secret = identity.second_factors.begin_enrolment(issued.token, password=PASSWORD).secret
            code = pyotp.TOTP(secret).at(self.now // 1_000_000)
            confirmed = identity.second_factors.confirm_enrolment(issued.token, code)
            self.secrets["code"] = secret
            self.secrets["session"] = confirmed.issued_session.token
            identity.assignments.add(
                sam.id, "1", "supervisor", starts=self.now, until=self.now + 60 * MINUTE
            )

    def sign(self) -> Checkpoint:
        """Sign a checkpoint."""
        with self.store() as store:
            signer = CheckpointSigner(store, open_keys(self.state), self.state)
            return signer.create_checkpoint(at=self.now)

    def back_up(self, file: Path, encryption: Encryption = TO_RECIPIENT) -> BackupSummary:
        open_keys(self.state)
        with self.store() as store, open_rows(store) as rows:
            return self.write_backup(rows, file, encryption)

    def write_backup(
        self, rows: LogRows, file: Path, encryption: Encryption = TO_RECIPIENT
    ) -> BackupSummary:
        return create_backup(
            rows,
            file,
            state_dir=self.state,
            house_file=HOUSE_FILE,
            encryption=encryption,
            program="1.0",
            now=self.now,
        )

    def restore(self, file: Path, outside: Sequence[Checkpoint] = ()) -> HouseRestored:
        """Restore a backup into this house's database and state directory."""
        with (
            mark_restore(self.url, self.state),
            open_backup(
                file,
                folder=self.state,
                decryption=WITH_IDENTITY,
                trusted=None,
                own_keys=read_public_keys(self.state),
                outside=outside,
            ) as opened,
        ):
            return restore_backup(
                opened, self.url, state_dir=self.state, by="olga", now=self.now + MINUTE
            )

    def lose_database(self) -> None:
        """Remove the database, but not the state directory."""
        file = self.state.with_name("house.sqlite")
        for path in file.parent.glob(f"{file.name}*"):
            if path.is_file():
                path.unlink()

    def lose_everything(self) -> None:
        self.lose_database()
        shutil.rmtree(self.state, ignore_errors=True)

    def rows(self) -> Rows:
        """Return the rows of every table that a backup holds, without MACs and own facts."""
        with self.store() as store, open_rows(store) as rows:
            found = {table.name: list(read_rows(rows, table)) for table in all_tables()}
        for name in META_TABLES:
            found[name] = [row for row in found[name] if row[0] not in OWN_FACTS]
        return found | {"streams": [row[:3] for row in found["streams"]]}


def without_restore(rows: Rows) -> Rows:
    """Leave out what a restore adds to a house that has no stream of its own."""
    added = {"streams": "house", "entries": "house", "answers": "olga"}
    kept = {
        name: [row for row in found if row[0] != added.get(name)] for name, found in rows.items()
    }
    return kept | {"checkpoints": kept["checkpoints"][:-1]}
