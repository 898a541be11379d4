"""The audit finds every change of a row, but those that the documentation lists as harmless."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.house.house_driver import People
from tests.identity.identity_cluster import PASSWORD, IdentityCluster, add_account
from threedice.account.commands import Deposit, OpenAccount
from threedice.db.schema import load_migrations
from threedice.house.audit.auditor import audit
from threedice.house.audit.people import LOG_COPY_NOTE, NOT_RECORDED_NOTE, compare_people
from threedice.house.house import House
from threedice.house.persons import Person, save_person
from threedice.identity import IdentityPolicy, SignInRefused
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, CheckpointFiles
from threedice.log.proof.checkpoints import signed_heads
from threedice.log.proof.head_macs import HeadMacs, read_head_macs
from threedice.log.proof.keys import read_public_keys
from threedice.log.record_chain import PEOPLE_STREAM, record_existing_rows, transact_recorded
from threedice.log.stores import schema
from threedice.log.stores.schema import DatabaseTable
from threedice.log.stores.sqlite_rows import SqliteRows, open_house_file
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.log.postgres_server import PostgresServer
    from threedice.identity import IdentityService

VERSIONS = DatabaseTable("schema_versions", ("version", "applied"), ("version",))
TABLES = (*schema.TABLES, *schema.IDENTITY_TABLES, VERSIONS)
ROWS = 3
SECTION = "## Changes that `log verify` does not report"
SECURITY = Path(__file__).parents[2] / "docs" / "security.md"


async def create_house(folder: Path) -> Path:
    """Create a house with rows in every table."""
    file, state = folder / "house.sqlite", folder / "state"
    cluster = IdentityCluster(f"sqlite:///{file}", state)
    with closing(cluster.open(IdentityPolicy(request_seconds=10**9))) as identity:
        add_people(identity, cluster)
    async with House(cluster.url, state_dir=state) as house:
        people = People(house.command_handler)
        await people.open()
        await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
        await people.send(Deposit(by="cashier", player="cat", amount=1000))
        await people.play("open betting", "ann bets 100 on big", "dice 6 5 4", "open betting")
        for player in ("ann", "bob"):
            save_person(house.command_handler.store, player, Person(player))
        house.command_handler.store.acquire_lease("dealer/1", "server", 60)
    return file


def add_people(identity: IdentityService, cluster: IdentityCluster) -> None:
    root = add_account(identity, "root", "administrator")
    add_account(identity, "second", "administrator")
    cluster.enrol(identity, "root")
    cluster.enrol(identity, "second")
    dealer = add_account(identity, "dora", "dealer")
    player = add_account(identity, "ann", "player")
    identity.authentication.sign_in("ann", PASSWORD)
    with pytest.raises(SignInRefused):
        identity.authentication.sign_in("ann", "wrong", address="192.0.2.1")
    for name in ("till", "stats"):
        identity.tokens.create(player.id, name, ["read"])
        identity.displays.add("1", name)
    for place in ("1", "2"):
        identity.assignments.add(dealer.id, place, "dealer", starts=0, until=10)
        identity.approvals.open(dealer.id, place, b"void", "a reason", roles=["administrator"])
    identity.accounts.set_roles(dealer.id, ["supervisor"], by=root.id)


class Tampering:
    """A house's file that an attacker changes and an auditor verifies."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, isolation_level=None)
        self._rows, state = SqliteRows(self.connection), file.parent / "state"
        self.keys, self._macs = read_public_keys(state), read_head_macs(state)
        self._checkpoints = state / CHECKPOINTS_FILE

    def findings(self) -> list[str]:
        report = audit(
            self._rows,
            public_keys=self.keys,
            against=CheckpointFiles(growing=self._checkpoints),
            head_macs=self._macs,
            processes=0,
        )
        return [str(finding) for finding in report.findings]

    def after(self, sql: str, params: tuple[Any, ...] = ()) -> list[str]:
        """Return the findings after a statement, which is rolled back, or why it is refused."""
        self.connection.execute("BEGIN")
        try:
            if "people_events" in sql:  # found as well, but not by the comparison of rows
                self.connection.execute("DROP TRIGGER people_events_no_update")
                self.connection.execute("DROP TRIGGER people_events_no_delete")
            assert self.connection.execute(sql, params).rowcount, sql
            found = [str(finding) for finding in compare_people(self._rows, is_house=True).findings]
            return found or [each for each in self.findings() if "trigger" not in each]
        except sqlite3.IntegrityError as error:  # the key of another row
            return [str(error)]
        finally:
            self.connection.execute("ROLLBACK")

    def some_rows(self, table: DatabaseTable) -> list[tuple[int, tuple[Any, ...]]]:
        """Return rows from the beginning, the middle and the end of a table."""
        columns = ", ".join(f'"{column}"' for column in table.columns)
        found = self.connection.execute(f"SELECT rowid, {columns} FROM {table.name}").fetchall()
        places = {place * (len(found) - 1) // (ROWS - 1) for place in range(ROWS)}
        return [(found[place][0], tuple(found[place][1:])) for place in sorted(places)]


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tampering]:
    tampering = Tampering(asyncio.run(create_house(tmp_path_factory.mktemp("house"))))
    assert tampering.findings() == []
    yield tampering
    tampering.connection.close()


def changed(value: Any) -> list[Any]:
    """Return other values of the same type, the first of them far from the value."""
    if isinstance(value, int | float):
        return [value + 1_000_000, value + 1, value - 1]
    if isinstance(value, bytes):
        places = {0, len(value) // 2, len(value) - 1} if value else {}
        flipped = [value[:each] + bytes([value[each] ^ 1]) + value[each + 1 :] for each in places]
        return flipped or [b"x"]
    return [value[:-1] + ("x" if value[-1:] != "x" else "y"), value + " "]


def find_unnoticed(tampered: Tampering, table: DatabaseTable) -> set[str]:
    """Return the changes of a table that the audit does not find."""
    unnoticed = set()
    for rowid, row in tampered.some_rows(table):
        for column, value in zip(table.columns, row, strict=True):
            sql = f'UPDATE {table.name} SET "{column}" = ? WHERE rowid = ?'
            if not all(tampered.after(sql, (other, rowid)) for other in changed(value)):
                unnoticed.add(f"{table.name}.{column}")
        if not tampered.after(f"DELETE FROM {table.name} WHERE rowid = ?", (rowid,)):
            unnoticed.add(f"{table.name}, deleted rows")
        if not tampered.after(*forged_row(table, row)):
            unnoticed.add(f"{table.name}, inserted rows")
    return {table.name} if len(unnoticed) == len(table.columns) + 2 else unnoticed


def forged_row(table: DatabaseTable, row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return a statement that inserts a row like another one, with another key."""
    unique = {*table.key, "digest", "name"}
    forged = [
        changed(value)[0] if column in unique else value
        for column, value in zip(table.columns, row, strict=True)
    ]
    columns = ", ".join(f'"{column}"' for column in table.columns)
    places = ", ".join("?" * len(forged))
    return f"INSERT INTO {table.name} ({columns}) VALUES ({places})", tuple(forged)


def run_pragma(statement: str, file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA {statement}").fetchall()


def vacuum(file: Path, pragma: str = "") -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(f"PRAGMA {pragma}" if pragma else "SELECT 1").fetchall()
        connection.execute("VACUUM")


def append_page(file: Path) -> None:
    with file.open("ab") as appended:
        appended.write(b"x" * 4096)


def change_unused_byte(file: Path) -> None:
    """Change the first byte between the cells of the last b-tree leaf and its pointers to them."""
    content = bytearray(file.read_bytes())
    size = int.from_bytes(content[16:18])
    for start in range(len(content) - size, 0, -size):
        kind, cells = content[start], int.from_bytes(content[start + 3 : start + 5])
        first_unused = start + 8 + 2 * cells
        if kind in {10, 13} and first_unused < start + int.from_bytes(
            content[start + 5 : start + 7]
        ):
            content[first_unused] ^= 1
            file.write_bytes(content)
            return
    raise AssertionError("all pages are full")


FILE_CHANGES: dict[str, Callable[[Path], None]] = {
    "PRAGMA user_version": partial(run_pragma, "user_version = 7"),
    "PRAGMA application_id": partial(run_pragma, "application_id = 7"),
    "PRAGMA journal_mode": partial(run_pragma, "journal_mode = DELETE"),
    "PRAGMA auto_vacuum": partial(vacuum, pragma="auto_vacuum = 1"),
    "PRAGMA page_size": partial(vacuum, pragma="page_size = 8192"),
    "VACUUM": vacuum,
    "file, appended pages": append_page,
    "file, unused bytes of pages": change_unused_byte,
}


def find_unnoticed_in_file(tampered: Tampering, name: str, folder: Path) -> set[str]:
    """Return the name of a change to the file itself if the audit does not find it."""
    file = folder / "changed.sqlite"
    with closing(sqlite3.connect(file)) as target:
        tampered.connection.backup(target)
    FILE_CHANGES[name](file)
    with open_house_file(file) as rows:
        return set() if audit(rows, public_keys=tampered.keys, processes=0).findings else {name}


def documented_exceptions() -> set[str]:
    section = SECURITY.read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)`", section, flags=re.MULTILINE))


def test_changes_that_the_audit_does_not_find_are_those_documented_as_harmless(
    tampered: Tampering, tmp_path: Path
) -> None:
    unnoticed = [find_unnoticed(tampered, table) for table in TABLES]
    unnoticed += [find_unnoticed_in_file(tampered, name, tmp_path) for name in FILE_CHANGES]
    assert set().union(*unnoticed) == documented_exceptions()


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("UPDATE people_accounts SET roles = 'administrator' WHERE name = 'ann'", 1),
        ("UPDATE people_accounts SET password = (SELECT password FROM people_accounts)", 3),
        ("UPDATE people_codes SET secret = x''", 2),
        ("DELETE FROM people_codes", 2),
        ("DELETE FROM people_sessions", 3),
        ("UPDATE people_tokens SET scopes = 'deal,play,read'", 2),
        ("DELETE FROM people_events WHERE number > 3", 0),
        ("UPDATE people_requests SET state = 'approved', decided_by = account", 2),
        ("UPDATE people_meta SET value = 'x' WHERE name = 'key'", 1),
        ("UPDATE people SET data = (SELECT max(data) FROM people)", 1),
        ("DELETE FROM people", 2),
        ("UPDATE people_records SET salt = x'00'", 0),
        ("UPDATE people_records SET salt = randomblob(16)", 0),
        ("UPDATE people_records SET key = key || 'x'", 0),
        ("DELETE FROM people_records", 0),
        ("UPDATE people_accounts SET name = 'x' || name", 4),
    ],
)
def test_audit_finds_each_changed_row_about_people(
    tampered: Tampering, sql: str, found: int
) -> None:
    findings = tampered.after(sql)
    assert len(findings) == found if found else len(findings) > 10
    assert not any("dora" in each or PASSWORD in each for each in findings)


def test_exchanged_rows_are_found(tampered: Tampering) -> None:
    findings = tampered.after(
        "UPDATE people SET player = CASE player WHEN 'ann' THEN 'x' ELSE 'ann' END"
    )
    assert sorted(findings) == [
        "people ann: differs from what the log records of it",
        "people bob: is missing, but recorded in the log",
        "people x: is not recorded in the log",
    ]


def test_value_of_another_type_with_the_same_text_is_found(tampered: Tampering) -> None:
    run = tampered.connection.execute
    run("BEGIN")
    run("PRAGMA writable_schema = ON")
    run("UPDATE sqlite_master SET sql = replace(sql, ' STRICT', '') WHERE name = 'people'")
    run("PRAGMA writable_schema = RESET")
    run("UPDATE people SET data = CAST(data AS TEXT) WHERE player = 'ann'")
    found = [
        str(each)
        for each in compare_people(SqliteRows(tampered.connection), is_house=True).findings
    ]
    run("ROLLBACK")
    run("PRAGMA writable_schema = RESET")
    assert found == ["people ann: differs from what the log records of it"]


def test_emptied_and_deleted_people_are_found_with_their_signed_stream(
    tampered: Tampering,
) -> None:
    run = tampered.connection.execute
    run("BEGIN")
    run("DROP TRIGGER people_events_no_delete")
    for table in (*schema.RECORDED_TABLES, schema.records):
        run(f"DELETE FROM {table.name}")
    assert len(compare_people(SqliteRows(tampered.connection), is_house=True).findings) > 30
    run("DELETE FROM entries WHERE stream = 'people'")
    run("DELETE FROM streams WHERE stream = 'people'")
    assert any(each.startswith("people version") for each in tampered.findings())
    run("ROLLBACK")


@pytest.fixture(params=["sqlite", "postgres"])
def identity_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'house.sqlite'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


def find_changes(url: str) -> list[str]:
    with closing(open_store(url)) as store:
        return [str(each) for each in audit(store, public_keys={}, processes=0).findings]


@pytest.mark.parametrize("afterwards", ["change", "delete"])
def test_changed_row_is_found_after_the_program_has_changed_it_again(
    identity_url: str, tmp_path: Path, afterwards: str
) -> None:
    cluster = IdentityCluster(identity_url, tmp_path / "state")
    with closing(cluster.open()) as identity:
        add_account(identity, "root", "administrator")
        ann = add_account(identity, "ann", "player")
        token = identity.tokens.create(ann.id, "till", ["read"]).api_token.id
        assert find_changes(identity_url) == []
        tamper = "UPDATE people_accounts SET roles = 'administrator' WHERE name = 'ann'"
        if afterwards == "delete":
            tamper = "UPDATE people_tokens SET scopes = 'play'"
        identity.context.database.transact(lambda run: run(tamper))
        (before,) = find_changes(identity_url)
        if afterwards == "change":
            identity.accounts.reset_password(ann.id, password=f"{PASSWORD} too")
        else:
            identity.tokens.revoke(token)

    (finding,) = find_changes(identity_url)
    row = f"people_accounts {ann.id}" if afterwards == "change" else f"people_tokens {token}"
    assert before == f"{row}: differs from what the log records of it"
    assert finding.startswith(f"{row}: was changed by somebody else before people version")


def test_row_that_was_changed_and_put_back_meanwhile_leaves_no_trace(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'house.sqlite'}"
    with closing(IdentityCluster(url, tmp_path / "state").open()) as identity:
        add_account(identity, "root", "administrator")
        ann = add_account(identity, "ann", "player")
        for roles in ("administrator", "player"):
            sql = f"UPDATE people_accounts SET roles = '{roles}' WHERE name = 'ann'"
            identity.context.database.transact(methodcaller("__call__", sql))
        identity.accounts.reset_password(ann.id, password=f"{PASSWORD} too")

    assert find_changes(url) == []  # as docs/security.md says


@pytest.mark.parametrize("afterwards", ["deleted", "inserted"])
def test_row_that_was_deleted_or_inserted_is_found_after_the_program_has_written_it(
    identity_url: str, afterwards: str
) -> None:
    with closing(open_store(identity_url)) as store:
        store.set_person("ann", b"Ann")
        if afterwards == "deleted":
            store.database.transact(lambda run: run("DELETE FROM people"))
            store.set_person("ann", b"Ann")
        else:
            store.database.transact(
                lambda run: run("INSERT INTO people (player, data) VALUES (?, ?)", ("ben", b"x"))
            )
            store.erase_person("ben")
        (finding,) = audit(store, public_keys={}, processes=0).findings
    assert finding.what.startswith("was changed by somebody else before people version 2")


def test_history_of_everything_that_people_do_verifies(identity_url: str, tmp_path: Path) -> None:
    cluster = IdentityCluster(identity_url, tmp_path / "state")
    with closing(cluster.open()) as identity:
        add_people(identity, cluster)
        ann = identity.accounts.find_by_name("ann")
        assert ann is not None
        identity.accounts.erase_name(ann.id)
    with closing(open_store(identity_url)) as store:
        store.set_person("ann", b"Ann, born 1990")
        store.erase_person("ann")
        report = audit(store, public_keys={}, processes=0)
    assert report.findings == ()
    assert report.people > 30
    assert report.notes == ()


def test_database_whose_people_were_never_recorded_verifies_with_a_note(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/house.sqlite")) as store:
        assert audit(store, public_keys={}).notes == ()
        store.database.transact(
            lambda run: run("INSERT INTO people (player, data) VALUES ('ann', x'00')")
        )
        report = audit(store, public_keys={})
        assert (report.findings, report.notes) == ((), (NOT_RECORDED_NOTE,))
        record_existing_rows(store.database)
        report = audit(store, public_keys={})
        assert (report.findings, report.notes, report.people) == ((), (), 2)


def test_people_are_not_compared_in_a_copy_of_the_log_without_their_tables(
    tampered: Tampering, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite"
    with closing(sqlite3.connect(copy, isolation_level=None)) as target:
        tampered.connection.backup(target)
        target.execute("DROP TABLE schema_versions")
        version = str(max(load_migrations("sqlite")))
        target.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (version,))
        for table in schema.IDENTITY_TABLES:
            target.execute(f"DROP TABLE {table.name}")
        assert [str(each) for each in audit(copy, public_keys={}, processes=0).findings][-1:] == [
            "table people: has rows, but a copy of the log has none"
        ]
        target.execute("DELETE FROM people")
    report = audit(copy, public_keys=tampered.keys, processes=0)
    assert (report.findings, report.notes) == ((), (LOG_COPY_NOTE,))
    report = audit(copy, public_keys=tampered.keys, head_macs=HeadMacs(bytes(32)), processes=0)
    assert "the database: lacks the tables about people" in map(str, report.findings)


@pytest.mark.anyio
async def test_forged_records_of_people_stop_their_stream_until_a_person_accepts_them(
    tmp_path: Path,
) -> None:
    url, state = f"sqlite:///{tmp_path / 'house.sqlite'}", tmp_path / "state"
    with closing(IdentityCluster(url, state).open()) as identity:
        ann = add_account(identity, "ann", "player")
        async with House(url, state_dir=state):
            pass
        forged = {"roles": "administrator"}  # with right hashes and salts, but without the key
        transact_recorded(
            identity.context.database, lambda run: run.update(schema.accounts, forged, id=ann.id)
        )
        async with House(url, state_dir=state) as house:
            store, macs = house.command_handler.store, read_head_macs(state)
            identity.authentication.sign_in("ann", PASSWORD)  # nobody is kept out
            report = audit(store, public_keys=read_public_keys(state), head_macs=macs, processes=0)
            (finding,) = [str(each) for each in report.findings]
            assert finding.startswith("people versions")
            assert PEOPLE_STREAM in house.damaged

            await house.accept_entries(PEOPLE_STREAM, "root", "reviewed")
            assert PEOPLE_STREAM not in house.damaged
            identity.authentication.sign_in("ann", PASSWORD)
            head, mac = store.heads_with_macs()[PEOPLE_STREAM]
            assert macs is not None
            assert macs.is_valid(PEOPLE_STREAM, head, mac)
    with closing(open_store(url)) as store:
        assert signed_heads(store.checkpoints()) == store.heads()
