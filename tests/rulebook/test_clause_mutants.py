"""Mutation of rulebooks: a changed clause fails at least one check that cites it."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from inspect import iscoroutine, signature
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from threedice.cases import read_cases, run_case, shipped_cases
from threedice.rulebook import load_rulebook, source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.no_cover  # tracing would double the time of the longest tests

QUICK = ("tests/cases/", "tests/rulebook/", "tests/table/")
"""Folders whose checks run first."""

Check = tuple[str, "Callable[[], object]"]
"""A case or a call of a test function that cites a clause: its name, and a function to run it."""


class Mutant(NamedTuple):
    """A clause, and a replacement of text in one table of its rulebook."""

    cites: str
    after: str
    old: str
    new: str

    @property
    def book(self) -> str:
        return self.cites.partition(" ")[0]


def tai_sai(clause: str, after: str, old: str, new: str) -> Mutant:
    return Mutant(f"sg-rws-tai-sai-v6 {clause}", after, old, new)


def open_cover(clause: str, after: str, old: str, new: str) -> Mutant:
    return Mutant(f"sg-rws-tai-sai-open-cover-v5 {clause}", after, old, new)


def new_zealand(clause: str, after: str, old: str, new: str) -> Mutant:
    return Mutant(f"nz-tai-sai-2008 {clause}", after, old, new)


def triple_dice(clause: str, after: str, old: str, new: str) -> Mutant:
    return Mutant(f"triple-dice {clause}", after, old, new)


MUTANTS = [
    tai_sai("4.1.1", "[pay_tables.1.rows]", "62 to 1", "60 to 1"),
    tai_sai("4.1.2", "[pay_tables.2.rows]", '"12 to 1"', '"3 to 1"'),
    tai_sai("4.1.3", "[pay_tables.3.rows]", "50 to 1", "60 to 1"),
    tai_sai("3.9", "[wagers.small]", "[4, 5,", "[5,"),
    tai_sai("3.10", "[wagers.big]", ', unless = "any-triple"', ""),
    tai_sai("3.5", "[limits.maximum]", '"box"', '"player"'),
    tai_sai("1.3", "[limits.differential]", ', ["odd", "even"]', ""),
    tai_sai(
        "5.1.1", "[limits.pro_rata]", "never_below_minimum = true", "never_below_minimum = false"
    ),
    tai_sai(
        "5.1.2", "[limits.pro_rata]", "exempt_below_minimum = true", "exempt_below_minimum = false"
    ),
    tai_sai("5.1.1", "[limits.pro_rata]", '"floor"', '"absorb"'),
    tai_sai("3.6", "[procedure.steps.close-betting]", "No more Bets", "Rien ne va plus"),
    tai_sai("3.7", "[procedure.steps.tumble]", "covered = true", "covered = false"),
    tai_sai("5.5.1", "[procedure.steps.tumble]", "at_least = 3", "at_least = 2"),
    tai_sai(
        "3.9", "[procedure]", '"collect-losers", "pay-winners"', '"pay-winners", "collect-losers"'
    ),
    tai_sai("5.9", "[procedure.positions]", "close-betting", "call-result"),
    tai_sai("5.12", "[procedure.void]", "returned", "stand"),
    tai_sai("5.12", "[irregularities.dice-not-flat]", "returned", "stand"),
    tai_sai("5.6", "[irregularities.dice-damaged]", "void-affected-rounds", "void-round"),
    tai_sai("5.4.1", "[irregularities.interruption]", '"layout"', '"placed"'),
    tai_sai("5.10", "[irregularities.illumination-failed]", "settle-by-dice", "void-round"),
    tai_sai("5.14", "[irregularities.not-provided-for]", "shift-manager", "supervisor"),
    tai_sai("5.13", "[people.acts.bet-on-behalf]", '"dealer", ', ""),
    open_cover("3.7", "[procedure]", '"close-betting", "tumble"', '"tumble", "close-betting"'),
    open_cover("3.7", "[procedure.steps.tumble]", "covered = false", "at_least = 2"),
    open_cover("5.5.3", "[irregularities.tumbled-before-close]", "void-round", "no-later-effect"),
    new_zealand("4.10", "[pay_tables.standard.rows]", "180 to 1", "150 to 1"),
    new_zealand("4.1(a)(ii)", "[wagers.small]", ', unless = "any-triple"', ""),
    new_zealand("4.1(d)(ii)", "[wagers.double]", '"shows-pair"', '"shows"'),
    new_zealand("4.1(j)", "[wagers.four]", "three-different-within", "all-within"),
    new_zealand("6.1", "[procedure]", '"tumble", "open-betting"', '"open-betting", "tumble"'),
    new_zealand("6.2", "[procedure.steps.close-betting]", "bell = true", "bell = false"),
    new_zealand("4.9", "[procedure.positions]", "call-result", "close-betting"),
    new_zealand("7.1(a)", "[irregularities.dice-not-flat]", "No spin", "No throw"),
    new_zealand(
        "7.2", "[irregularities.wrong-entry]", "supervised_by = [", 'supervised_by = ["dealer", '
    ),
    new_zealand("7.3", "[irregularities.interruption]", "stand = true", "stand = false"),
    new_zealand(
        "7.4", "[irregularities.illumination-failed]", "locks_table = true", "locks_table = false"
    ),
    new_zealand("4.3", "[chips]", '"value", "non-value"', '"value"'),
    new_zealand("5.0(d)", "[opening.seal]", "supervisor", "dealer"),
    triple_dice("7.3", "[wagers.shooter]", "throws = 4", "throws = 3"),
    triple_dice("7.5", "[pay_tables.mat.rows]", "9 to 1", "10 to 1"),
    triple_dice("odds:red-black", "[wagers.red]", ', "diamond"', ""),
    triple_dice("7.1", "[shooter]", "must_bet = true", "must_bet = false"),
    triple_dice("7.2", "[shooter]", "locked = true", "locked = false"),
    triple_dice("7.6", "[people.acts.bet]", ', "shooter"', ""),
    triple_dice("7.8", "[shooter]", "dice_offered = 5", "dice_offered = 4"),
    triple_dice("10", "[people.minimum_age]", "years = 18", "years = 17"),
    triple_dice("3", "[people.acts.bet]", '"player", "shooter"', '"player", "shooter", "dealer"'),
    triple_dice("9", "[irregularities.dice-not-flat]", '"locked"', '"returned"'),
    triple_dice("7.7", "[irregularities.not-thrown-together]", "throw-again", "no-later-effect"),
    triple_dice("8", "[people.acts.bet]", '"player", ', ""),
]


# --- replacing a shipped rulebook ---------------------------------------------------------------


def mutated_text(mutant: Mutant) -> str:
    """Return the text of a rulebook with a mutant's replacement in its table."""
    text = (
        files(source.RULEBOOKS_PACKAGE).joinpath(f"{mutant.book}.toml").read_text(encoding="utf-8")
    )
    start = text.index(f"\n{mutant.after}\n")
    end = text.find("\n[", start + 1)
    table = text[start:end]
    assert mutant.old in table, mutant
    return text[:start] + table.replace(mutant.old, mutant.new, 1) + text[end:]


@contextmanager
def replace_shipped(mutant: Mutant) -> Iterator[None]:
    """Replace the package of shipped rulebooks by a copy that contains a mutant."""
    with TemporaryDirectory(prefix="rulebooks_") as folder, pytest.MonkeyPatch.context() as patch:
        package = Path(folder)
        for file in files(source.RULEBOOKS_PACKAGE).iterdir():
            if file.name.endswith((".toml", ".json")):
                package.joinpath(file.name).write_bytes(file.read_bytes())
        package.joinpath(f"{mutant.book}.toml").write_text(mutated_text(mutant), encoding="utf-8")
        patch.syspath_prepend(package.parent)
        patch.setattr(source, "RULEBOOKS_PACKAGE", package.name)
        yield


# --- the checks that cite a clause --------------------------------------------------------------


@cache
def citations() -> dict[str, list[str]]:
    text = files(source.RULEBOOKS_PACKAGE).joinpath("citations.json").read_text(encoding="utf-8")
    cited: dict[str, list[str]] = json.loads(text)
    return cited


@cache
def cases() -> dict[str, Callable[[], object]]:
    """Return how to run each case that ships, by the name of its test."""

    def runner(case: Any) -> Callable[[], object]:
        def run() -> None:
            assert run_case(case).differences == []

        return run

    return {
        f"{file.stem}: {case.name}": runner(case)
        for file in shipped_cases()
        for case in read_cases(file)
    }


def checks(mutant: Mutant) -> Iterator[Check]:
    """Yield the checks that cite the clause of a mutant, the quick ones first."""
    for name in sorted(citations()[mutant.cites], key=lambda each: not each.startswith(QUICK)):
        file, _, function = name.partition("::")
        function, _, case = function.removesuffix("]").partition("[")
        if case:
            yield name, cases()[case]
        else:
            module = import_module(file.removesuffix(".py").replace("/", "."))
            yield from calls(name, getattr(module, function), mutant)


def calls(name: str, test: Callable[..., object], mutant: Mutant) -> Iterator[Check]:
    """Yield the calls of a test function, one for each set of its parameters."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    sets: list[list[dict[str, object]]] = []
    for mark in marks:
        names = mark.args[0] if isinstance(mark.args[0], tuple) else (mark.args[0],)
        rows = [row if len(names) > 1 else (row,) for row in mark.args[1]]
        sets.append([dict(zip(names, row, strict=True)) for row in rows])
    for chosen in product(*sets):
        given = {key: value for each in chosen for key, value in each.items()}
        if "book_id" in signature(test).parameters.keys() - given.keys():
            given["book_id"] = mutant.book
        yield name, partial(test, **given)


def fails(check: Check) -> bool:
    try:
        found = check[1]()
        if iscoroutine(found):
            asyncio.run(found)
    except (Exception, pytest.fail.Exception):
        return True
    return False


# --- the tests ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.cites}: {mutant.new}")
def test_changed_clause_fails_a_check_that_cites_it(mutant: Mutant) -> None:
    with replace_shipped(mutant):
        load_rulebook(mutant.book)
        failed = next(filter(fails, checks(mutant)), None)

    assert failed is not None
    assert not fails(failed)


def test_replaced_rulebook_is_restored_afterwards() -> None:
    before = load_rulebook("triple-dice")
    with replace_shipped(triple_dice("7.3", "[wagers.shooter]", "throws = 4", "throws = 3")):
        assert load_rulebook("triple-dice").book.wagers["shooter"].throws == 3

    assert load_rulebook("triple-dice") is before


def test_mutants_cover_four_rulebooks_and_change_their_text() -> None:
    assert len({mutant.book for mutant in MUTANTS}) == 4
    assert all(mutant.old != mutant.new for mutant in MUTANTS)
