"""What must agree within a rulebook beyond the shape of its file.

Types are `validation`'s, payments are `boxes`'; here identity, procedure, limits, people and the
shooter are checked against one another when a book is loaded.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from threedice.errors import did_you_mean, nearest
from threedice.rulebook.boxes import boxes_of_table, ways_of
from threedice.rulebook.compile import faces_of
from threedice.rulebook.conduct import cited
from threedice.rulebook.place import Place
from threedice.rulebook.selection import family

if TYPE_CHECKING:
    from threedice.rulebook.schema import Rulebook

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_offers(book: Rulebook, file: str) -> None:
    """Refuse wagers and pay tables that cannot be, those that no layout uses included."""
    faces = faces_of(book, file)
    for name, wager in book.wagers.items():
        place = Place(file, ("wagers", name), cited(wager.clause))
        ways_of(wager, family(wager, faces, place)[0], faces, place)
    used = {layout.pay_table for layout in book.layouts.values()}
    for table in book.pay_tables:
        if table not in used:
            boxes_of_table(book, table, faces, file)


def check_conduct(book: Rulebook, boxes: set[str], file: str) -> None:
    """Refuse a rulebook whose parts contradict one another."""
    _check_identity(book, file)
    _check_procedure(book, file)
    _check_limits(book, boxes, file)
    _check_people(book, boxes, file)
    _check_call(book, file)


def _check_identity(book: Rulebook, file: str) -> None:
    names: dict[tuple[str, ...], str] = {("id",): book.id}
    names |= {("layouts", name): name for name in book.layouts}
    names |= {("wagers", name): name for name in book.wagers}
    for path, name in names.items():
        if not _ID.fullmatch(name):
            raise Place(file, path).error(
                f"{name!r} cannot be an id", 'use lower-case letters, digits and single "-"'
            )
    if not book.layouts:
        raise Place(file, ("layouts",)).error("there is no layout", "describe at least one")
    if book.effective:
        try:
            datetime.fromisoformat(book.effective)
        except ValueError:
            raise Place(file, ("effective",)).error(
                f"{book.effective!r} is not a date",
                "write it as 2023-10-06 or 2023-10-06T08:00:00+08:00",
            ) from None


def _check_procedure(book: Rulebook, file: str) -> None:
    procedure = book.procedure
    place = Place(file, ("procedure",), cited(procedure.clause))
    order = list(procedure.order)
    if len(set(order)) != len(order) or set(order) != set(procedure.steps):
        odd = sorted(set(order) ^ set(procedure.steps)) or order
        raise place.at("order").error(
            f"order and steps disagree about {', '.join(odd)}",
            "name every step once in order, and describe each under steps",
        )
    for name, step in procedure.steps.items():
        of_step = Place(file, ("procedure", "steps", name), cited(step.clause))
        if step.at_least < 1:
            raise of_step.at("at_least").error("is less than once", "give a number above zero")
        early = step.as_early_as
        if early and (early not in order or order.index(early) >= order.index(name)):
            raise of_step.at("as_early_as").error(
                f"{early!r} does not come before {name!r}", "name an earlier step of the order"
            )
    fixed_at = procedure.positions.fixed_at
    if fixed_at not in order:
        at = Place(file, ("procedure", "positions", "fixed_at"), cited(procedure.positions.clause))
        raise at.error(
            f"{fixed_at!r} is no step of the order", did_you_mean(nearest(fixed_at, order))
        )


def _check_limits(book: Rulebook, boxes: set[str], file: str) -> None:
    limits = book.limits
    place = Place(file, ("limits",), cited(limits.clause))
    treatments = {limits.minimum.unnoticed, limits.maximum.unnoticed}
    if limits.differential:
        treatments.add(limits.differential.unnoticed)
        _check_pairs(limits.differential.pairs, boxes, file, cited(limits.differential.clause))
    elif "differential" in limits.displayed:
        raise place.at("displayed").error(
            "shows a differential that there is none of", "describe limits.differential"
        )
    if "pro-rata" in treatments and limits.pro_rata is None:
        raise place.at("pro_rata").error("bets are apportioned, but not how", "describe pro_rata")


def _check_pairs(
    pairs: list[tuple[str, str]], boxes: set[str], file: str, clauses: tuple[str, ...]
) -> None:
    place = Place(file, ("limits", "differential", "pairs"), clauses)
    for pair in pairs:
        if pair[0] == pair[1]:
            raise place.error(f"{pair[0]!r} is paired with itself", "name two boxes")
        for box_id in pair:
            if box_id not in boxes:
                raise place.error(
                    f"no layout has the box {box_id!r}",
                    did_you_mean(nearest(box_id, sorted(boxes))),
                )


def _check_people(book: Rulebook, boxes: set[str], file: str) -> None:
    age, shooter = book.people.minimum_age, book.shooter
    if age and not 0 < age.years < 100:
        at = Place(file, ("people", "minimum_age", "years"), cited(age.clause))
        raise at.error(f"{age.years} is no age to ask for", "give years from 1 to 99")
    if shooter is None:
        return
    place = Place(file, ("shooter",), cited(shooter.clause))
    if shooter.box not in boxes:
        raise place.at("box").error(
            f"no box {shooter.box!r}", did_you_mean(nearest(shooter.box, sorted(boxes)))
        )
    if shooter.dice_chosen != 3:
        raise place.at("dice_chosen").error("the game is played with three dice", "make it 3")
    if shooter.dice_offered < shooter.dice_chosen:
        raise place.at("dice_offered").error("fewer than are chosen", "offer three at least")


def _check_call(book: Rulebook, file: str) -> None:
    if book.call.total and not faces_of(book, file).are_numbers:
        raise Place(file, ("call", "total"), cited(book.call.clause)).error(
            "adds up faces that are not numbers", "leave it out"
        )
    wanted = {"double": "{face}", "triple": "{face}", "total": "{total}"}
    for key, hole in wanted.items():
        text = getattr(book.call, key)
        rest = text.replace(hole, "", 1)
        if (text or key != "total") and (rest == text or set(rest) & set("{}")):
            raise Place(file, ("call", key), cited(book.call.clause)).error(
                f"{text!r} has no single place for {hole}", f"write {hole} once in it"
            )
