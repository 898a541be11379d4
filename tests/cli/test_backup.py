"""`threedice backup`, `restore` and `log copy` on a house with played rounds."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import sqlite3
from base64 import b64decode
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyrage
import pytest

from tests.contract import old_databases, recordings
from tests.house.house_driver import People
from tests.log.inspection import all_snapshots
from threedice.house.backup import container, restore
from threedice.house.house import House
from threedice.house.reports.projection import VIEW
from threedice.log.proof.keys import export_public_keys, open_keys
from threedice.log.stores.files import clear_halt, mark_halted
from threedice.log.stores.sqlite import SqliteStore
from threedice.version import describe_version

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Result, Run

HOUSE_FILE = 'name = "The house"\n'


@dataclass(frozen=True)
class BackupCommands:
    """Back up a house to a file, and restore the file to another database."""

    run: Run
    house: Path
    database: Option
    identity: pyrage.x25519.Identity

    @property
    def saved(self) -> Path:
        return self.house / "saved"

    @property
    def restored_file(self) -> Path:
        return self.house / "again.sqlite"

    @property
    def restored(self) -> Option:
        return ("--database", f"sqlite:///{self.restored_file}")

    def back_up(self, *options: str) -> Result:
        recipient = ("--recipient", str(self.identity.to_public()))
        return self.run("backup", str(self.saved), *recipient, *options, *self.database)

    def restore(self, *options: str) -> Result:
        identity = ("--identity", str(self.house / "identity"))
        return self.run("restore", str(self.saved), *identity, *options, *self.restored)


@pytest.fixture
def commands(
    house: Path, run: Run, database: Option, monkeypatch: pytest.MonkeyPatch
) -> BackupCommands:
    """Write the identity that opens the backups, in a place of its own for house files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(house / "config"))
    identity = pyrage.x25519.Identity.generate()
    (house / "identity").write_text(f"# made for a test\n{identity}\n")
    return BackupCommands(run, house, database, identity)


def test_restored_house_verifies_and_has_its_statements(commands: BackupCommands, run: Run) -> None:
    assert "entries" in commands.back_up().out

    result = commands.restore()

    assert (result.code, result.err) == (0, "")
    assert "2 tables" in result.out
    assert run("log", "verify", *commands.restored).code == 0
    with (
        closing(SqliteStore(commands.house / "house.sqlite")) as before,
        closing(SqliteStore(commands.restored_file)) as after,
    ):
        assert after.lines(VIEW) == before.lines(VIEW) != []
        streams = [each.stream for each in all_snapshots(after)]
        assert streams == ["house", "table/one", "table/two"]


def test_doctor_knows_the_last_backup(commands: BackupCommands, run: Run) -> None:
    commands.back_up()
    assert f"{commands.saved}, " in run("doctor", *commands.database).out


def test_check_verifies_a_backup_and_restores_nothing(commands: BackupCommands) -> None:
    commands.back_up()
    result = commands.restore("--check")
    assert (result.code, "nothing was restored" in result.out) == (0, True)
    assert f"made by threedice {describe_version()}\n" in result.out
    assert not commands.restored_file.exists()


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
        tables = [name for name in store.streams() if name.startswith("table/")]
    assert tables == ["table/one", "table/three", "table/two"]
    assert run("log", "verify", *commands.database).code == 0


def test_restored_house_plays_on_and_verifies(commands: BackupCommands, run: Run) -> None:
    commands.back_up()
    commands.restore()

    async def play_on() -> None:
        async with House(f"sqlite:///{commands.restored_file}") as reopened:
            await People(reopened.command_handler, "three").open()

    asyncio.run(play_on())

    assert run("log", "verify", *commands.restored).code == 0


@pytest.mark.parametrize("where", ["database", "state folder"])
def test_house_that_is_halted_can_be_backed_up(
    commands: BackupCommands, house: Path, where: str
) -> None:
    if where == "database":
        with closing(SqliteStore(house / "house.sqlite")) as store:
            store.suspend("the disk is full")
    else:
        clear_halt(house / "house.sqlite.state")
        mark_halted(house / "house.sqlite.state")
    assert commands.back_up().code == 0
    assert commands.restore().code == 0


def test_house_that_was_cut_back_is_not_backed_up(commands: BackupCommands, house: Path) -> None:
    with closing(sqlite3.connect(house / "house.sqlite")) as connection, connection:
        connection.execute("DELETE FROM checkpoints")
    result = commands.back_up()
    assert (result.code, "kept outside the store, but missing in it" in result.err) == (2, True)
    assert not commands.saved.exists()


def test_backup_needs_a_passphrase_or_a_recipient(commands: BackupCommands, run: Run) -> None:
    result = run("backup", str(commands.saved), *commands.database)
    assert result.code == 2
    assert "--passphrase-file" in result.err
    assert "form age1" in run("backup", "x", "--recipient", "age2", *commands.database).err


@pytest.mark.parametrize(
    "passphrase",
    ["a", "1234", "password", "    ", "correct horse", "Threedice Palace", "aaaaaaaaaaaaaaaaaaaa"],
)
def test_passphrase_that_is_easy_to_guess_is_refused_for_a_new_backup(
    commands: BackupCommands,
    house: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    passphrase: str,
) -> None:
    (house / "house.toml").write_text('name = "Threedice Palace"\n', encoding="utf-8")
    monkeypatch.setenv("THREEDICE_BACKUP_PASSPHRASE", passphrase)

    given = ("--house", str(house / "house.toml"), *commands.database)
    result = run("backup", str(commands.saved), *given)

    assert result.code == 2
    assert "too easy to guess" in result.err
    assert "four random words" in result.err
    assert not commands.saved.exists()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620])
def test_passphrase_file_that_is_open_to_others_is_refused_for_a_new_backup(
    commands: BackupCommands, house: Path, run: Run, mode: int
) -> None:
    file = house / "passphrase"
    file.write_text("four words are enough\n", encoding="utf-8")
    file.chmod(mode)

    given = ("--passphrase-file", str(file), *commands.database)
    result = run("backup", str(commands.saved), *given)

    assert (result.code, f"run chmod 0600 {file}" in result.err) == (2, True)
    assert not commands.saved.exists()
    file.chmod(0o600)
    assert run("backup", str(commands.saved), *given).code == 0


def test_older_backup_with_a_weak_passphrase_is_restored(
    commands: BackupCommands, house: Path, run: Run
) -> None:
    commands.back_up()
    plain = io.BytesIO()
    container.decrypt(commands.saved, plain, container.Decryption([commands.identity]))
    with commands.saved.open("wb") as older:
        container.encrypt(io.BytesIO(plain.getvalue()), older, container.Encryption((), "1234"))
    (house / "passphrase").write_text("1234\n", encoding="utf-8")
    (house / "passphrase").chmod(0o644)

    given = ("--passphrase-file", str(house / "passphrase"), *commands.restored)
    result = run("restore", str(commands.saved), *given)

    assert (result.code, result.err) == (0, "")


def test_backup_for_a_recipient_is_not_opened_without_an_identity(
    commands: BackupCommands, run: Run
) -> None:
    commands.back_up()
    result = run("restore", str(commands.saved), *commands.restored)
    assert (result.code, "--identity" in result.err) == (2, True)


def test_backup_of_another_house_is_not_restored_with_given_keys(
    commands: BackupCommands, house: Path
) -> None:
    commands.back_up()
    foreign = export_public_keys(open_keys(house / "foreign").public.values())
    (house / "other.json").write_bytes(foreign)
    result = commands.restore("--keys", str(house / "other.json"))
    assert (result.code, "is not one of this house's" in result.err) == (2, True)
    assert not commands.restored_file.exists()


def test_restore_against_checkpoints_with_a_malformed_line_is_refused(
    commands: BackupCommands, house: Path
) -> None:
    commands.back_up()
    file = house / "house.sqlite.state" / "checkpoints.jsonl"
    file.write_bytes(file.read_bytes() + b"nonsense\n")

    result = commands.restore("--against", str(file))

    assert (result.code, "is not a checkpoint" in result.err) == (2, True)
    assert not commands.restored_file.exists()


# --- an older backup next to the house's own keys ---------------------------------------------


@pytest.fixture
def moved_on(commands: BackupCommands, house: Path) -> Path:
    """Play on after a backup, keep a copy of the checkpoints, and lose the database."""

    async def play_on() -> None:
        async with House(f"sqlite:///{house}/house.sqlite") as serving:
            await People(serving.command_handler, "three").open()

    assert commands.back_up().code == 0
    asyncio.run(play_on())
    state = house / "house.sqlite.state"
    kept = house / "kept.jsonl"
    kept.write_bytes((state / "checkpoints.jsonl").read_bytes())
    (house / "lost").mkdir()
    for file in house.glob("house.sqlite*"):
        if file.is_file():
            file.rename(house / "lost" / file.name)
    return kept


def test_older_backup_is_restored_next_to_the_state_directory_of_the_house(
    commands: BackupCommands, house: Path, moved_on: Path, run: Run
) -> None:
    identity = ("--identity", str(house / "identity"))
    words = ("restore", str(commands.saved), *identity, "--by", "olga", *commands.database)
    result = run(*words)

    assert (result.code, result.err) == (0, "")
    assert "given up: checkpoints" in result.out
    assert "table/three versions 1 to" in result.out
    kept = ("--against", str(moved_on))
    for against in ((), kept):
        verified = run("log", "verify", *against, *commands.database)
        assert (verified.code, "restored at" in verified.out) == (0, True), verified.out
    with closing(SqliteStore(house / "house.sqlite")) as store:
        (entry,) = store.read("house")
    assert json.loads(entry.data)["by"] == "olga"

    async def play_on() -> None:
        async with House(f"sqlite:///{house}/house.sqlite") as serving:
            await People(serving.command_handler, "four").open()

    asyncio.run(play_on())
    assert run("log", "verify", *kept, *commands.database).code == 0
    assert run(*words).code == 2


def test_older_backup_is_restored_elsewhere_against_checkpoints_of_the_house(
    commands: BackupCommands, moved_on: Path, run: Run
) -> None:
    result = commands.restore("--against", str(moved_on))

    assert (result.code, "given up: checkpoints" in result.out) == (0, True)
    verified = run("log", "verify", "--against", str(moved_on), *commands.restored)
    assert verified.code == 0, verified.out


def test_restore_that_did_not_know_the_kept_checkpoints_is_named_with_the_remedy(
    commands: BackupCommands, moved_on: Path, run: Run
) -> None:
    assert commands.restore().code == 0

    verified = run("log", "verify", "--against", str(moved_on), *commands.restored)

    assert verified.code == 1
    assert "was restored without it; restore the backup again with --against" in verified.out


def test_older_database_put_back_without_a_restore_is_still_a_cut_tail(
    commands: BackupCommands, house: Path, moved_on: Path, run: Run
) -> None:
    commands.restore()
    commands.restored_file.rename(house / "house.sqlite")
    verified = run("log", "verify", "--against", str(moved_on), *commands.database)
    assert (verified.code, "threedice restore" in verified.out) == (1, True), verified.out


# --- house file ---------------------------------------------------------------------------------


def test_commands_refuse_a_restore_that_a_full_disk_interrupted_until_it_is_repeated(
    commands: BackupCommands, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.back_up()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(restore, "write_state_files", fail)
        result = commands.restore()
    assert (result.code, "free space, then run the same command again" in result.err) == (2, True)
    assert "restart" not in result.err
    for words in (
        ("users", "add", "ann", "--role", "player"),
        ("users", "list"),
        ("keys", "export"),
        ("keys", "rotate"),
        ("migrate",),
        ("backup", str(commands.house / "other"), "--recipient", "age1"),
    ):
        result = run(*words, *commands.restored)
        assert (result.code, "run the same threedice restore command again" in result.err) == (
            2,
            True,
        ), words
    assert "a restore was interrupted here" in run("doctor", *commands.restored).out
    assert commands.restore().code == 0
    assert run("users", "list", *commands.restored).code == 0
    assert "a restore was interrupted" not in run("doctor", *commands.restored).out


def test_house_file_goes_where_it_is_wanted_and_replaces_none(
    commands: BackupCommands, house: Path
) -> None:
    (house / "house.toml").write_text(HOUSE_FILE)
    assert "house file" in commands.back_up("--house", str(house / "house.toml")).out
    (house / "another.toml").write_text("another")
    refused = commands.restore("--house", str(house / "another.toml"))
    assert (refused.code, commands.restored_file.exists()) == (2, False)

    assert commands.restore("--house", str(house / "new.toml")).code == 0

    assert (house / "new.toml").read_text() == HOUSE_FILE
    assert (house / "another.toml").read_text() == "another"


def test_folder_as_the_house_file_is_refused_before_anything_is_restored(
    commands: BackupCommands, house: Path
) -> None:
    (house / "house.toml").write_text(HOUSE_FILE, encoding="utf-8")
    commands.back_up("--house", str(house / "house.toml"))

    result = commands.restore("--house", str(house))

    assert result.code == 2
    assert f"{house} is a folder" in result.err
    assert not commands.restored_file.exists()
    assert not commands.restored_file.with_name("again.sqlite.state").exists()


def test_own_house_file_that_differs_is_kept_and_the_other_one_named(
    commands: BackupCommands, house: Path
) -> None:
    (house / "house.toml").write_text(HOUSE_FILE)
    commands.back_up("--house", str(house / "house.toml"))
    own = house / "config/threedice/house.toml"
    own.parent.mkdir(parents=True)
    own.write_text("edited since")

    result = commands.restore()

    named = house / "again.sqlite.state/house.toml"
    assert f"house file: {named}" in result.out
    assert (own.read_text(), named.read_text()) == ("edited since", HOUSE_FILE)


def test_backup_without_a_house_file_says_so(commands: BackupCommands) -> None:
    assert "no house file" in commands.back_up().out
    assert "house file:" not in commands.restore().out


# --- plain files --------------------------------------------------------------------------------


@pytest.fixture
def plain(house: Path) -> dict[str, str]:
    """Write a backup of an earlier version with its public keys; return its state directory."""
    sql = (recordings.FOLDER / "old-backup.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(house / "saved")) as connection:
        connection.executescript(sql)
    state: dict[str, str] = recordings.read("old-sqlite.json")["state"]
    records = [state[name] for name in state if name.startswith("keys/") and "json" in name]
    keys = [json.loads(b64decode(record)) for record in records]
    (house / "keys.json").write_text(json.dumps(keys))
    return state


def test_backup_of_an_earlier_version_is_restored_and_its_players_get_accounts(
    commands: BackupCommands, plain: dict[str, str], house: Path, run: Run
) -> None:
    assert plain
    assert "--keys" in commands.restore().err

    result = commands.restore("--keys", str(house / "keys.json"))

    assert (result.code, result.err) == (0, "")
    assert "neither sign-ins nor keys" in result.out
    (line,) = (line for line in result.out.splitlines() if line.endswith("# Ann"))
    words = line.strip().removeprefix("threedice ").split()
    words[words.index("NAME")] = "ann"
    assert run(*words[:-2], *commands.restored).code == 0
    assert "ann" in run("users", "list", *commands.restored).out
    words[words.index("ann")] = "annabel"
    assert "already an account with id" in run(*words[:-2], *commands.restored).err
    assert run("log", "verify", *commands.restored).code == 0


def test_backup_of_an_earlier_version_is_restored_beside_the_keys_of_the_house(
    commands: BackupCommands, plain: dict[str, str], house: Path, run: Run
) -> None:
    old_databases.restore_folder(
        {name: data for name, data in plain.items() if "key" in name},
        house / "again.sqlite.state",
    )
    assert commands.restore().code == 0
    with closing(SqliteStore(commands.restored_file)) as store:
        assert store.checkpoints()[-1].key_id == "0d4ed3f74828195a"
    assert run("log", "verify", *commands.restored).code == 0


def test_changed_backup_of_an_earlier_version_is_not_restored(
    commands: BackupCommands, plain: dict[str, str], house: Path
) -> None:
    assert plain
    for sql, finding in (
        ("UPDATE entries SET at = at + 1 WHERE version = 3", "version 3"),
        ("DELETE FROM games WHERE CAST(canonical AS TEXT) LIKE '%macau%'", "table/pit-3"),
        ("DELETE FROM checkpoints WHERE number > 4", "no checkpoint signs its last"),
    ):
        before = commands.saved.read_bytes()
        with closing(sqlite3.connect(commands.saved)) as connection, connection:
            connection.execute(sql)
        result = commands.restore("--keys", str(house / "keys.json"))
        assert (result.code, finding in result.err) == (2, True), result.err
        assert not commands.restored_file.exists()
        commands.saved.write_bytes(before)


def test_log_copy_is_verified_without_the_house(
    commands: BackupCommands, house: Path, run: Run
) -> None:
    copy = house / "copy.sqlite"
    (house / "keys.json").write_text(run("keys", "export", *commands.database).out)
    assert run("log", "copy", str(copy), *commands.database).code == 0
    verified = run("log", "verify", "--database", str(copy), "--keys", str(house / "keys.json"))
    assert verified.code == 0
    assert run("log", "copy", str(copy), *commands.database).code == 2
    assert "not a backup" in run("restore", str(copy), *commands.restored).err
