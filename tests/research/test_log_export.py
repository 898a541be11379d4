"""A log as Parquet: its sums are the balances of the streams and the stored statements."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from tests.house.house_driver import People
from threedice.account.commands import Deposit, OpenAccount
from threedice.errors import InvalidInput, TamperedData
from threedice.house.codec import decode
from threedice.house.house import House
from threedice.house.stream_state import fold_of
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.record_chain import PEOPLE_STREAM
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.urls import open_store
from threedice.research import export_log, parquet_files
from threedice.research.histories import FLAT_FIELDS, SESSION_FIELDS
from threedice.research.log_export import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.log.store import Store

ROUNDS = (
    "open betting", "ann bets 100 on big", "bob bets 50 on small", "dice 6 5 4",
    "open betting", "ann bets 200 on any-triple", "dice 2 2 2",
    "open betting", "bob bets 300 on big",
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Play at two tables and with an account, and leave a bet on a layout."""
    store = MemoryStore()
    folder = tmp_path_factory.mktemp("state")

    async def play() -> None:
        async with House("memory:", store=store, state_dir=folder) as house:
            people = People(house.command_handler, "one")
            await people.open()
            await people.play(*ROUNDS)
            await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
            await people.send(Deposit(by="cashier", player="cat", amount=500))
            await People(house.command_handler, "two").open("nz-tai-sai-2008/1")

    asyncio.run(play())
    yield store
    store.close()


@pytest.fixture
def exported(store: Store, tmp_path: Path) -> Path:
    export_log(store, tmp_path / "log")
    return tmp_path / "log"


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(folder / f"{table}.parquet").to_pylist()
    return found


def test_postings_add_up_to_the_balances_of_every_stream(store: Store, exported: Path) -> None:
    posted: Counter[tuple[str, str]] = Counter()
    for row in rows(exported, "postings"):
        posted[row["stream"], row["destination"]] += row["amount"]
        posted[row["stream"], row["source"]] -= row["amount"]

    for stream in store.streams():
        fold = fold_of(stream)
        state = fold.state_type()
        for entry in store.scan(stream):
            fold.evolve(state, decode(entry), entry.at, entry.version)
        for account in fold.accounts(state):
            assert posted[stream, account] == fold.balance(state, account)
    assert posted["table/one", "layout"] == 300
    assert posted["table/one", "stack/ann"] == 1000 + 100 + 200 * 31
    assert posted["cage/cat", "account/cat"] == 500


def test_postings_name_the_round_in_which_they_happened(exported: Path) -> None:
    lost = [row for row in rows(exported, "postings") if row["kind"] == "LosersCollected"]

    assert [(row["round"], row["player"], row["spot"], row["amount"]) for row in lost] == [
        (1, "bob", "small", 50)
    ]


def test_entries_are_exactly_those_of_the_log(store: Store, exported: Path) -> None:
    stored = [entry for stream in store.streams() for entry in store.scan(stream)]
    columns = ("stream", "version", "kind", "schema", "data", "cause", "hash")

    found = rows(exported, "entries")

    assert [tuple(row[name] for name in columns) for row in found] == [
        tuple(getattr(entry, name) for name in columns) for entry in stored
    ]
    assert [int(row["at"].timestamp() * 1e6) // 1000 for row in found] == [
        entry.at // 1000 for entry in stored
    ]


def test_results_have_dice_win_and_turnover(exported: Path) -> None:
    results = [row for row in rows(exported, "statements") if row["what"] == "result"]

    assert [
        (row["round"], row["die1"], row["die2"], row["die3"], row["amount"], row["turnover"])
        for row in results
    ] == [(1, 6, 5, 4, -50, 150), (2, 2, 2, 2, -6200, 200)]
    assert results[0]["theoretical_win"] == pytest.approx(150 / 36)


def test_statement_rows_of_a_player_add_up_to_their_chips(exported: Path) -> None:
    gained: Counter[str] = Counter()
    for row in rows(exported, "statements"):
        gained[row["subject"]] += row["amount"]

    assert gained["player/ann"] == 2 * 1000 + 100 + 6200
    assert gained["player/bob"] == 2 * 1000 - 50
    assert gained["player/cat"] == 500


def test_rows_are_written_in_groups(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: Path
) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_PER_GROUP", 7)

    counts = export_log(store, tmp_path / "small")

    files = {name: parquet.ParquetFile(tmp_path / "small" / f"{name}.parquet") for name in counts}
    assert {name: file.metadata.num_rows for name, file in files.items()} == counts
    assert all(file.num_row_groups == -(-counts[name] // 7) for name, file in files.items())
    assert all(rows(exported, name) == rows(tmp_path / "small", name) for name in counts)


def test_one_stream_can_be_exported_alone(store: Store, tmp_path: Path) -> None:
    export_log(store, tmp_path / "two", ["table/two"])

    assert {row["stream"] for row in rows(tmp_path / "two", "entries")} == {"table/two"}


def test_entries_about_people_are_exported_as_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    asyncio.run(open_and_close(url))
    state = tmp_path / "house.sqlite.state"
    with closing(open_identity(url, state=state, cost=TEST_COST)) as identity:
        identity.accounts.add("ann", ["player"])

    with closing(open_store(url)) as log:
        counts = export_log(log, tmp_path / "log")
        stored = [(entry.stream, entry.data) for entry in log.scan(PEOPLE_STREAM)]

    found = [(row["stream"], row["data"]) for row in rows(tmp_path / "log", "entries")]
    assert stored
    assert [each for each in found if each[0] == PEOPLE_STREAM] == stored
    assert counts["postings"] == counts["statements"] == 0


async def open_and_close(url: str) -> None:
    async with House(url):
        pass


def test_every_column_is_described(exported: Path) -> None:
    for name in ("entries", "postings", "statements"):
        schema = parquet.read_schema(exported / f"{name}.parquet")
        assert all(field.metadata[b"description"] for field in schema)


def test_reference_page_lists_every_column() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "parquet.md").read_text("utf-8")
    tables = {**TABLES, "flat bets": FLAT_FIELDS, "sessions": SESSION_FIELDS}

    for fields in tables.values():
        listed = "\n".join(f"| `{name}` | {kind} | {text} |" for name, kind, text in fields)
        assert listed in page


def test_folder_that_exists_is_not_replaced(store: Store, exported: Path) -> None:
    with pytest.raises(InvalidInput, match="exists already; name a new one"):
        export_log(store, exported)


def test_failed_export_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    def fail(done: int, _: int) -> None:
        if done:
            raise TamperedData("table/one version 7", "the event cannot be decoded")

    with pytest.raises(TamperedData):
        export_log(store, tmp_path / "log", progress=fail)
    assert list(tmp_path.iterdir()) == []
