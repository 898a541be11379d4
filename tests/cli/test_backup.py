"""`threedice backup` and `restore` on a database with played rounds."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.house.setting import People
from tests.log.stored import all_snapshots
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

    from tests.cli.conftest import Result, Run


def test_backup_restored_to_another_database_verifies(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    keys = ("--keys", str(house / "keys.json"))

    assert "entries" in run("backup", str(house / "copy"), *database).out
    restored = run("restore", str(house / "copy"), *keys, *elsewhere)

    assert restored.out.endswith("restored and verified\n")
    assert run("log", "verify", *keys, *elsewhere).code == 0
    again = run("restore", str(house / "copy"), *keys, *elsewhere)
    assert again.code == 2
    assert run("backup", str(house / "copy"), *database).code == 2


def restore_changed_backup(house: Path, run: Run, change: str) -> Result:
    """Back up the house, change the copy by SQL, and try to restore it."""
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    run("backup", str(house / "copy"), *database)
    with closing(sqlite3.connect(house / "copy")) as connection:
        connection.execute(change)
        connection.commit()
    return run(
        "restore", str(house / "copy"), "--keys", str(house / "keys.json"),
        "--database", f"sqlite:///{house}/again.sqlite",
    )  # fmt: skip


def test_changed_backup_is_not_restored(house: Path, run: Run) -> None:
    result = restore_changed_backup(house, run, "UPDATE entries SET at = at + 1 WHERE version = 3")

    assert result.code == 2
    assert "not restored" in result.err


def test_restore_rebuilds_statements_and_snapshots(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    run("backup", str(house / "copy"), *database)

    restored = run("restore", str(house / "copy"), "--keys", str(house / "keys.json"), *elsewhere)

    assert restored.code == 0
    with (
        closing(SqliteStore(house / "house.sqlite")) as before,
        closing(SqliteStore(house / "again.sqlite")) as after,
    ):
        assert after.lines(VIEW) == before.lines(VIEW) != []
        assert [each.stream for each in all_snapshots(after)] == ["table/one", "table/two"]
    assert run("log", "verify", *elsewhere).code == 0


def test_backup_that_lacks_the_game_of_a_round_is_not_restored(house: Path, run: Run) -> None:
    result = restore_changed_backup(
        house, run, "DELETE FROM games WHERE CAST(canonical AS TEXT) LIKE '%macau%'"
    )

    assert result.code == 2
    assert "table/two version 1" in result.err
    assert not (house / "again.sqlite").exists()


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


def test_backup_includes_and_signs_entries_after_the_last_checkpoint(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    forge_deposit(house / "house.sqlite", 700)

    assert run("backup", str(house / "copy"), *database).code == 0
    outside = ("--against", str(house / "house.sqlite.state" / "checkpoints.jsonl"))
    keys = ("--keys", str(house / "keys.json"))
    restored = run("restore", str(house / "copy"), *keys, *outside, *elsewhere)

    assert restored.code == 0
    with closing(SqliteStore(house / "again.sqlite")) as store:
        assert store.head("cage/eve").version == 2
    assert run("log", "verify", *database).code == 0


def test_backup_of_a_house_in_service_holds_the_entries_so_far(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)

    async def serve() -> None:
        async with House(f"sqlite:///{house}/house.sqlite") as serving:
            await People(serving.command_handler, "three").open()
            made = await asyncio.to_thread(run, "backup", str(house / "copy"), *database)
            assert made.code == 0
            await People(serving.command_handler, "four").open()
        assert serving.background_error == ""

    asyncio.run(serve())

    keys = ("--keys", str(house / "keys.json"))
    assert run("restore", str(house / "copy"), *keys, *elsewhere).code == 0
    with closing(SqliteStore(house / "again.sqlite")) as store:
        assert store.streams() == ["table/one", "table/three", "table/two"]
    assert run("log", "verify", *database).code == 0


def test_backup_with_a_forged_deposit_is_not_restored(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    run("backup", str(house / "copy"), *database)
    forge_deposit(house / "copy", 7_000_000)

    result = run(
        "restore", str(house / "copy"), "--keys", str(house / "keys.json"),
        "--database", f"sqlite:///{house}/again.sqlite",
    )  # fmt: skip

    assert result.code == 2
    assert "no checkpoint signs its last 2 entries (cage/eve versions 1 to 2)" in result.err


def test_backup_without_the_signing_key_ends_at_the_last_checkpoint(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    forge_deposit(house / "house.sqlite", 700)
    (house / "house.sqlite.state/keys/signing.pem").unlink()

    refused = run("backup", str(house / "copy"), *database)
    assert refused.code == 2
    assert "--no-checkpoint" in refused.err
    assert not (house / "copy").exists()

    assert run("backup", str(house / "copy"), "--no-checkpoint", *database).code == 0
    keys = ("--keys", str(house / "keys.json"))
    assert run("restore", str(house / "copy"), *keys, *elsewhere).code == 0
    with closing(SqliteStore(house / "again.sqlite")) as store:
        assert store.streams() == ["table/one", "table/two"]


@pytest.mark.parametrize("where", ["database", "state folder"])
def test_backup_while_writing_is_halted_signs_no_checkpoint(
    house: Path, run: Run, where: str
) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    with closing(SqliteStore(house / "house.sqlite")) as store:
        if where == "database":
            store.suspend("the disk is full")
        before = store.checkpoints()
    if where == "state folder":
        clear_halt(house / "house.sqlite.state")
        mark_halted(house / "house.sqlite.state")

    assert "writing is halted" in run("backup", str(house / "copy"), *database).err
    assert run("backup", str(house / "copy"), "--no-checkpoint", *database).code == 0
    with closing(SqliteStore(house / "house.sqlite")) as store:
        assert store.checkpoints() == before


def test_restore_against_checkpoints_with_a_malformed_line_is_refused(
    house: Path, run: Run
) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    run("backup", str(house / "copy"), *database)
    file = house / "house.sqlite.state" / "checkpoints.jsonl"
    file.write_bytes(file.read_bytes() + b"nonsense\n")

    result = run(
        "restore", str(house / "copy"), "--keys", str(house / "keys.json"),
        "--against", str(file), "--database", f"sqlite:///{house}/again.sqlite",
    )  # fmt: skip

    assert result.code == 2
    assert "is not a checkpoint" in result.err
    assert not (house / "again.sqlite").exists()


def test_restored_house_plays_on_and_verifies(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    run("backup", str(house / "copy"), *database)
    run("restore", str(house / "copy"), "--keys", str(house / "keys.json"), *elsewhere)

    async def play_on() -> None:
        async with House(f"sqlite:///{house}/again.sqlite") as again:
            await People(again.command_handler, "three").open()

    asyncio.run(play_on())

    assert run("log", "verify", *elsewhere).code == 0
    (house / "both.json").write_text(run("keys", "export", *elsewhere).out)
    run("backup", str(house / "second"), *elsewhere)
    third = ("--database", f"sqlite:///{house}/third.sqlite")
    assert (
        run("restore", str(house / "second"), "--keys", str(house / "both.json"), *third).code == 0
    )
