"""`threedice keys`: keys that are lost, replaced with a second person, and rotated."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import sys
from contextlib import closing
from shutil import move, rmtree
from typing import TYPE_CHECKING, Any

import pyotp
import pytest

from tests.house.house_driver import People
from threedice.errors import StoreUnusable
from threedice.house.codec import decode
from threedice.house.events import KeysReplaced, SigningKeyRotated
from threedice.house.house import House
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.proof.keys import read_keys
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store, state_directory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Option, Result, Run
    from tests.log.postgres_server import PostgresServer

PASSWORD = "a long and quiet river"
ADAM, BERTA, SUE = (f"{name}\n{PASSWORD}\n" for name in ("adam", "berta", "sue"))


@pytest.fixture
def state(house: Path) -> Path:
    return house / "house.sqlite.state"


@pytest.fixture
def staffed(database: Option, state: Path, monkeypatch: pytest.MonkeyPatch) -> Option:
    """Add two administrators and a supervisor, all with the same password."""
    monkeypatch.setattr("threedice.cli.users.PASSWORD_COST", TEST_COST)
    monkeypatch.setattr("threedice.cli.keys.WRONG_ATTEMPT_SECONDS", 0)
    with closing(open_identity(database[1], state=state, cost=TEST_COST)) as identity:
        for name, role in (
            ("sue", "supervisor"),
            ("adam", "administrator"),
            ("berta", "administrator"),
        ):
            identity.accounts.add(name, [role], password=PASSWORD)
    return database


@pytest.fixture
def replace(run: Run, staffed: Option, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Result]:
    """Run `threedice keys replace` with some input."""

    def replace_keys(typed: str) -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return run("keys", "replace", "--reason", "the disk burnt", *staffed)

    return replace_keys


def house_events(url: str) -> list[Any]:
    with closing(open_store(url)) as store:
        return [decode(entry) for entry in store.scan("house")]


async def serve(url: str) -> None:
    async with House(url):
        pass


# --- a key is not created silently --------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("lost", ["keys/signing.pem", "keys/log.key", "keys", ""])
async def test_house_that_has_lost_its_keys_does_not_start(
    database: Option, state: Path, lost: str
) -> None:
    move(state / lost, state.with_name("lost"))

    with pytest.raises(StoreUnusable, match="threedice keys replace"):
        await serve(database[1])

    assert not (state / "keys" / "signing.pem").exists() or lost == "keys/log.key"


FORGET_LOG_KEY = "DELETE FROM meta WHERE name = 'mac-key'"
FORGET_PEOPLE_KEY = "DELETE FROM people_meta WHERE name = 'key'"


def change_rows(house: Path, *statements: str) -> None:
    with closing(sqlite3.connect(house / "house.sqlite")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("file", "statements"),
    [
        ("keys/log.key", [FORGET_LOG_KEY]),
        ("keys/log.key", [FORGET_LOG_KEY, "UPDATE streams SET mac = x''"]),
        ("people.key", [FORGET_PEOPLE_KEY]),
        ("people.key", [FORGET_PEOPLE_KEY, "DELETE FROM people_accounts"]),
    ],
)
async def test_key_is_not_created_anew_when_its_row_in_the_database_is_lost_as_well(
    house: Path, staffed: Option, state: Path, file: str, statements: list[str]
) -> None:
    url = staffed[1]
    (state / file).unlink()
    change_rows(house, *statements)

    with pytest.raises(StoreUnusable, match="threedice keys replace"):
        open_identity(url, state=state, cost=TEST_COST)
    if file == "keys/log.key":
        with pytest.raises(StoreUnusable, match="threedice keys replace"):
            await serve(url)
    assert not (state / file).exists()


@pytest.mark.anyio
async def test_keys_are_replaced_when_their_rows_in_the_database_are_lost_as_well(
    house: Path, replace: Callable[[str], Result], staffed: Option, state: Path
) -> None:
    rmtree(state)
    change_rows(house, FORGET_LOG_KEY, FORGET_PEOPLE_KEY)

    result = replace(f"yes\n{ADAM}{BERTA}")

    assert result.code == 0, result.err
    (event,) = [each for each in house_events(staffed[1]) if isinstance(each, KeysReplaced)]
    assert sorted(event.files) == ["keys/log.key", "keys/signing.pem", "people.key"]
    await serve(staffed[1])
    with closing(open_identity(staffed[1], state=state, cost=TEST_COST)):
        pass


@pytest.mark.anyio
async def test_house_does_not_sign_with_a_key_that_the_last_one_does_not_endorse(
    database: Option, state: Path, tmp_path: Path
) -> None:
    await serve(f"sqlite:///{tmp_path}/other.sqlite")
    (state / "keys" / "signing.pem").unlink()
    move(tmp_path / "other.sqlite.state" / "keys" / "signing.pem", state / "keys" / "signing.pem")

    with pytest.raises(StoreUnusable, match="does not endorse it"):
        await serve(database[1])


def test_commands_that_read_create_no_keys(run: Run, database: Option, state: Path) -> None:
    rmtree(state)
    for words in (
        ("keys", "export"),
        ("keys", "export", "--pem"),
        ("keys", "rotate"),
        ("log", "verify"),
        ("log", "replay", "one"),
        ("doctor",),
        ("users", "list"),
    ):
        run(*words, *database)
    assert not (state / "keys" / "signing.pem").exists()
    assert not (state / "keys" / "log.key").exists()


def test_missing_record_of_a_retired_key_is_named_before_more_is_lost(
    run: Run, database: Option, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREEDICE_BACKUP_PASSPHRASE", "four words are enough")
    record = state / "keys" / f"{read_keys(state).key_id}.json"
    assert run("keys", "rotate", *database).code == 0
    exported = run("keys", "export", *database).out
    move(record, tmp_path)

    for words in (("keys", "rotate"), ("backup", str(tmp_path / "saved"))):
        result = run(*words, *database)
        assert (result.code, str(record) in result.err) == (2, True), result.err
    assert str(record) in run("doctor", *database).out
    with pytest.raises(StoreUnusable, match=record.name):
        asyncio.run(serve(database[1]))
    (state / "known-keys.json").write_text(exported)
    asyncio.run(serve(database[1]))
    assert run("log", "verify", *database).code == 0
    assert run("backup", str(tmp_path / "saved"), *database).code == 0


@pytest.mark.parametrize("file", ["keys/signing.pem", "keys/log.key", "people.key"])
@pytest.mark.parametrize("content", [b"", b"not the key of this house, certainly"[:32]])
def test_damaged_key_is_moved_away_and_replaced_as_its_error_says(
    replace: Callable[[str], Result],
    run: Run,
    staffed: Option,
    state: Path,
    file: str,
    content: bytes,
) -> None:
    (state / file).write_bytes(content)

    refused = run("users", "add", "zoe", "--role", "player", *staffed)
    if file == "keys/signing.pem":
        refused = run("keys", "rotate", *staffed)
    assert refused.code == 2
    assert "move" in refused.err
    assert "threedice keys replace" in refused.err

    (state / file).unlink()
    assert replace(f"yes\n{ADAM}{BERTA}").code == 0
    asyncio.run(serve(staffed[1]))


# --- replacing ----------------------------------------------------------------------------------


def test_replaced_signing_key_is_recorded_with_both_persons_and_signs(
    run: Run, replace: Callable[[str], Result], staffed: Option, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "old.json").write_text(run("keys", "export", *staffed).out)
    old = read_keys(state).key_id
    (state / "keys" / "signing.pem").unlink()

    result = replace(f"yes\n{ADAM}{BERTA}")

    assert result.code == 0, result.err
    event = house_events(staffed[1])[-1]
    assert isinstance(event, KeysReplaced)
    assert (event.files, event.reason) == (["keys/signing.pem"], "the disk burnt")
    assert (event.old, event.new) == ([old], read_keys(state).key_id)
    assert {event.by, event.second} == account_ids(staffed[1], "adam", "berta")
    assert run("log", "verify", *staffed).code == 0
    (tmp_path / "new.json").write_text(run("keys", "export", *staffed).out)
    assert run("log", "verify", "--keys", str(tmp_path / "new.json"), *staffed).code == 0


def test_old_export_shows_when_and_by_whom_the_signing_key_was_replaced(
    run: Run, replace: Callable[[str], Result], staffed: Option, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "old.json").write_text(run("keys", "export", *staffed).out)
    old = read_keys(state).key_id
    (state / "keys" / "signing.pem").unlink()
    replace(f"yes\n{ADAM}{BERTA}")
    asyncio.run(play(staffed[1], "three"))

    result = run("log", "verify", "--json", "--keys", str(tmp_path / "old.json"), *staffed)

    assert result.code == 1
    (finding,) = result.json["findings"]
    assert finding["where"].startswith("checkpoints from ")
    assert f"the key {read_keys(state).key_id}, which replaced {old}" in finding["what"]
    assert "without its endorsement: the disk burnt" in finding["what"]
    for account in account_ids(staffed[1], "adam", "berta"):
        assert account in finding["what"]


def account_ids(url: str, *names: str) -> set[str]:
    with closing(open_identity(url, state=state_directory(url), cost=TEST_COST)) as identity:
        found = [identity.accounts.find_by_name(name) for name in names]
        return {account.id for account in found if account}


@pytest.mark.parametrize("lost", ["keys", ""])
def test_log_verifies_with_the_new_export_after_the_loss_of_all_keys(
    run: Run,
    replace: Callable[[str], Result],
    staffed: Option,
    state: Path,
    tmp_path: Path,
    lost: str,
) -> None:
    rmtree(state / lost)

    result = replace(f"yes\n{ADAM}{BERTA}")

    assert result.code == 0, result.err
    (tmp_path / "new.json").write_text(run("keys", "export", *staffed).out)
    verified = run("log", "verify", "--keys", str(tmp_path / "new.json"), *staffed)
    assert verified.code == 0, verified.out


def test_public_key_that_is_lost_for_good_is_taken_from_the_database_by_a_replacement(
    run: Run, replace: Callable[[str], Result], staffed: Option, state: Path
) -> None:
    record = state / "keys" / f"{read_keys(state).key_id}.json"
    run("keys", "rotate", *staffed)
    record.unlink()
    (state / "keys" / "signing.pem").unlink()

    result = replace(f"yes\n{ADAM}{BERTA}")

    assert result.code == 0, result.err
    assert run("log", "verify", *staffed).code == 0
    asyncio.run(serve(staffed[1]))


@pytest.mark.anyio
async def test_house_starts_again_after_its_keys_are_replaced(
    replace: Callable[[str], Result], staffed: Option, state: Path
) -> None:
    rmtree(state)
    assert replace(f"yes\n{ADAM}{BERTA}").code == 0

    await serve(staffed[1])

    assert replace(f"yes\n{ADAM}{BERTA}").code == 2  # nothing is missing


def test_lost_people_key_resets_second_factors_and_keeps_passwords(
    replace: Callable[[str], Result], staffed: Option, state: Path
) -> None:
    url = staffed[1]
    with closing(open_identity(url, state=state, cost=TEST_COST)) as identity:
        token = identity.authentication.sign_in("adam", PASSWORD).token
        secret = identity.second_factors.begin_enrolment(token, password=PASSWORD).secret
        code = pyotp.TOTP(secret).now()
        token = identity.second_factors.confirm_enrolment(token, code).issued_session.token
        (adam,) = account_ids(url, "adam")
        api_token = identity.tokens.create(adam, "scraper", ["metrics"]).token
    (state / "people.key").unlink()

    result = replace(f"yes\n{BERTA}{ADAM}")

    assert result.code == 0, result.err
    assert "second factors" in result.err
    with closing(open_identity(url, state=state, cost=TEST_COST)) as identity:
        assert identity.sessions.resolve(token) is None
        assert identity.tokens.resolve(api_token) is None
        assert identity.authentication.sign_in("adam", PASSWORD).session.state == "enrolment"
        events = identity.audit_trail.security_events()
        (replaced,) = [each for each in events if each.kind == "encryption-key-replaced"]
        assert {replaced.account, replaced.by} == account_ids(url, "adam", "berta")
        assert replaced.detail == "the disk burnt"


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("no\n", "nothing is replaced"),
        ("", "the input ended"),
        (f"yes\n{ADAM}", "the input ended"),
        (f"yes\n{ADAM}" + ADAM * 3, "three wrong"),
        (f"yes\n{ADAM}" + SUE * 3, "three wrong"),
        ("yes\n" + "adam\nwrong\n" * 3, "three wrong"),
        ("yes\n" + "eve\nwrong\n" * 3, "three wrong"),
    ],
)
def test_nothing_is_replaced_without_two_administrators(
    replace: Callable[[str], Result], staffed: Option, state: Path, typed: str, problem: str
) -> None:
    (state / "people.key").rename(state / "copy")
    (state / "keys" / "signing.pem").unlink()

    result = replace(typed)

    assert result.code == 2
    assert problem in result.err
    assert sorted(each.name for each in state.glob("*.key")) == []
    assert not (state / "keys" / "signing.pem").exists()
    assert house_events(staffed[1]) == []


def test_house_with_one_administrator_needs_staff_of_the_highest_role(
    replace: Callable[[str], Result], staffed: Option, state: Path
) -> None:
    with closing(open_identity(staffed[1], state=state, cost=TEST_COST)) as identity:
        (berta,) = account_ids(staffed[1], "berta")
        identity.accounts.disable(berta)
    (state / "keys" / "signing.pem").unlink()

    result = replace(f"yes\n{ADAM}{SUE}")

    assert result.code == 0, result.err
    event = house_events(staffed[1])[-1]
    assert {event.by, event.second} == account_ids(staffed[1], "adam", "sue")


def test_administrator_with_a_first_password_counts_if_nobody_else_is_left(
    run: Run, database: Option, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threedice.cli.users.PASSWORD_COST", TEST_COST)
    with closing(open_identity(database[1], state=state, cost=TEST_COST)) as identity:
        first = identity.accounts.add("adam", ["administrator"]).password
        identity.accounts.add("berta", ["administrator"], password=PASSWORD)
    (state / "keys" / "signing.pem").unlink()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"yes\n{BERTA}adam\n{first}\n"))

    result = run("keys", "replace", "--reason", "the disk burnt", *database)

    assert result.code == 0, result.err


def test_house_without_accounts_records_that_nobody_agreed(
    run: Run, database: Option, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / "keys" / "signing.pem").unlink()
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))

    result = run("keys", "replace", "--reason", "the disk burnt", *database)

    assert result.code == 0, result.err
    event = house_events(database[1])[-1]
    assert (event.by, event.second) == ("console", "")


def test_keys_of_a_house_in_service_are_not_replaced(
    replace: Callable[[str], Result], house: Path, state: Path
) -> None:
    with closing(SqliteStore(house / "house.sqlite", serving=True)):
        (state / "keys" / "signing.pem").unlink()
        result = replace(f"yes\n{ADAM}{BERTA}")

    assert result.code == 2
    assert "is served by process" in result.err


def test_keys_of_a_house_on_postgresql_are_replaced(
    run: Run,
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("threedice.cli.users.PASSWORD_COST", TEST_COST)
    url = postgres.fresh()
    state = state_directory(url)
    asyncio.run(play(url))
    with closing(open_identity(url, state=state, cost=TEST_COST)) as identity:
        for name in ("adam", "berta"):
            identity.accounts.add(name, ["administrator"], password=PASSWORD)
    rmtree(state)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"yes\n{ADAM}{BERTA}"))

    result = run("keys", "replace", "--reason", "the disk burnt", "--database", url)

    assert result.code == 0, result.err
    assert run("log", "verify", "--database", url).code == 0
    asyncio.run(serve(url))


async def play(url: str, table: str = "1") -> None:
    async with House(url) as house:
        await People(house.command_handler, table).open()


# --- rotating -----------------------------------------------------------------------------------


def test_rotation_is_recorded_in_the_log(run: Run, database: Option, state: Path) -> None:
    old = read_keys(state).key_id

    assert run("keys", "rotate", *database).code == 0

    (event,) = house_events(database[1])
    assert isinstance(event, SigningKeyRotated)
    assert (event.old, event.new) == (old, read_keys(state).key_id)
    assert run("log", "verify", *database).code == 0
