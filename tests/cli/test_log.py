"""`threedice log`, `verify-dice` and `keys` on a database with played rounds."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sqlite3
from base64 import b64decode
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from tests.house.house_driver import People
from tests.house.intruder import Intruder
from tests.log.inspection import all_snapshots
from tests.log.proposals import bet
from threedice.account.events import AccountOpened, Deposited
from threedice.house.house import House
from threedice.house.reports.projection import VIEW
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, read_checkpoints
from threedice.log.proof.checkpoints import CheckpointSigner, sign_restore
from threedice.log.proof.head_macs import read_head_macs
from threedice.log.proof.keys import open_keys
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Run


def tamper(house: Path, sql: str) -> None:
    """Change the database without the program."""
    with closing(sqlite3.connect(house / "house.sqlite")) as connection:
        connection.execute(sql)
        connection.commit()


def test_log_verify_of_an_intact_house_has_no_findings(
    house: Path, run: Run, database: Option
) -> None:
    outside = str(house / "house.sqlite.state" / "checkpoints.jsonl")

    plain = run("log", "verify", *database, "--against", outside)
    as_json = run("log", "verify", *database, "--json")

    assert plain.code == 0
    assert plain.out.endswith(": no findings\n")
    assert as_json.json["sound"] is True
    assert as_json.json["findings"] == []


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE entries SET at = 1 WHERE stream = 'table/one' AND version = 7", "one version 7"),
        ("DELETE FROM entries WHERE stream = 'table/one' AND version = 7", "table/one"),
        ("UPDATE lines SET data = x'7b7d' WHERE subject = 'player/ann'", "books of table/one"),
        ("UPDATE snapshots SET data = x'00'", "snapshot of"),
        ("UPDATE answers SET spans = x'5b5d' WHERE account = 'ann'", "ann"),
        ("UPDATE games SET canonical = x'00'", "game"),
    ],
)  # fmt: skip
def test_log_verify_locates_a_change_and_exits_with_1(
    sql: str, words: str, house: Path, run: Run, database: Option
) -> None:
    tamper(house, sql)

    result = run("log", "verify", *database)

    assert result.code == 1
    assert words in result.out
    assert "finding" in result.out


def test_log_verify_finds_a_player_made_administrator_in_the_database(
    house: Path, run: Run, database: Option
) -> None:
    run("users", "add", "eve", "--role", "player", *database)
    assert run("log", "verify", *database).code == 0
    tamper(house, "UPDATE people_accounts SET roles = 'administrator' WHERE name = 'eve'")

    result = run("log", "verify", *database)

    assert result.code == 1
    assert "people_accounts" in result.out
    assert "differs from what the log records of it" in result.out
    assert "eve" not in result.out


def test_log_verify_of_a_copy_of_the_log_says_that_people_are_not_compared(
    house: Path, run: Run, database: Option
) -> None:
    run("users", "add", "eve", "--role", "player", *database)
    copy = house / "copy.sqlite"
    assert run("log", "copy", str(copy), *database).code == 0

    keys = str(house / "keys.json")
    (house / "keys.json").write_text(run("keys", "export", *database).out)
    result = run("log", "verify", "--database", f"sqlite:///{copy}", "--keys", keys)

    assert result.code == 0
    assert "copy of the log without the rows about people" in result.out


def test_truncated_stream_contradicts_its_checkpoint(
    house: Path, run: Run, database: Option
) -> None:
    tamper(house, "DELETE FROM entries WHERE stream = 'table/one' AND version > 30")

    result = run("log", "verify", *database)

    assert result.code == 1
    assert "checkpoint" in result.out


def test_log_verify_reports_restores_without_counting_them_as_findings(
    house: Path, run: Run, database: Option
) -> None:
    state = house / "house.sqlite.state"
    with closing(SqliteStore(house / "house.sqlite")) as store:
        CheckpointSigner(store, open_keys(state), state).create_checkpoint(at=1)
    known = read_checkpoints(state / CHECKPOINTS_FILE)
    tamper(house, f"DELETE FROM checkpoints WHERE number > {known[0].number}")
    with closing(SqliteStore(house / "house.sqlite")) as store:
        keys, at = open_keys(state), 1_700_000_000_000_000
        made = sign_restore(keys, at, store.heads(), known[:1], known[-1])
        store.add_checkpoint(made, after=known[0].number)
    number, last = known[0].number, known[-1].number

    plain, as_json = run("log", "verify", *database), run("log", "verify", *database, "--json")

    assert plain.code == 0
    assert (
        f"restored at 2023-11-14T22:13:20+00:00, before checkpoint {last + 1}, from a backup up to"
        f" checkpoint {number}; checkpoints {number + 1} to {last} were given up\n"
    ) in plain.out
    assert as_json.json["restores"] == [
        {
            "checkpoint": last + 1,
            "at": "2023-11-14T22:13:20+00:00",
            "after": number,
            "given_up": [number + 1, last],
        }
    ]


def test_log_verify_reports_entries_that_no_checkpoint_signs_yet(
    house: Path, run: Run, database: Option
) -> None:
    with closing(SqliteStore(house / "house.sqlite")) as store:
        store.head_macs = read_head_macs(house / "house.sqlite.state")
        bet(store, "table/one")
        bet(store, "table/one")
    # a bet that the table does not know: the replay finds it, but not the log
    as_json = run("log", "verify", *database, "--json").json
    plain = run("log", "verify", *database).out

    (tail,) = as_json["unsigned"]["streams"]
    assert (as_json["unsigned"]["entries"], as_json["unsigned"]["macs"]) == (2, True)
    assert (tail["stream"], tail["last"] - tail["first"]) == ("table/one", 1)
    assert tail["first_at"].startswith("2023-11-14T22:13:20")
    assert "2 entries of table/one from 2023-11-14T22:13:20" in plain
    assert "MAC of the head" not in plain
    (house / "house.sqlite.state" / "keys" / "log.key").rename(house / "elsewhere")
    assert "can be checked only with its keys/log.key" in run("log", "verify", *database).out


def test_log_verify_reports_a_single_unsigned_entry_in_the_singular(
    house: Path, run: Run, database: Option
) -> None:
    with closing(SqliteStore(house / "house.sqlite")) as store:
        store.head_macs = read_head_macs(house / "house.sqlite.state")
        bet(store, "table/one")

    out = run("log", "verify", *database).out

    assert "1 entry of table/one of 2023-11-14T22:13:20+00:00 is not signed" in out
    assert "yet; its MAC was checked" in out
    (house / "house.sqlite.state" / "keys" / "log.key").rename(house / "elsewhere")
    assert "whether the house wrote it can be checked" in run("log", "verify", *database).out


def test_log_verify_names_entries_that_the_house_did_not_write(
    house: Path, run: Run, database: Option
) -> None:
    intruder = Intruder(f"sqlite:///{house / 'house.sqlite'}")
    opened = AccountOpened(player="eve", currency="SGD", by="cashier")
    intruder.append("cage/eve", opened, Deposited(player="eve", amount=500, by="cashier"))

    result = run("log", "verify", *database)

    assert result.code == 1
    assert "cage/eve versions 1 to 2: not written by this house" in result.out
    assert ": 1 finding\n" in result.out
    (finding,) = run("log", "verify", *database, "--json").json["findings"]
    assert finding["where"] == "cage/eve versions 1 to 2"


def test_log_replay_prints_the_events_of_a_table_as_prose(run: Run, database: Option) -> None:
    whole = run("log", "replay", "one", *database).out.splitlines()
    part = run("log", "replay", "one", *database, "--to", "5").out.splitlines()
    dealt = run("log", "replay", "two", *database).out

    assert whole[0] == "Table one is set up for sg-rws-tai-sai-v6/a, dealt by people."
    assert "  ann bets 100 on big." in whole
    assert "  Winners paid: ann's 100 on big wins 100." in whole
    assert part == whole[:5]
    assert "The house commits to the dice of round 1" in dealt


def test_log_export_as_parquet_writes_all_streams_or_one(
    run: Run, database: Option, tmp_path: Path
) -> None:
    everything = run("log", "export", "--parquet", str(tmp_path / "all"), *database)
    one = run("log", "export", "one", "--parquet", str(tmp_path / "one"), *database)

    counts = {
        name: len(parquet.read_table(tmp_path / name / "entries.parquet"))
        for name in ("all", "one")
    }
    assert everything.out.startswith(f"{tmp_path}/all: {counts['all']} entries, ")
    assert one.out.startswith(f"{tmp_path}/one: {counts['one']} entries, ")
    assert counts["all"] > counts["one"] > 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one", "--csv", "--parquet", "x"), "choose one of --jsonl, --csv and --parquet"),
        ((), "the id of the table is missing; only --parquet exports all streams"),
        (("three", "--parquet", "x"), "no table 'three'"),
        (("--parquet", "no/such/folder"), "cannot write no/such/folder: No such file"),
    ],
)
def test_impossible_log_export_is_refused(
    words: tuple[str, ...], message: str, run: Run, database: Option
) -> None:
    result = run("log", "export", *words, *database)

    assert result.code == 2
    assert message in result.err


def test_log_export_writes_entries_as_stored(run: Run, database: Option) -> None:
    lines = [json.loads(line) for line in run("log", "export", "one", *database).out.splitlines()]
    rows = list(csv.DictReader(io.StringIO(run("log", "export", "one", "--csv", *database).out)))

    assert [line["version"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0]["data"]["type"] == lines[0]["kind"] == "TableEstablished"
    assert [row["hash"] for row in rows] == [line["hash"] for line in lines]
    assert [json.loads(row["data"]) for row in rows] == [line["data"] for line in lines]


def test_finding_about_an_account_name_that_is_not_utf8_is_reported(
    house: Path, run: Run, database: Option
) -> None:
    tamper(house, "UPDATE answers SET account = CAST(x'ff41' AS TEXT) WHERE account = 'ann'")

    plain = run("log", "verify", *database)
    (named, *_) = [
        each for each in run("log", "verify", "--json", *database).json["findings"]
        if "where_base64" in each
    ]  # fmt: skip

    assert plain.code == 1
    assert "answer to \\udcffA" in plain.out
    assert named["where"].startswith("answer to \\udcffA")
    assert b64decode(named["where_base64"]).startswith(b"answer to \xffA")


@pytest.mark.parametrize("data", [b"\xff", b"", b"no JSON", b'{"a":\n1}', b'{"a":"\xff"}'])
def test_log_export_writes_data_that_is_not_json_in_base64(
    data: bytes, house: Path, run: Run, database: Option
) -> None:
    tamper(
        house,
        f"UPDATE entries SET data = x'{data.hex()}' WHERE stream = 'table/one' AND version = 5",
    )

    lines = [json.loads(line) for line in run("log", "export", "one", *database).out.splitlines()]
    text = run("log", "export", "one", "--csv", *database).out
    row = list(csv.DictReader(io.StringIO(text)))[4]

    assert b64decode(lines[4]["data_base64"]) == data
    assert "data" not in lines[4]
    assert "data_base64" not in lines[3]
    assert b64decode(row["data_base64"]) or row["data"].encode() == data
    assert b64decode(row["data_base64"]) in (b"", data)


def test_log_explain_prints_the_settlement_of_a_players_bets(run: Run, database: Option) -> None:
    out = run("log", "explain", "one", "2", "bob", *database).out

    assert out.startswith("small:\n  50 placed on small.\n")
    assert out.endswith("50 is taken.\n")


@pytest.mark.parametrize("words", [["explain", "one", "2", "bob"], ["replay", "one"]])
def test_log_explain_and_replay_refuse_a_game_whose_odds_were_changed(
    words: list[str], house: Path, run: Run, database: Option
) -> None:
    tamper(
        house,
        "UPDATE games SET canonical ="
        ' CAST(replace(CAST(canonical AS TEXT), \'"odds":"1 to 1"\', \'"odds":"9 to 1"\') AS BLOB)',
    )

    result = run("log", *words, *database)

    assert result.code == 2
    assert "its bytes do not have that hash" in result.err


def test_verify_dice_confirms_rounds_dealt_by_the_house(run: Run, database: Option) -> None:
    result = run("verify-dice", "two", *database)

    assert result.code == 0
    assert result.out.startswith("round 1: ")
    assert result.out.endswith(": fair\n")
    assert run("verify-dice", "two", "--round", "1", *database).out == result.out


def test_log_rebuild_restores_deleted_statements(house: Path, run: Run, database: Option) -> None:
    tamper(house, "DELETE FROM lines")
    assert run("log", "verify", *database).code == 1

    assert run("log", "rebuild", *database).out == "2 streams rebuilt\n"

    assert run("log", "verify", *database).code == 0


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET data = x'ff' WHERE stream = 'table/one' AND version = 5",
        "UPDATE entries SET at = at + 1 WHERE stream = 'table/one' AND version = 5",
        "UPDATE entries SET kind = CAST(x'ff' AS TEXT) WHERE stream = 'table/one' AND version = 5",
        "DELETE FROM entries WHERE stream = 'table/one' AND version = 5",
        "DELETE FROM entries WHERE stream = 'table/one' AND version > 20",
        "DELETE FROM games WHERE CAST(canonical AS TEXT) LIKE '%tai-sai%'",
    ],
)
def test_log_rebuild_leaves_a_damaged_stream_and_rebuilds_the_others(
    damage: str, house: Path, run: Run, database: Option
) -> None:
    run("log", "rebuild", *database)
    with closing(SqliteStore(house / "house.sqlite")) as store:
        statements, snapshots = store.lines(VIEW), all_snapshots(store)
    tamper(house, damage)
    tamper(house, "DELETE FROM lines WHERE stream = 'table/two'")
    tamper(house, "DELETE FROM snapshots WHERE stream = 'table/two'")

    result = run("log", "rebuild", *database)

    assert result.code == 1
    assert result.out.startswith("table/one: not rebuilt: ")
    assert result.out.endswith("1 streams rebuilt, 1 damaged\n")
    with closing(SqliteStore(house / "house.sqlite")) as store:
        assert store.lines(VIEW) == statements
        assert all_snapshots(store) == snapshots


def test_keys_are_exported_and_rotated(run: Run, database: Option) -> None:
    before = run("keys", "export", *database).json

    assert run("keys", "export", "--pem", *database).out.startswith("-----BEGIN PUBLIC KEY-----")
    rotated = run("keys", "rotate", *database)

    after = run("keys", "export", *database).json
    assert len(after) == len(before) + 1
    assert after[0]["key_id"] in rotated.out or after[1]["key_id"] in rotated.out
    assert run("log", "verify", *database).code == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["log", "replay", "nine"], "no table 'nine'; did you mean one"),
        (["log", "export", "one", "--jsonl", "--csv"], "choose one of --jsonl, --csv and"),
        (["log", "explain", "one", "9", "ann"], "there was no round 9 at table one"),
        (["log", "explain", "one", "1", "eve"], "eve had no bet at table one in round 1"),
        (["verify-dice", "one"], "no round of table one was dealt by the house"),
        (["verify-dice", "two", "--round", "7"], "round 7 of table two was not dealt by the house"),
        (["log", "verify", "--against", "nothing.jsonl"], "nothing.jsonl"),
        (["log", "verify", "--keys", "nothing.json"], "nothing.json cannot be read"),
        (["restore", "nothing"], "nothing"),
    ],
)
def test_invalid_arguments_of_log_commands_print_one_line_and_exit_with_2(
    words: list[str], problem: str, run: Run, database: Option
) -> None:
    result = run(*words, *database)

    assert result.code == 2
    assert problem in result.err
    assert result.err.count("\n") == 1


def test_log_verify_does_not_create_a_missing_database(tmp_path: Path, run: Run) -> None:
    result = run("log", "verify", "--database", f"sqlite:///{tmp_path}/none.sqlite")

    assert result.code == 2
    assert "name one with --database" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"hello", b'{"number":1'])
def test_log_verify_against_a_file_without_checkpoints_is_refused(
    content: bytes, house: Path, run: Run, database: Option
) -> None:
    (house / "witness").write_bytes(content)

    result = run(
        "log", "verify", "--against", str(house / "witness"),
        *database,
    )  # fmt: skip

    assert result.code == 2
    assert "holds no checkpoint" in result.err


def test_log_verify_reads_the_checkpoint_file_of_the_state_folder(
    house: Path, run: Run, database: Option
) -> None:
    tamper(house, "DELETE FROM entries WHERE stream = 'table/one' AND version > 30")
    tamper(house, "DELETE FROM checkpoints")

    result = run("log", "verify", *database)

    assert result.code == 1
    assert "checkpoint" in result.out


def test_log_verify_against_an_older_copy_uses_the_checkpoints_of_the_house_too(
    house: Path, run: Run, database: Option
) -> None:
    own, older = house / "house.sqlite.state" / "checkpoints.jsonl", house / "older.jsonl"
    older.write_bytes(own.read_bytes())

    async def play_on() -> None:
        async with House(f"sqlite:///{house}/house.sqlite") as reopened:
            await People(reopened.command_handler, "three").open()

    asyncio.run(play_on())
    tamper(house, f"DELETE FROM checkpoints WHERE number > {len(older.read_bytes().splitlines())}")

    result = run("log", "verify", "--against", str(older), *database)

    assert result.code == 1
    assert "is kept outside the store, but missing in it" in result.out


@pytest.mark.parametrize("named", [True, False])
def test_malformed_checkpoint_line_is_reported_and_the_rest_are_used(
    named: bool, house: Path, run: Run, database: Option
) -> None:
    file = house / "house.sqlite.state" / "checkpoints.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines, b"X" + lines[0], b"\xff\n"]))
    tamper(house, "UPDATE entries SET at = 1 WHERE stream = 'table/one' AND version = 7")

    words = ("--against", str(file)) if named else ()
    result = run("log", "verify", *words, *database)

    assert result.code == 1
    for line in (len(lines) + 1, len(lines) + 2):
        assert result.out.count(f"checkpoints.jsonl line {line}: is not a checkpoint") == 1
    assert "table/one version 7" in result.out


def test_log_verify_refuses_an_emptied_database(house: Path, run: Run, database: Option) -> None:
    (house / "house.sqlite").write_bytes(b"")

    result = run("log", "verify", *database)

    assert result.code == 2
    assert (house / "house.sqlite").read_bytes() == b""


def test_trust_in_the_first_key_extends_to_keys_it_signed(
    house: Path, run: Run, database: Option
) -> None:
    (house / "first.json").write_text(run("keys", "export", *database).out)
    run("keys", "rotate", *database)

    async def sign() -> None:
        async with House(f"sqlite:///{house}/house.sqlite") as reopened:
            await People(reopened.command_handler, "three").open()

    asyncio.run(sign())

    assert run("log", "verify", "--keys", str(house / "first.json"), *database).code == 0
    (house / "foreign.json").write_text("[]")
    assert run("log", "verify", "--keys", str(house / "foreign.json"), *database).code == 1


@pytest.mark.parametrize("words", [["keys", "export"], ["keys", "rotate"]])
def test_keys_commands_create_no_key_for_a_missing_database(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    result = run(*words, "--database", f"sqlite:///{tmp_path}/typo.sqlite")

    assert result.code == 2
    assert list(tmp_path.iterdir()) == []
