"""`threedice backup` and `restore` on a database with played rounds."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import People
from tests.log.inspection import all_snapshots
from threedice.account.events import AccountOpened, Deposited
from threedice.house.codec import encode
from threedice.house.house import House
from threedice.house.reports.projection import VIEW
from threedice.log.entry import EMPTY_HEAD, extend_stream, hash_cause
from threedice.log.records import Append, Proposal
from threedice.log.stores.files import clear_halt, mark_halted
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Result, Run


@dataclass(frozen=True)
class BackupCommands:
    """Back up a house to a file, and restore the file to another database."""

    run: Run
    house: Path
    database: Option

    @property
    def copy(self) -> Path:
        return self.house / "copy"

    @property
    def restored_file(self) -> Path:
        return self.house / "again.sqlite"

    @property
    def restored(self) -> Option:
        return ("--database", f"sqlite:///{self.restored_file}")

    @property
    def keys(self) -> Option:
        return ("--keys", str(self.house / "keys.json"))

    def back_up(self, *options: str) -> Result:
        return self.run("backup", str(self.copy), *options, *self.database)

    def restore(self, *options: str) -> Result:
        return self.run("restore", str(self.copy), *self.keys, *options, *self.restored)

    def tamper(self, sql: str) -> None:
        """Change the backup without the program."""
        with closing(sqlite3.connect(self.copy)) as connection, connection:
            connection.execute(sql)


@pytest.fixture
def commands(house: Path, run: Run, database: Option) -> BackupCommands:
    """Export the public keys of the house, against which backups are restored."""
    commands = BackupCommands(run, house, database)
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    return commands


def test_backup_restored_to_another_database_verifies(commands: BackupCommands, run: Run) -> None:
    assert "entries" in commands.back_up().out

    assert commands.restore().out.endswith("restored and verified\n")
    assert run("log", "verify", *commands.keys, *commands.restored).code == 0


def test_backup_and_restore_do_not_overwrite_a_file(commands: BackupCommands) -> None:
    commands.back_up()
    commands.restore()

    assert commands.back_up().code == 2
    assert commands.restore().code == 2


def test_changed_backup_is_not_restored(commands: BackupCommands) -> None:
    commands.back_up()
    commands.tamper("UPDATE entries SET at = at + 1 WHERE version = 3")

    result = commands.restore()

    assert result.code == 2
    assert "not restored" in result.err


def test_backup_that_lacks_the_game_of_a_round_is_not_restored(commands: BackupCommands) -> None:
    commands.back_up()
    commands.tamper("DELETE FROM games WHERE CAST(canonical AS TEXT) LIKE '%macau%'")

    result = commands.restore()

    assert result.code == 2
    assert "table/two version 1" in result.err
    assert not commands.restored_file.exists()


def test_restore_rebuilds_statements_and_snapshots(
    commands: BackupCommands, house: Path, run: Run
) -> None:
    commands.back_up()

    assert commands.restore().code == 0
    with (
        closing(SqliteStore(house / "house.sqlite")) as before,
        closing(SqliteStore(commands.restored_file)) as after,
    ):
        assert after.lines(VIEW) == before.lines(VIEW) != []
        assert [each.stream for each in all_snapshots(after)] == ["table/one", "table/two"]
    assert run("log", "verify", *commands.restored).code == 0


def forge_deposit(database: Path, amount: int) -> None:
    """Append a deposit with valid hashes, as an intruder with database access could."""
    with closing(SqliteStore(database)) as store:
        cause = hash_cause("eve", f"k{amount}", bytes(32))
        opened = AccountOpened(player="eve", currency="SGD", by="cashier")
        paid = Deposited(player="eve", amount=amount, by="cashier")
        records = [encode(opened), encode(paid)]
        entries, _ = extend_stream(EMPTY_HEAD, "cage/eve", 2**50, cause, records)
        append = Append("cage/eve", EMPTY_HEAD, entries)
        store.write([Proposal("eve", f"k{amount}", bytes(32), (append,))])


def test_backup_includes_and_signs_entries_after_the_last_checkpoint(
    commands: BackupCommands, house: Path, run: Run
) -> None:
    forge_deposit(house / "house.sqlite", 700)

    assert commands.back_up().code == 0
    checkpoints = house / "house.sqlite.state" / "checkpoints.jsonl"
    assert commands.restore("--against", str(checkpoints)).code == 0
    with closing(SqliteStore(commands.restored_file)) as store:
        assert store.head("cage/eve").version == 2
    assert run("log", "verify", *commands.database).code == 0


def test_backup_of_a_house_in_service_holds_the_entries_so_far(
    commands: BackupCommands, house: Path, run: Run
) -> None:
    async def serve() -> None:
        async with House(f"sqlite:///{house}/house.sqlite") as serving:
            await People(serving.command_handler, "three").open()
            assert (await asyncio.to_thread(commands.back_up)).code == 0
            await People(serving.command_handler, "four").open()
        assert serving.background_error == ""

    asyncio.run(serve())

    assert commands.restore().code == 0
    with closing(SqliteStore(commands.restored_file)) as store:
        assert store.streams() == ["table/one", "table/three", "table/two"]
    assert run("log", "verify", *commands.database).code == 0


def test_backup_with_a_forged_deposit_is_not_restored(commands: BackupCommands) -> None:
    commands.back_up()
    forge_deposit(commands.copy, 7_000_000)

    result = commands.restore()

    assert result.code == 2
    assert "no checkpoint signs its last 2 entries (cage/eve versions 1 to 2)" in result.err


def test_backup_without_the_signing_key_ends_at_the_last_checkpoint(
    commands: BackupCommands, house: Path
) -> None:
    forge_deposit(house / "house.sqlite", 700)
    (house / "house.sqlite.state/keys/signing.pem").unlink()

    refused = commands.back_up()
    assert refused.code == 2
    assert "--no-checkpoint" in refused.err
    assert not commands.copy.exists()

    assert commands.back_up("--no-checkpoint").code == 0
    assert commands.restore().code == 0
    with closing(SqliteStore(commands.restored_file)) as store:
        assert store.streams() == ["table/one", "table/two"]


@pytest.mark.parametrize("where", ["database", "state folder"])
def test_backup_while_writing_is_halted_signs_no_checkpoint(
    commands: BackupCommands, house: Path, where: str
) -> None:
    with closing(SqliteStore(house / "house.sqlite")) as store:
        if where == "database":
            store.suspend("the disk is full")
        before = store.checkpoints()
    if where == "state folder":
        clear_halt(house / "house.sqlite.state")
        mark_halted(house / "house.sqlite.state")

    assert "writing is halted" in commands.back_up().err
    assert commands.back_up("--no-checkpoint").code == 0
    with closing(SqliteStore(house / "house.sqlite")) as store:
        assert store.checkpoints() == before


def test_restore_against_checkpoints_with_a_malformed_line_is_refused(
    commands: BackupCommands, house: Path
) -> None:
    commands.back_up()
    file = house / "house.sqlite.state" / "checkpoints.jsonl"
    file.write_bytes(file.read_bytes() + b"nonsense\n")

    result = commands.restore("--against", str(file))

    assert result.code == 2
    assert "is not a checkpoint" in result.err
    assert not commands.restored_file.exists()


def test_restored_house_plays_on_and_verifies(
    commands: BackupCommands, house: Path, run: Run
) -> None:
    commands.back_up()
    commands.restore()

    async def play_on() -> None:
        async with House(f"sqlite:///{commands.restored_file}") as reopened:
            await People(reopened.command_handler, "three").open()

    asyncio.run(play_on())

    assert run("log", "verify", *commands.restored).code == 0
    second, keys = house / "second", house / "all-keys.json"
    keys.write_text(run("keys", "export", *commands.restored).out)
    run("backup", str(second), *commands.restored)
    third = ("--database", f"sqlite:///{house}/third.sqlite")
    assert run("restore", str(second), "--keys", str(keys), *third).code == 0
