"""`threedice dice-monitor`, on tables of a house and on CSV files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import QUICK, ManualClock, People, TableWatch
from threedice.cli.dice_monitor import NOT_SHOWN, SENTENCES
from threedice.house.house import House
from threedice.table.commands import Actor, Die, RegisterPiece

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Run

HEADER = "die1,die2,die3"


@pytest.fixture
def tally(tmp_path: Path) -> Path:
    return tmp_path / "rolls.csv"


def write(file: Path, *lines: str) -> str:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def test_table_dealt_by_people_is_watched_from_its_log(run: Run, database: Option) -> None:
    plain = run("dice-monitor", "one", *database)
    as_json = run("dice-monitor", "one", *database, "--json").json

    assert plain.code == 0
    assert "table one, set whole history:\nIn 2 rounds" in plain.out
    assert "This does not show:" in plain.out
    (whole,) = as_json["sets"]
    assert (whole["rounds"], whole["levels"], whole["change"]) == (2, [], None)
    assert whole["counts"]["all dice"] == {"1": 0, "2": 0, "3": 0, "4": 2, "5": 2, "6": 2}
    assert [each["code"] for each in whole["explanation"]] == [
        "watched", "no-level-reached", "continue"
    ]  # fmt: skip


@pytest.mark.usefixtures("house")
def test_each_dice_set_of_a_table_has_its_own_report(run: Run, database: Option) -> None:
    async def exchange_dice() -> None:
        dice = [Die(serial=f"S-1-{number}") for number in (1, 2, 3)]
        sue = Actor(id="sue", role="supervisor")
        async with House(database[1]) as opened:
            people = People(opened.command_handler, "one")
            await people.send(
                RegisterPiece(piece="d-1", kind="dice", serial="S-1", dice=dice, by=sue)
            )
            await people.play("supervisor installs dice d-1", "open betting", "dice 6 5 4")

    asyncio.run(exchange_dice())

    plain = run("dice-monitor", "one", *database)
    sets = run("dice-monitor", "one", *database, "--json").json["sets"]

    assert "table one, set d-1, serial S-1:\nIn 1 rounds" in plain.out
    assert [(each["set"], each["serial"], each["rounds"]) for each in sets] == [
        ("not registered", "", 2),
        ("d-1", "S-1", 1),
    ]


def test_table_without_a_settled_round_is_refused(run: Run, database: Option) -> None:
    result = run("dice-monitor", "two", *database)

    assert (result.code, result.err) == (
        2, "threedice: no round of table two has been settled yet\n"
    )  # fmt: skip


def test_unknown_table_is_refused_with_the_nearest(run: Run, database: Option) -> None:
    result = run("dice-monitor", "onne", *database)

    assert result.code == 2
    assert "did you mean one" in result.err


def test_loaded_dice_of_a_file_raise_alarms_and_exit_with_1(run: Run, tally: Path) -> None:
    file = write(tally, HEADER, *["1,2,3", "6,6,6"] * 60)

    plain = run("dice-monitor", "--csv", file)
    (only,) = run("dice-monitor", "--csv", file, "--json").json["sets"]

    assert plain.code == 1
    assert "Replace this set" in plain.out
    assert [each["level"] for each in only["levels"]] == ["warn", "inspect", "replace"]
    assert all(each["line"] == each["round"] + 1 for each in only["levels"])
    assert only["change"]["threshold"] == 10_000_000
    assert only["points"][0] == [0, 0.0]
    assert only["points"][-1][0] == 120


def test_sets_of_a_file_are_watched_apart_with_the_colours_of_their_dice(
    run: Run, tally: Path
) -> None:
    file = write(
        tally,
        f"set,{HEADER},colours",
        "A,1,2,3,red green blue",
        "B,4,5,6,",
        "A,3,2,1,Blue Green red",
    )

    result = run("dice-monitor", "--csv", file, "--json")

    first, second = result.json["sets"]
    assert result.code == 0
    assert (first["set"], first["rounds"], second["set"], second["rounds"]) == ("A", 2, "B", 1)
    assert list(first["counts"]) == ["all dice", "red", "green", "blue"]
    assert first["counts"]["blue"]["3"] == 2
    assert list(second["counts"]) == ["all dice"]


def test_faces_of_a_file_may_have_the_names_of_a_game(run: Run, tally: Path) -> None:
    file = write(tally, HEADER, "crown,Anchor,club", "1,spade,6")

    named = run("dice-monitor", "--csv", file, "--game", "triple-dice")
    unnamed = run("dice-monitor", "--csv", file)

    assert named.code == 0
    assert "crown            2" in named.out
    assert "line 2: 'crown' is not a face; give three of 1, 2, 3, 4, 5, 6" in unnamed.err


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "line 1: no column die1; the first line names the columns die1,die2,die3"),
        ([HEADER], "holds no roll; give one line for each round"),
        (["die1,die2", "1,2"], "line 1: no column die3"),
        ([f"{HEADER},table", "1,2,3,x"], "line 1: unknown column 'table'"),
        (["die1,die1,die2,die3", "1,1,2,3"], "line 1: a column is named twice"),
        ([HEADER, "1,2,3", "1,2"], "line 3 has 2 cells and needs 3"),
        ([HEADER, "1,2,3", ""], "line 3 has 0 cells and needs 3"),
        ([HEADER, "1,2,7"], "line 2: '7' is not a face"),
        ([HEADER, "1,,3"], "line 2: '' is not a face"),
        ([HEADER, '1,2,"3'], "line 2: unexpected end of data; separate columns by commas"),
        ([f"{HEADER},colours", "1,2,3,red green"], "line 2: the colours 'red green'"),
        ([f"{HEADER},colours", "1,2,3,red red blue"], "line 2: the colours 'red red blue'"),
        ([f"{HEADER},colours", "1,2,3,a b c", "1,2,3,"], "line 3: some rolls of a set"),
        ([f"{HEADER},colours", "1,2,3,", "1,2,3,a b c"], "line 3: some rolls of a set"),
        ([f"{HEADER},colours", "1,2,3,a b c", "1,2,3,d e f"], "line 3: 'f' is die 6 of its set"),
    ],
)
def test_malformed_file_is_refused_with_line_and_remedy(
    lines: list[str], words: str, run: Run, tally: Path
) -> None:
    result = run("dice-monitor", "--csv", write(tally, *lines) if lines else write_empty(tally))

    assert (result.code, result.out) == (2, "")
    assert words in result.err


def write_empty(file: Path) -> str:
    file.write_bytes(b"")
    return str(file)


def test_file_that_is_not_utf8_is_refused(run: Run, tally: Path) -> None:
    tally.write_bytes(HEADER.encode() + b"\n1,2,\xff\n")

    assert "is not text in UTF-8" in run("dice-monitor", "--csv", str(tally)).err


def test_file_with_a_byte_order_mark_is_read(run: Run, tally: Path) -> None:
    tally.write_bytes(b"\xef\xbb\xbf" + HEADER.encode() + b"\r\n1,2,3\r\n")

    assert run("dice-monitor", "--csv", str(tally)).code == 0


@pytest.mark.parametrize("words", [(), ("one", "--csv", "x.csv"), ("one", "--game", "triple-dice")])
def test_exactly_one_source_is_required(words: tuple[str, ...], run: Run) -> None:
    result = run("dice-monitor", *words)

    assert result.code == 2
    assert result.err.count("\n") == 1


def test_missing_file_is_refused(run: Run, tally: Path) -> None:
    result = run("dice-monitor", "--csv", str(tally))

    assert result.code == 2
    assert str(tally) in result.err


def test_every_code_of_a_report_has_its_english() -> None:
    sentences = {"watched", "no-level-reached", "level-reached", "continue", "change"}

    assert set(SENTENCES) == sentences | {"warn", "inspect", "replace"}
    assert set(NOT_SHOWN) == {"fairness", "cause", "independence", "single-die", "records"}


def test_table_dealt_by_the_house_is_watched_like_any_other(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"

    async def play() -> None:
        clock = ManualClock()
        async with House(url, runtime=clock) as house:
            await People(house.command_handler, "two").open("macau-sic-bo/main", timing=QUICK)
            watch = TableWatch(house)
            clock.move(QUICK.closing_seconds)
            await watch.until("two", lambda t: t.betting_since > 0)
            clock.move(QUICK.betting_seconds)
            await watch.until("two", lambda t: "close-betting" in t.table.current.done)
            clock.move(QUICK.closing_seconds)
            await watch.until("two", lambda t: t.table.current.result is not None)
            clock.move(QUICK.showing_seconds)
            await watch.until("two", lambda t: bool(t.table.settled))

    asyncio.run(play())

    result = run("dice-monitor", "two", "--database", url, "--json")

    assert result.code == 0
    assert result.json["sets"][0]["rounds"] == 1
