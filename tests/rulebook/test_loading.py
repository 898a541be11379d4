"""Loading rulebooks by name or file, and the errors: file, key, clause and remedy."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import pytest

from tests.rulebook.small_rulebook import (
    BOOK,
    OPTION,
    ORDER,
    SET,
    edit_book,
    expect_error,
    load_book,
)
from threedice import RulebookError, ThreediceError, UnknownName, load
from threedice.rulebook import load_rulebook
from threedice.rulebook.validation import convert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_user_rulebook_loads_from_a_file(tmp_path: Path) -> None:
    main, short = load_book(tmp_path, BOOK), load_book(tmp_path, BOOK, "short")

    assert main.id == "my-game/main"
    assert list(main.boxes) == [
        "small", "big", *(f"single:{face}" for face in range(1, 7)),
        "domino:1-2", "domino:5-6", "group:1-2-3", "group:4-5-6", "run",
    ]  # fmt: skip
    assert list(short.boxes) == ["small", "big"]
    assert main.readings == {"generous": "no"}
    assert short.readings == {}
    assert main.call((5, 2, 5)) == "2, double 5, total 12"


def test_file_with_several_layouts_needs_a_layout_name(tmp_path: Path) -> None:
    file = tmp_path / "my-game.toml"
    file.write_text(BOOK, encoding="utf-8")

    with pytest.raises(UnknownName, match=r"my-game\.toml/main or .*my-game\.toml/short"):
        load(str(file))
    with pytest.raises(UnknownName, match=r"my-game\.toml/main"):
        load(f"{file}/mian")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"id = ", id="half a line"),
        pytest.param(BOOK.encode() + b"\0", id="a null byte"),
        pytest.param(BOOK.encode() + b"\n[dice]\n", id="a table twice"),
        pytest.param(b"id = '\xe9'\n" + BOOK.encode(), id="not UTF-8"),
        pytest.param(BOOK.encode("utf-16"), id="UTF-16"),
        pytest.param(b"x = " + b"[" * 5000 + b"]" * 5000, id="nested without end"),
        pytest.param(b"x = " + b"{a=" * 3000 + b"1" + b"}" * 3000, id="tables without end"),
        pytest.param(b"x = " + b"9" * 5000, id="a number without end"),
    ],
)
def test_file_that_is_not_valid_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "my-game.toml"
    file.write_bytes(content)

    with pytest.raises(RulebookError) as caught:
        load(f"{file}/main")
    assert (caught.value.file, caught.value.key) == (str(file), "the file")


@pytest.mark.parametrize(
    "name", ["missing.toml", "folder.toml", "null\0.toml", "a" * 300 + ".toml"]
)
def test_unreadable_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.toml").mkdir()

    with pytest.raises(RulebookError) as caught:
        load(f"{tmp_path / name}/main")
    assert caught.value.file == str(tmp_path / name)
    assert caught.value.key == "the file"
    assert "cannot be read" in caught.value.problem


@pytest.mark.parametrize(
    ("old", "new", "key", "meant", "clause"),
    [
        ('title = "My Game"', 'titel = "My Game"', "titel", "title", ""),
        ("faces = [", "face = [", "dice.face", "faces", "1"),
        ("throws = 2", "throw = 2", "wagers.run.throw", "throws", "2.4"),
        ('"shows", of', '"shows", off', "wagers.run.wins.off", "of", "2.4"),
        ('"count"', '[{ wen = "count" }]', "wagers.single.wins.0.wen", "when", "2.1"),
        ("includes =", "include =", "pay_tables.full.include", "includes", "3"),
        ('{ odds = "6', '{ odd = "6', "pay_tables.full.rows.group.odd", "odds", "3"),
        ("size = [600, 300]", "sise = []", "layouts.main.sise", "size", "1.1"),
        ("columns = 6", "colums = 6", "layouts.main.blocks.singles.colums", "columns", "1.1"),
        ("odds_of =", "odds =", "layouts.main.legends.odds.odds", "odds_of", "1.1"),
        ("question =", "qestion =", "readings.generous.qestion", "question", "3"),
        ('says = "No."', 'say = "No."', "readings.generous.options.no.say", "says", "3"),
        ("displayed =", "display =", "limits.display", "displayed", "4"),
        ("pairs =", "pair =", "limits.differential.pair", "pairs", "4.1"),
        (ORDER, "orders = []", "procedure.orders", "order", "5"),
        ("throw = {", "thrown = {", "procedure.steps.thrown", "throw", "5.1"),
        ("as_early_as", "as_early", "procedure.steps.throw.as_early", "as_early_as", "5.1"),
        ("total = ", "totals = ", "call.totals", "total", "5.2"),
        ("dice-not-flat", "die-not-flat", "irregularities.die-not-flat", "dice-not-flat", "5"),
        ("[people.titles]", "[people.title]", "people.title", "titles", ""),
        ("\ndealer =", "\ndeeler =", "people.titles.deeler", "dealer", ""),
        ("[people.acts.bet]", "[people.acts.bets]", "people.acts.bets", "bet", "6"),
        ("years =", "year =", "people.minimum_age.year", "years", "6"),
        ("locked =", "lock =", "shooter.lock", "locked", "6.1"),
        ("needed =", "need =", "equipment.dice.need", "needed", "1"),
        ('"2.1" = { status', '"2.1" = { state', 'clauses."2.1".state', "status", "2.1"),
    ],
)
def test_unknown_key_is_refused_with_nearest_key(
    tmp_path: Path, old: str, new: str, key: str, meant: str, clause: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert (error.key, error.clause) == (key, clause)
    assert "unknown key" in error.problem
    assert meant in error.remedy


def test_unknown_key_is_quoted_on_one_line(tmp_path: Path) -> None:
    assert expect_error(tmp_path, f'"a\\nb" = 1\n{BOOK}').key == '"a\\nb"'


@pytest.mark.parametrize(
    ("gone", "key", "missing", "clause"),
    [
        ('title = "My Game"\n', "the file", "title", ""),
        ('[chips]\nkinds = ["value"]\nclause = "4"\n', "the file", "chips", ""),
        ("faces = [1, 2, 3, 4, 5, 6]\n", "dice", "faces", "1"),
        ('wins = "count"\n', "wagers.single", "wins", "2.1"),
        ('when = "shows", ', "wagers.run.wins", "when", "2.4"),
        ('odds = "5 to 1", ', "pay_tables.full.rows.domino", "odds", "3"),
        ('pay_table = "full"\n', "layouts.main", "pay_table", "1.1"),
        ("cell = [90, 50]\n", "layouts.main.blocks.singles", "cell", "1.1"),
        ('default = "no"\n', "readings.generous", "default", "3"),
        ('says = "No."\n', "readings.generous.options.no", "says", "3"),
        ("years = 18\n", "people.minimum_age", "years", "6"),
        ('summary = "Singles."', 'clauses."2.1"', "summary", "2.1"),
    ],
)
def test_missing_key_is_refused_by_name(
    tmp_path: Path, gone: str, key: str, missing: str, clause: str
) -> None:
    text = edit_book((gone, "")).replace('"modelled",  }', '"modelled" }')

    error = expect_error(tmp_path, text)

    assert (error.key, error.clause) == (key, clause)
    assert f"{missing!r} is missing" in error.problem
    assert missing in error.remedy


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('id = "my-game"', "id = 5", "id"),
        ('"2024-02-29"', "2024-02-29", "effective"),
        ("faces = [1, 2, 3, 4, 5, 6]", "faces = 6", "dice.faces"),
        ("faces = [1, 2, 3, 4, 5, 6]", "faces = [1, 2, 3, 4, 5]", "dice.faces"),
        ("faces = [1, 2, 3, 4, 5, 6]", "faces = [1, 2, 3, 4, 5, true]", "dice.faces"),
        ("throws = 2", "throws = true", "wagers.run.throws"),
        ("throws = 2", "throws = 2.0", "wagers.run.throws"),
        ('wins = "count"', "wins = 3", "wagers.single.wins"),
        ('wins = "count"', 'wins = ["count"]', "wagers.single.wins.0"),
        ("of = [6]", "of = 6", "wagers.run.wins.of"),
        ('boxes = ["1-2", "5-6"]', 'boxes = "1-2"', "pay_tables.full.rows.domino.boxes"),
        ("at = [0, 0]", "at = [0.5, 0]", "layouts.main.blocks.evens.at"),
        ("at = [0, 0]", "at = [0, 0, 0]", "layouts.main.blocks.evens.at"),
        ("at = [0, 0]", "at = { x = 0, y = 0 }", "layouts.main.blocks.evens.at"),
        ('clause = "1.1"\n\n[layouts.main.blocks.evens]', 'clause = "1.1"\nlike = 3\n'
         "\n[layouts.main.blocks.evens]", "layouts.main.like"),
        (SET, "set = []", OPTION),
        ('pairs = [["big", "small"]]', 'pairs = [["big"]]', "limits.differential.pairs.0"),
        ('announces = "Place your bets"', "bell = 1", "procedure.steps.open-betting.bell"),
        ("detail = { count = 3 }", "detail = { count = {} }", "equipment.dice.detail.count"),
        ('"7" = {', '"8" = []\n"7" = {', "clauses.8"),
    ],
)  # fmt: skip
def test_value_of_the_wrong_type_is_refused(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert expect_error(tmp_path, edit_book((old, new))).key == key


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'odds = "5 to 1"',
            "odds = 5.5",
            'the value is a decimal number; give odds in quotes, such as "62 to 1"',
        ),
        ('id = "my-game"', "id = 5", "the value is a whole number; give text in quotes"),
        ("throws = 2", 'throws = "2"', "the value is text in quotes; give a whole number"),
        ("of = [6]", "of = 6", "the value is a whole number; give a list in [ ]"),
        (
            'announces = "Place your bets"',
            "bell = 1",
            "the value is a whole number; give true or false",
        ),
    ],
)
def test_error_about_a_value_names_kinds_of_values_by_the_words_of_toml(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert f"{error.problem}; {error.remedy}" == message


def test_clause_number_without_quotes_is_refused_with_the_quoted_form(tmp_path: Path) -> None:
    text = BOOK + '\n[clauses.9.1]\nstatus = "modelled"\nsummary = "x"\n'

    error = expect_error(tmp_path, text)

    assert (error.key, error.problem) == ("clauses.9.1", "unknown key")
    assert error.remedy == 'put a number with dots in quotes, as in [clauses."5.1"]'


class Register(msgspec.Struct):
    names: dict[Annotated[str, msgspec.Meta(pattern="^[a-z]+$", extra={"form": "a word"})], int]


def test_key_in_the_wrong_form_is_refused_with_the_form() -> None:
    with pytest.raises(RulebookError) as refused:
        convert({"names": {"ann": 1, "B": 2}}, Register, "register.toml")

    assert str(refused.value) == "register.toml: names.B: 'B' is not permitted; give a word"


@pytest.mark.parametrize("key", ["wagers", "pay_tables", "layouts", "readings", "clauses"])
@pytest.mark.parametrize("value", ["[]", "[{}]", "5", '"x"', "true", "2024-01-01"])
def test_non_table_in_place_of_a_table_is_refused(tmp_path: Path, key: str, value: str) -> None:
    start = BOOK.index(f"\n[{key}")
    rest = [part for part in BOOK[start:].split("\n\n") if not part.strip().startswith(f"[{key}")]

    error = expect_error(tmp_path, f"{key} = {value}\n{BOOK[:start]}\n" + "\n\n".join(rest))

    assert error.key == key


@pytest.mark.parametrize(
    ("old", "new", "key", "meant"),
    [
        ('wins = "count"', 'wins = "counts"', "wagers.single.wins", "count"),
        ('when = "shows"', 'when = "show"', "wagers.run.wins.when", "shows"),
        ('"two-faces"', '"two-face"', "wagers.domino.selects", "two-faces"),
        ('scope = "box"', 'scope = "boxes"', "limits.maximum.scope", "box"),
        ('by = ["shooter"]', 'by = ["shoter"]', "procedure.steps.throw.by.0", "shooter"),
        ('"throw", "pay', '"throws", "pay', "procedure.order.2", "throw"),
        ('"prompted"', '"prompt"', "clauses.5.status", "prompted"),
    ],
)
def test_unknown_word_is_refused_with_nearest_word(
    tmp_path: Path, old: str, new: str, key: str, meant: str
) -> None:
    error = expect_error(tmp_path, edit_book((old, new)))

    assert error.key == key
    assert meant in error.remedy


def iter_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from iter_paths(each, (*path, key))


def format_toml(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{format_toml(key)} = {format_toml(each)}" for key, each in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(format_toml(each) for each in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value).lower()


@pytest.mark.no_cover
@pytest.mark.no_cover
@pytest.mark.parametrize(
    "nonsense",
    ["²", {"clause": 5}],
    ids=str,
)
def test_nonsense_at_any_key_raises_only_threedice_errors(tmp_path: Path, nonsense: object) -> None:
    for *above, last in iter_paths(tomllib.loads(BOOK)):
        if above[:1] == ["clauses"] and above[1:] != ["7"]:
            continue
        data: Any = tomllib.loads(BOOK)
        table = data
        for key in above:
            table = table[key]
        table[last] = nonsense
        text = "\n".join(f"{key} = {format_toml(value)}" for key, value in data.items())
        try:
            load_book(tmp_path, text)
        except ThreediceError:
            continue
        except Exception as error:  # the point of the test
            pytest.fail(f"{'.'.join(map(str, [*above, last]))}: {error!r}")


def test_loading_an_unknown_game_is_an_error_that_names_the_game() -> None:
    with pytest.raises(UnknownName, match=r"no game .tai-sai."):
        load("tai-sai")


def test_loading_an_unknown_rulebook_is_an_error_that_suggests_a_known_one() -> None:
    with pytest.raises(UnknownName, match="triple-dice"):
        load_rulebook("quadruple-dice")
