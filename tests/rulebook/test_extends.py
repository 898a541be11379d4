"""Rulebooks that extend another: inherited values, changes and removals."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import threedice
from tests.rulebook.small_rulebook import BOOK, expect_error, load_book
from threedice import Game, RulebookError, load
from threedice.rulebook import load_rulebook
from threedice.rulebook.source import MAX_EXTENDED_FILES, shipped_ids

RULEBOOKS: Final = Path(threedice.__file__).parent / "rulebooks"
MACAU = 'extends = "macau-sic-bo"\nid = "mine"\ntitle = "Mine"\n'
CROWN = 'extends = "crown-and-anchor"\nid = "mine"\ntitle = "Mine"\n'


def write_book(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def shipped_text(book_id: str) -> str:
    return (RULEBOOKS / f"{book_id}.toml").read_text(encoding="utf-8")


def odds_of_box(game: Game, box: str) -> list[str]:
    return [str(line.odds) for line in game.box(box).lines]


# --- accepted -----------------------------------------------------------------------------------


def test_extended_book_with_changed_odds_is_another_game(tmp_path: Path) -> None:
    ours = load("macau-sic-bo/main")
    mine = load_book(tmp_path, MACAU + 'pay_tables.main.rows.big.odds = "19 to 20"')

    assert mine.id == "mine/main"
    assert mine.unit == 20
    assert odds_of_box(mine, "big") == ["19 to 20"]
    assert set(mine.payoffs["big"]) == {19, -20}
    for box, row in ours.payoffs.items():
        if box != "big":
            assert mine.payoffs[box] == tuple(20 * net for net in row)
    assert mine.hash != ours.hash
    assert mine.felt is not None


def test_a_changed_payment_under_an_inherited_id_is_refused(tmp_path: Path) -> None:
    text = 'extends = "macau-sic-bo"\npay_tables.main.rows.big.odds = "2 to 1"'

    assert expect_error(tmp_path, text).key == "id"


@pytest.mark.parametrize("book_id", shipped_ids())
def test_unchanged_copy_of_a_shipped_book_keeps_its_id(tmp_path: Path, book_id: str) -> None:
    (tmp_path / "copy.toml").write_text(f"# A copy.\n{shipped_text(book_id)}", encoding="utf-8")

    assert load_rulebook(f"{tmp_path}/copy.toml").book == load_rulebook(book_id).book


def test_book_can_extend_a_book_that_extends_another(tmp_path: Path) -> None:
    write_book(tmp_path, "first", BOOK)
    write_book(
        tmp_path,
        "second",
        'extends = "first"\nid = "second"\npay_tables.full.rows.run.odds = "8 to 1"',
    )

    third = load_book(
        tmp_path, 'extends = "second"\nid = "third"\npay_tables.full.rows.group.odds = "7 to 1"'
    )

    assert third.id == "third/main"
    assert odds_of_box(third, "run") == ["8 to 1"]
    assert odds_of_box(third, "group:1-2-3") == ["7 to 1"]
    assert odds_of_box(third, "domino:1-2") == ["5 to 1"]


def test_file_in_the_same_folder_is_preferred_to_a_shipped_book(tmp_path: Path) -> None:
    write_book(tmp_path, "macau-sic-bo", BOOK)

    assert "run" in load_book(tmp_path, MACAU).boxes


def test_inherited_title_and_version_may_be_repeated(tmp_path: Path) -> None:
    text = 'extends = "macau-sic-bo"\nid = "mine"\ntitle = "Sic Bo (Macau)"\nversion = "1"'

    assert load_book(tmp_path, text).id == "mine/main"


def test_removed_readings_are_not_in_the_game(tmp_path: Path) -> None:
    text = 'extends = "triple-dice"\nid = "mine"\nremoves = ["readings.outside", "readings.calls"]'

    game = load_book(tmp_path, text, "mat")

    gone = set(load("triple-dice/mat").readings) - set(game.readings)
    assert gone == {"outside", "calls"}


def test_removed_key_with_a_dot_may_be_quoted(tmp_path: Path) -> None:
    write_book(tmp_path, "first", BOOK + '"8.1" = { status = "declared", summary = "Words." }\n')
    text = 'extends = "first"\nid = "mine"\nremoves = [\'clauses."8.1"\']'

    game = load_book(tmp_path, text)

    assert "8.1" not in game.summaries
    assert "7" in game.summaries


def test_removed_value_may_be_defined_again(tmp_path: Path) -> None:
    text = MACAU + (
        'removes = ["wagers.small.wins"]\nwagers.small.wins = { when = "total-is", of = [9] }'
    )

    assert len(set(load_book(tmp_path, text).payoffs["small"])) == 2


def test_origin_of_a_clause_is_the_book_that_states_it(tmp_path: Path) -> None:
    text = MACAU + 'clauses."5".summary = "Other odds."'
    load_book(tmp_path, text)

    origin = load_rulebook(str(tmp_path / "my-game.toml")).origin

    assert origin["5"] == "mine"
    assert origin["4.1"] == "macau-sic-bo"


def test_layout_like_another_copies_its_geometry_except_its_own_changes(tmp_path: Path) -> None:
    write_book(tmp_path, "first", BOOK)
    layout = (
        '[layouts.twin]\ntitle = "T"\nclause = "1.1"\npay_table = "full"\nlike = "first/main"\n'
        "blocks.evens.at = [300, 0]\n\n"
    )
    text = BOOK.replace("[layouts.short]", f"{layout}[layouts.short]")

    main, twin = load_book(tmp_path, text).felt, load_book(tmp_path, text, "twin").felt

    assert main is not None
    assert twin is not None
    moved = {area.box for area in twin.areas if area not in main.areas}
    assert moved == {"small", "big"}


# --- refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            shipped_text("macau-sic-bo").replace('"24 to 1"', '"30 to 1"'), id="other odds"
        ),
        pytest.param(
            shipped_text("macau-sic-bo").replace("(Macau)", "(Casino)"), id="another title"
        ),
        pytest.param(BOOK.replace('"my-game"', '"macau-sic-bo"'), id="another game"),
    ],
)
def test_the_id_of_a_shipped_book_is_refused_for_other_rules(tmp_path: Path, text: str) -> None:
    error = expect_error(tmp_path, text)

    assert error.key == "id"
    assert "'macau-sic-bo' is the id of a shipped rulebook" in error.problem
    assert '"my-macau-sic-bo"' in error.remedy
    assert 'extends = "macau-sic-bo"' in error.remedy


@pytest.mark.parametrize("base", ["macau-sic-bo", "first"])
def test_a_book_with_the_id_of_the_one_that_it_extends_is_refused(
    tmp_path: Path, base: str
) -> None:
    write_book(tmp_path, "first", BOOK.replace('"my-game"', '"first"'))

    error = expect_error(tmp_path, f'extends = "{base}"\nid = "{base}"\ntitle = "Mine"')

    assert error.key == "id"
    assert "give it an id of its own" in error.remedy


def test_extending_an_unknown_book_is_refused_with_nearest_book(tmp_path: Path) -> None:
    error = expect_error(tmp_path, 'extends = "macau-sicbo"')

    assert error.key == "extends"
    assert "'macau-sicbo'" in error.problem
    assert "macau-sic-bo" in error.remedy


@pytest.mark.parametrize(
    "value",
    [
        "5", "1.5", "true", "{}", "[]", '["macau-sic-bo"]', "2024-01-01", '""',
        '"macau-sic-bo/main"', '"macau-sic-bo.toml"', '"../nowhere/none"', '"\\u0000"',
        f'"{"a" * 300}"',
    ],
)  # fmt: skip
def test_extends_value_that_names_no_book_is_refused(tmp_path: Path, value: str) -> None:
    assert expect_error(tmp_path, f'extends = {value}\nid = "mine"').key == "extends"


@pytest.mark.parametrize("name", ["my-game", "./my-game", "../here/my-game"])
def test_book_that_extends_itself_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "my-game.toml").write_text(f'extends = "{name}"\nid = "mine"', encoding="utf-8")

    with pytest.raises(RulebookError) as caught:
        load(f"{folder}/my-game.toml/main")
    assert caught.value.key == "extends"
    assert "cycle" in caught.value.remedy


def test_books_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    write_book(tmp_path, "other", 'extends = "my-game"\nid = "other"')

    with pytest.raises(RulebookError) as caught:
        load_book(tmp_path, 'extends = "other"\nid = "mine"')
    assert caught.value.file == str(tmp_path / "other.toml")
    assert caught.value.key == "extends"
    assert "cycle" in caught.value.remedy


def test_layouts_like_each_other_are_refused(tmp_path: Path) -> None:
    write_book(
        tmp_path,
        "other",
        BOOK.replace("[layouts.short]", '[layouts.short]\nlike = "my-game/main"'),
    )
    with pytest.raises(RulebookError) as caught:
        load_book(tmp_path, BOOK.replace("[layouts.short]", '[layouts.short]\nlike = "other/main"'))
    assert caught.value.key == "layouts.short.like"


def test_error_in_an_extended_file_names_that_file(tmp_path: Path) -> None:
    write_book(tmp_path, "first", BOOK.replace("throws = 2", "throw = 2"))

    with pytest.raises(RulebookError) as caught:
        load_book(tmp_path, 'extends = "first"\nid = "mine"')
    assert caught.value.file == str(tmp_path / "first.toml")
    assert caught.value.key == "wagers.run.throw"


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('jurisdiction = "Macau"', "jurisdiction"),
        ('pay_tables.main.rows.big.odds = "1 to 1"', "pay_tables.main.rows.big.odds"),
        ('wagers.small.wins.unless = "any-triple"', "wagers.small.wins.unless"),
        ('clauses."3.1".status = "modelled"', 'clauses."3.1".status'),
        ("procedure.steps.tumble.at_least = 3", "procedure.steps.tumble.at_least"),
    ],
)
def test_repeating_an_inherited_value_is_refused(tmp_path: Path, line: str, key: str) -> None:
    error = expect_error(tmp_path, MACAU + line)

    assert error.key == key
    assert "repeats" in error.problem
    assert error.remedy == "leave the key out"


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("unknown = 1", "unknown"),
        ("wagers.small.throw = 2", "wagers.small.throw"),
        ("wagers.small = 5", "wagers.small"),
        ("layouts = 5", "layouts"),
        ("layouts.main = []", "layouts.main"),
        ("layouts.main.like = 3", "layouts.main.like"),
        ("clauses = []", "clauses"),
        ("dice = 6", "dice"),
        ("procedure.steps.tumble.bell = 1", "procedure.steps.tumble.bell"),
        ("procedure.steps.tumble.covered = 1", "procedure.steps.tumble.covered"),
        ('pay_tables.main.rows.big.odds = "1 too 1"', "pay_tables.main.rows.big.odds"),
        ('clauses."5".status = "excused"', "clauses.5"),
        ('wagers.small.clause = "9.9"', "wagers.small"),
    ],
)
def test_invalid_change_to_an_extended_book_is_refused_at_its_key(
    tmp_path: Path, line: str, key: str
) -> None:
    assert expect_error(tmp_path, MACAU + line).key == key


def test_change_of_the_wrong_type_is_not_reported_as_a_repetition(tmp_path: Path) -> None:
    error = expect_error(tmp_path, MACAU + "procedure.steps.tumble.covered = 1")

    assert "repeats" not in error.problem


def test_a_row_of_too_many_files_that_extend_each_other_is_refused(tmp_path: Path) -> None:
    write_book(tmp_path, "b0", BOOK)
    for number in range(1, MAX_EXTENDED_FILES + 1):
        write_book(tmp_path, f"b{number}", f'extends = "b{number - 1}"\nid = "b{number}"')

    load_rulebook(f"{tmp_path}/b{MAX_EXTENDED_FILES - 1}.toml")
    with pytest.raises(RulebookError, match="16 files already extend each other"):
        load_rulebook(f"{tmp_path}/b{MAX_EXTENDED_FILES}.toml")


@pytest.mark.parametrize(
    "key",
    [
        "nope",
        "readings.nope",
        "wagers.small.throws",
        "wagers.single.wins.when",
        "clauses.3.1",
        "id.x",
    ],
)
def test_removing_an_absent_key_is_refused(tmp_path: Path, key: str) -> None:
    error = expect_error(tmp_path, f'{MACAU}removes = ["{key}"]')

    assert error.key == "removes"
    assert f"{key} is not in the extended book" in error.problem


@pytest.mark.parametrize(
    "value",
    ["5", "true", "1.5", "{}", '"wagers.double"', '[""]', '["a b"]', '["#"]', '["opening #"]',
     '["call = 1 #"]', "[5]", "[[]]", "[{}]"],
)  # fmt: skip
def test_removes_entry_that_is_not_a_key_is_refused(tmp_path: Path, value: str) -> None:
    assert expect_error(tmp_path, f"{MACAU}removes = {value}").key == "removes"


def test_removes_string_is_not_read_as_a_list_of_letters(tmp_path: Path) -> None:
    error = expect_error(tmp_path, f'{MACAU}removes = "wagers.double"')

    assert not error.problem.startswith("w is not")


def test_removing_without_extending_is_refused(tmp_path: Path) -> None:
    error = expect_error(tmp_path, 'removes = ["wagers.run"]\n' + BOOK)

    assert error.key == "removes"
    assert "extends" in error.remedy


@pytest.mark.parametrize(
    ("removed", "key", "problem"),
    [
        ("wagers.double", "pay_tables.main.rows.double", "no wager 'double'"),
        ("pay_tables.main.rows.double", "layouts.main.blocks.doubles-left.boxes", "'double:6'"),
        ("call.clause", "call", "'clause' is missing"),
        ('clauses.\\"4.1\\"', "wagers.small", "'4.1', which does not exist"),
        ("procedure.steps.uncover", "procedure.order", "uncover"),
    ],
)
def test_removing_a_referenced_key_is_refused(
    tmp_path: Path, removed: str, key: str, problem: str
) -> None:
    error = expect_error(tmp_path, f'{MACAU}removes = ["{removed}"]')

    assert error.key == key
    assert problem in error.problem


# --- geometry taken from another game, and then extended ----------------------------------------


def test_wager_and_its_block_can_be_removed_from_a_layout_like_another(tmp_path: Path) -> None:
    places = [f"layouts.main.{part}.doubles-{side}" for part in ("blocks", "legends")
              for side in ("left", "right")]  # fmt: skip
    removed = ["wagers.double", "pay_tables.main.rows.double", *places]

    game = load_book(tmp_path, f"{MACAU}removes = {removed}")

    assert not [box for box in game.boxes if box.startswith("double")]


def test_extended_file_resolves_names_in_its_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    write_book(folder, "felt", BOOK)
    blocks = BOOK[BOOK.index("size = [600, 300]") : BOOK.index("[layouts.short]")]
    like = BOOK.replace(blocks, 'clause = "1.1"\nlike = "felt/main"\n\n')
    write_book(folder, "first", like)

    game = load_book(tmp_path, 'extends = "theirs/first"\nid = "mine"')

    assert game.felt is not None


# --- symbols ------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["total-odd", "total-even", "total-is"])
def test_total_of_symbols_is_refused(tmp_path: Path, when: str) -> None:
    error = expect_error(tmp_path, f'{CROWN}wagers.single.wins = "{when}"')

    assert (error.key, error.clause) == ("wagers.single", "4")
    assert "not numbers" in error.problem


def test_call_of_the_total_of_symbols_is_refused(tmp_path: Path) -> None:
    assert expect_error(tmp_path, f'{CROWN}call.total = "total {{total}}"').key.startswith("call")


def test_unknown_symbol_is_refused_with_nearest_symbol(tmp_path: Path) -> None:
    error = expect_error(
        tmp_path, f'{CROWN}wagers.single.wins = {{ when = "count", of = ["crow"] }}'
    )

    assert (error.key, error.clause) == ("wagers.single", "4")
    assert "'crow'" in error.problem
    assert error.remedy == "did you mean crown?"
