"""`house.toml`: what is valid, and how errors are reported."""

from __future__ import annotations

import re
from datetime import time
from pathlib import Path

import msgspec
import pytest

from threedice.api.config import (
    HouseConfig,
    HousePolicies,
    TableConfig,
    TableLimitsConfig,
    configured_limits,
    load_config,
)
from threedice.errors import InvalidInput, RulebookError
from threedice.house.allowances import HouseAmounts
from threedice.house.events import Timing
from threedice.rulebook import load
from threedice.table.limits import StakeRange

DOCUMENT = Path(__file__).parents[2] / "docs/how-to/house-file.md"
DOCUMENTED = re.search(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)
assert DOCUMENTED is not None
HOUSE_FILE = DOCUMENTED[1]


def load_text(folder: Path, text: str) -> HouseConfig:
    file = folder / "house.toml"
    file.write_text(text, encoding="utf-8")
    return load_config(file)


def test_documented_house_file_is_valid(tmp_path: Path) -> None:
    house = load_text(tmp_path, HOUSE_FILE)

    assert (house.name, house.currency, house.gaming_day_starts) == (
        "Threedice Palace", "SGD", time(6),
    )  # fmt: skip
    assert house.tables["machine-1"].dealt_by_house == Timing(
        betting_seconds=25, closing_seconds=3, showing_seconds=8
    )
    table = house.tables["pit-1"]
    game = load(table.game, table.readings)
    limits = configured_limits(table, game)
    assert limits.families["triple"] == StakeRange(500, 20000)
    assert limits.families["big"] == StakeRange(1000, 500000)
    assert limits.differential == {"big": 2000000}


@pytest.mark.parametrize(
    ("was", "now", "key"),
    [
        ('currency = "SGD"', 'currency = "dollars"', "currency"),
        ('time_zone = "Asia/Singapore"', 'time_zone = "Asia/Nowhere"', "time_zone"),
        ('time_zone = "Asia/Singapore"', 'time_zone = "../etc"', "time_zone"),
        ('name = "Threedice Palace"', 'nome = "x"', "nome"),
        ('game = "sg-rws-tai-sai-v6/a"', 'game = "sg-rws-tai-sai-v6/z"', "tables.pit-1"),
        ('readings = { pro-rata = "absorb" }', 'readings = { x = "y" }', "tables.pit-1"),
        ("chips = [500, 2500, 10000, 50000]", "chips = [500, 700]", "tables.pit-1"),
        ("float = 50_000_000", "float = 50_000_001", "tables.pit-1"),
        ("float = 50_000_000", "float = -500", "tables.pit-1"),
        ("minimum = 1000, maximum = 500000", "minimum = 1000, maximum = 500", "tables.pit-1"),
        ("only = { triple", "only = { trouble", "tables.pit-1"),
        ("[tables.pit-1]", '[tables."Pit 1"]', "tables"),
        ('mode = "record"', 'mode = "anything"', "tables.pit-1.mode"),
        ("_minutes = 5", "_minutes = 0", "policies.dealer_locks_after_minutes"),
        ("[policies]", "[policies]\ncommands_per_second = 0", "policies.commands_per_second"),
        ("[policies]", "[policies]\nlongest_hours = -1", "policies.longest_hours"),
        ("betting_seconds = 25", "betting = 25", "dealt_by_house"),
        ("[policies]", "[authority]\nruling_alone = -1\n[policies]", "authority.ruling_alone"),
        ("betting_seconds = 25", "betting_seconds = 14.9", "tables.machine-1"),
        ("betting_seconds = 25", "betting_seconds = nan", "tables.machine-1"),
        ("[policies]", "[policies]\nshortest_betting_seconds = 0", "shortest_betting_seconds"),
    ],
)
def test_invalid_setting_is_reported_with_its_key(
    was: str, now: str, key: str, tmp_path: Path
) -> None:
    assert was in HOUSE_FILE

    with pytest.raises(RulebookError) as refused:
        load_text(tmp_path, HOUSE_FILE.replace(was, now))

    assert key in str(refused.value)
    assert re.match(r"house\.toml, line \d+: ", str(refused.value))


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ('"SGD"', '"sgd"', "currency: 'sgd' is not permitted; give three capital letters, such as"),
        ("[tables.pit-1]", "[tables.Pit-1]", "tables.Pit-1: 'Pit-1' is not permitted; give up to"),
        ("= 06:00:00", '= "6"', "'6' is not permitted; give a time such as 06:00:00"),
        ("= 06:00:00", "= 2026-01-31", "the value is a date; give a time such as 06:00:00"),
        ("float = 50_000_000", "float = 0.5", "is a decimal number; give a whole number"),
        ("_minutes = 5", "_minutes = 0", "0 is not permitted; give a whole number >= 1"),
    ],
)
def test_invalid_setting_is_reported_with_its_remedy(
    was: str, now: str, message: str, tmp_path: Path
) -> None:
    assert was in HOUSE_FILE

    with pytest.raises(RulebookError) as refused:
        load_text(tmp_path, HOUSE_FILE.replace(was, now))

    assert message in str(refused.value)


OLDER_FILE = """name = "An older house"
currency = "SGD"
time_zone = "Asia/Singapore"

[policies]  # as an older program took them
commands_per_second = 40

[tables.machine-1]
game = "nz-tai-sai-2008/2"
chips = [
  100,
  500,
]
float = 10_000_000
limits = { minimum = 100, maximum = 50000 }

[tables.machine-1.dealt_by_house]
closing_seconds = 3
betting_seconds = 5
"""


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        (
            "", "",
            "house.toml, line 19: tables.machine-1.dealt_by_house.betting_seconds: betting for 5"
            " seconds is too short at a table that the house deals; this house allows no less than"
            " 15; write betting_seconds = 15 or more,"
            " or permit less by shortest_betting_seconds = 5 under [policies]",
        ),
        (
            "2008/2", "2006/2",
            "house.toml, line 9: tables.machine-1.game: no game 'nz-tai-sai-2006/2'; did you mean",
        ),
        (
            "  100,", "  150,",
            "house.toml, line 10: tables.machine-1.chips: a chip of 500 is not a multiple of the"
            " smallest, 150; write them as in chips = [5, 25, 100]",
        ),
        (
            "10_000_000", "10_000_050",
            "house.toml, line 14: tables.machine-1.float: 10000050 is negative or not a multiple of"
            " the smallest chip, 100; write for example float = 100000",
        ),
        (
            "maximum = 50000", "maximum = 50",
            "house.toml, line 15: tables.machine-1.limits: limits 100 to 50 on",
        ),
        (
            "commands_per_second = 40", "commands_each_second = 40",
            "house.toml, line 6: policies.commands_each_second: unknown key; did you mean"
            " commands_per_second",
        ),
        (
            "float = 10_000_000", "",
            "house.toml, line 8: tables.machine-1.float: the table has neither",
        ),
        (
            'name = "An older house"', "",
            "house.toml: the file: the key 'name' is missing; add name to this table",
        ),
    ],
    ids=["duration", "game", "chips", "float", "limits", "unknown", "missing", "whole file"],
)  # fmt: skip
def test_refused_house_file_names_line_and_key_and_what_to_write(
    was: str, now: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(RulebookError) as refused:
        load_text(tmp_path, OLDER_FILE.replace(was, now, 1) if was else OLDER_FILE)

    assert str(refused.value).startswith(message)


def test_house_file_with_what_the_message_says_is_accepted(tmp_path: Path) -> None:
    load_text(tmp_path, OLDER_FILE.replace("betting_seconds = 5", "betting_seconds = 15"))
    permitted = "[policies]\nshortest_betting_seconds = 5"
    load_text(tmp_path, OLDER_FILE.replace("[policies]", permitted))


def own_book(folder: Path, file: str, odds: str) -> Path:
    """Write a rulebook with the id `my-sic-bo` that pays any triple at some odds."""
    text = f'extends = "macau-sic-bo"\nid = "my-sic-bo"\ntitle = "{odds}"\n'
    path = folder / file
    path.write_text(f'{text}pay_tables.main.rows.any-triple.odds = "{odds}"', encoding="utf-8")
    return path


def two_tables(one: Path, other: Path) -> str:
    """Return a house file with a table for each of two rulebooks."""
    terms = "chips = [100]\nfloat = 100\nlimits = { minimum = 100, maximum = 1000 }\n"
    tables = [
        f"[tables.{name}]\ngame = '{book}/main'\n{terms}"
        for name, book in (("one", one), ("two", other))
    ]
    return "\n".join(['name = "House"\ncurrency = "SGD"\ntime_zone = "Asia/Singapore"', *tables])


def test_two_rulebooks_with_one_id_are_refused_in_one_house(tmp_path: Path) -> None:
    one, other = own_book(tmp_path, "one.toml", "20 to 1"), own_book(tmp_path, "x.toml", "30 to 1")

    with pytest.raises(RulebookError) as refused:
        load_text(tmp_path, two_tables(one, other))

    assert refused.value.key == "tables.two.game"
    for text in ("'my-sic-bo'", str(one), str(other), "the table one"):
        assert text in refused.value.problem
    assert refused.value.remedy == "give one of them an id of its own"


def test_one_rulebook_may_be_played_at_two_tables_and_from_a_copy(tmp_path: Path) -> None:
    one, copy = (own_book(tmp_path, file, "30 to 1") for file in ("one.toml", "copy.toml"))

    assert len(load_text(tmp_path, two_tables(one, one)).tables) == 2
    assert len(load_text(tmp_path, two_tables(one, copy)).tables) == 2


NEW_ZEALAND = 'game = "nz-tai-sai-2008/1"'
SINGAPORE = 'game = "sg-rws-tai-sai-v6/a"\nreadings = { pro-rata = "absorb" }'


@pytest.mark.parametrize(
    ("game", "float_", "rack", "problem"),
    [
        (SINGAPORE, "", '{ "5" = 100 }', "`rack` has chips of 5, but `chips` are 500, 2500, 10000"),
        (SINGAPORE, "", "{ 0500 = 100 }", "`rack` has chips of 0500, but `chips` are 500"),
        (SINGAPORE, "", "{ red = 10 }", "this game has no chips without a value"),
        (SINGAPORE, "float = 50_500", "{ 500 = 100 }", "50500 is not the value of `rack`, 50000"),
        (SINGAPORE, "", "{ 500 = -1 }", "tables.pit-1.rack"),
        (SINGAPORE, "", "{ 500 = 1.5 }", "tables.pit-1.rack"),
        (NEW_ZEALAND, "", "{ red = 5, Red = 5 }", "'Red' looks like another chip"),
        (NEW_ZEALAND, "", '{ " " = 5 }', "' ' cannot be the name of a colour"),
        (NEW_ZEALAND, "", "{ 5e2 = 5 }", "'5e2' cannot be the name of a colour; use letters a to"),
        (NEW_ZEALAND, "", "{ __proto__ = 5 }", "'__proto__' cannot be the name of a colour"),
        (SINGAPORE, "", "{}", "neither a `float` nor a `rack`"),
        (NEW_ZEALAND, "dealt_by_house = {}", "{ 500 = 100 }", "the house deals this table"),
    ],
)
def test_rack_that_does_not_fit_its_table_is_reported(
    game: str, float_: str, rack: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(RulebookError) as refused:
        load_text(tmp_path, racked_file(game, rack, float_))
    assert problem in str(refused.value)
    assert "tables.pit-1" in str(refused.value)


@pytest.mark.parametrize("float_", ["", "float = 300_000"])
def test_rack_is_the_float_and_may_have_the_colours_of_its_game(
    float_: str, tmp_path: Path
) -> None:
    rack = "{ 500 = 100, 2500 = 100, red = 40 }"
    house = load_text(tmp_path, racked_file(NEW_ZEALAND, rack, float_))
    table = house.tables["pit-1"]
    assert (table.rack, table.float_amount) == ({"500": 100, "2500": 100, "red": 40}, 300_000)


def racked_file(game: str, rack: str, more: str) -> str:
    """Return the house file with a rack instead of the float of its first table."""
    text = HOUSE_FILE.replace(SINGAPORE, game).replace(", only = { triple = [500, 20000] }", "")
    return text.replace("float = 50_000_000", f"rack = {rack}\n{more}")


@pytest.mark.parametrize("field", msgspec.structs.fields(HouseAmounts), ids=lambda each: each.name)
def test_house_file_can_only_lower_an_amount(
    field: msgspec.structs.FieldInfo, tmp_path: Path
) -> None:
    most = field.default
    for amount in (most, 0):
        text = HOUSE_FILE + f"\n[authority]\n{field.name} = {amount}\n"
        assert getattr(load_text(tmp_path, text).authority, field.name) == amount
    with pytest.raises(RulebookError) as refused:
        load_text(tmp_path, HOUSE_FILE + f"\n[authority]\n{field.name} = {most + 1}\n")
    assert f"authority.{field.name}" in str(refused.value)
    assert str(most) in str(refused.value)


def test_tolerance_below_zero_is_reported_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(RulebookError, match=r"counts\.tolerance"):
        load_text(tmp_path, HOUSE_FILE + "\n[counts]\ntolerance = -1\n")


def test_house_file_without_tables_is_refused(tmp_path: Path) -> None:
    text = 'name = "x"\ncurrency = "SGD"\ntime_zone = "UTC"\n[tables]\n'
    with pytest.raises(RulebookError, match=r"add \[tables.NAME\]"):
        load_text(tmp_path, text)


def test_missing_or_malformed_house_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_config(tmp_path / "nothing.toml")
    with pytest.raises(InvalidInput, match="is not valid TOML"):
        load_text(tmp_path, "name = ")


def test_every_key_of_the_house_file_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for struct in (HouseConfig, TableConfig, TableLimitsConfig, HousePolicies, HouseAmounts):
        for field in msgspec.structs.fields(struct):
            assert f"`{field.encode_name}`" in text or f"`{field.encode_name}." in text
