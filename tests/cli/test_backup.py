"""`threedice backup` and `restore`, on a house that has played."""

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


def test_a_backup_is_put_back_elsewhere_and_proved(house: Path, run: Run) -> None:
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


def restored_after(house: Path, run: Run, change: str) -> Result:
    """Try to put a backup back in which somebody has changed something."""
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


def test_a_backup_that_was_changed_is_not_put_back(house: Path, run: Run) -> None:
    result = restored_after(house, run, "UPDATE entries SET at = at + 1 WHERE version = 3")

    assert result.code == 2
    assert "not restored" in result.err


def test_a_restored_house_has_its_books_again(house: Path, run: Run) -> None:
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


def test_a_backup_without_a_game_that_a_round_pins_is_not_put_back(house: Path, run: Run) -> None:
    result = restored_after(
        house, run, "DELETE FROM games WHERE CAST(canonical AS TEXT) LIKE '%macau%'"
    )

    assert result.code == 2
    assert "table/two version 1" in result.err
    assert not (house / "again.sqlite").exists()


def deposit(database: Path, amount: int) -> None:
    """Add a deposit that hangs together, as somebody can who knows the tables."""
    with closing(SqliteStore(database)) as store:
        cause = hash_cause("eve", f"k{amount}", bytes(32))
        opened = AccountOpened(player="eve", currency="SGD", by="cashier")
        paid = Deposited(player="eve", amount=amount, by="cashier")
        records = [encode(opened), encode(paid)]
        entries, _ = extend_stream(EMPTY_HEAD, "cage/eve", 2**50, cause, records)
        append = Append("cage/eve", EMPTY_HEAD, entries)
        store.write([Proposal("eve", f"k{amount}", bytes(32), (append,))])


def test_a_backup_holds_what_happened_before_it_was_made_and_signs_it(
    house: Path, run: Run
) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    deposit(house / "house.sqlite", 700)

    assert run("backup", str(house / "copy"), *database).code == 0
    outside = ("--against", str(house / "house.sqlite.state" / "checkpoints.jsonl"))
    keys = ("--keys", str(house / "keys.json"))
    restored = run("restore", str(house / "copy"), *keys, *outside, *elsewhere)

    assert restored.code == 0
    with closing(SqliteStore(house / "again.sqlite")) as store:
        assert store.head("cage/eve").version == 2
    assert run("log", "verify", *database).code == 0


def test_a_backup_is_made_beside_a_house_in_service(house: Path, run: Run) -> None:
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


def test_a_deposit_invented_in_a_backup_is_not_put_back(house: Path, run: Run) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    run("backup", str(house / "copy"), *database)
    deposit(house / "copy", 7_000_000)

    result = run(
        "restore", str(house / "copy"), "--keys", str(house / "keys.json"),
        "--database", f"sqlite:///{house}/again.sqlite",
    )  # fmt: skip

    assert result.code == 2
    assert "no checkpoint signs its last 2 entries (cage/eve versions 1 to 2)" in result.err


def test_where_the_key_is_not_at_hand_a_backup_ends_at_the_last_checkpoint(
    house: Path, run: Run
) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    elsewhere = ("--database", f"sqlite:///{house}/again.sqlite")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    deposit(house / "house.sqlite", 700)
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


@pytest.mark.parametrize("where", ["in the store", "beside it"])
def test_a_backup_while_writing_is_halted_signs_nothing(house: Path, run: Run, where: str) -> None:
    database = ("--database", f"sqlite:///{house}/house.sqlite")
    with closing(SqliteStore(house / "house.sqlite")) as store:
        if where == "in the store":
            store.suspend("the disk is full")
        before = store.checkpoints()
    if where == "beside it":
        clear_halt(house / "house.sqlite.state")
        mark_halted(house / "house.sqlite.state")

    assert "writing is halted" in run("backup", str(house / "copy"), *database).err
    assert run("backup", str(house / "copy"), "--no-checkpoint", *database).code == 0
    with closing(SqliteStore(house / "house.sqlite")) as store:
        assert store.checkpoints() == before


def test_nothing_is_restored_against_checkpoints_with_a_garbled_line(house: Path, run: Run) -> None:
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


def test_a_restored_house_goes_on_and_stays_proved(house: Path, run: Run) -> None:
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
