"""Check that the parts of a rulebook agree: ids, procedure, limits, people, citations.

`validation` checks types and `boxes` checks payments; the checks here compare parts of a rulebook
with each other when it is loaded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from threedice.rulebook.boxes import compile_boxes, resolve_conditions, wager_selections
from threedice.rulebook.compiler import parse_face_names
from threedice.rulebook.conduct import (
    RETIRED_ACTS,
    USUAL_EQUIPMENT,
    RefusingRule,
    RulebookStruct,
    clause_numbers,
)
from threedice.rulebook.effective import parse_effective
from threedice.rulebook.schema import OutcomeClauses, ReadingOption
from threedice.rulebook.validation import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from threedice.rulebook.conduct import Citation, DifferentialRule, StepName
    from threedice.rulebook.schema import Rulebook
    from threedice.rulebook.validation import KeyPath


_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_wagers(book: Rulebook, file: str) -> None:
    """Refuse invalid wagers and pay tables, including those that no layout uses."""
    faces = parse_face_names(book, file)
    for name, wager in book.wagers.items():
        location = SourceLocation(file, ("wagers", name), wager.clause)
        resolve_conditions(wager, wager_selections(wager, faces, location)[0], faces, location)
    used = {layout.pay_table for layout in book.layouts.values()}
    for table in book.pay_tables:
        if table not in used:
            compile_boxes(book, table, faces, file)


def check_conduct(book: Rulebook, boxes: set[str], file: str) -> None:
    """Refuse a rulebook whose parts contradict each other."""
    _check_identity(book, file)
    _check_procedure(book, file)
    _check_limits(book, boxes, file)
    _check_people(book, boxes, file)
    _check_call(book, file)
    _check_equipment(book, file)


def _check_identity(book: Rulebook, file: str) -> None:
    names: dict[tuple[str, ...], str] = {("id",): book.id}
    names |= {("layouts", name): name for name in book.layouts}
    names |= {("wagers", name): name for name in book.wagers}
    for path, name in names.items():
        if not _ID.fullmatch(name):
            raise SourceLocation(file, path).error(
                f"{name!r} cannot be an id", 'use lower-case letters, digits and single "-"'
            )
    if not book.layouts:
        raise SourceLocation(file, ("layouts",)).error(
            "there is no layout", "describe at least one"
        )
    for key in ("effective", "consolidated"):
        if text := getattr(book, key):
            try:
                parse_effective(text)
            except ValueError:
                raise SourceLocation(file, (key,)).error(
                    f"{text!r} is not a date",
                    "write it as 2023-10-06 or 2023-10-06T08:00:00+08:00",
                ) from None


_OPTIONAL_STEPS: tuple[StepName, ...] = ("enter-result", "illuminate")


def _check_procedure(book: Rulebook, file: str) -> None:
    procedure = book.procedure
    location = SourceLocation(file, ("procedure",), procedure.clause)
    order = list(procedure.order)
    if len(set(order)) != len(order) or set(order) != set(procedure.steps):
        different = sorted(set(order) ^ set(procedure.steps)) or order
        raise location.child("order").error(
            f"order and steps disagree about {', '.join(different)}",
            "name every step once in order, and describe each under steps",
        )
    for name, step in procedure.steps.items():
        step_location = SourceLocation(file, ("procedure", "steps", name), step.clause)
        if step.at_least < 1:
            raise step_location.child("at_least").error(
                "is less than once", "give a number above zero"
            )
        if (step.optional or step.equipment) and name not in _OPTIONAL_STEPS:
            raise step_location.child("optional" if step.optional else "equipment").error(
                f"a round cannot do without {name!r}",
                f"only {' and '.join(_OPTIONAL_STEPS)} may be optional or need equipment",
            )
        early = step.as_early_as
        if early and (early not in order or order.index(early) >= order.index(name)):
            raise step_location.child("as_early_as").error(
                f"{early!r} does not come before {name!r}", "name an earlier step of the order"
            )
    fixed_at = procedure.positions.fixed_at
    if fixed_at not in order:
        path = ("procedure", "positions", "fixed_at")
        raise SourceLocation(file, path, procedure.positions.clause).unknown(
            f"{fixed_at!r} is not a step of the order", fixed_at, order
        )


def _check_limits(book: Rulebook, boxes: set[str], file: str) -> None:
    limits = book.limits
    location = SourceLocation(file, ("limits",), limits.clause)
    treatments = {limits.maximum.unnoticed}
    if limits.differential:
        treatments.add(limits.differential.unnoticed)
        _check_pairs(limits.differential, boxes, file)
    elif "differential" in limits.displayed:
        raise location.child("displayed").error(
            "displays a differential, but none is described", "describe limits.differential"
        )
    if "pro-rata" in treatments and limits.pro_rata is None:
        raise location.child("pro_rata").error(
            "bets are apportioned, but the rule is missing", "describe pro_rata"
        )


def _check_pairs(rule: DifferentialRule, boxes: set[str], file: str) -> None:
    location = SourceLocation(file, ("limits", "differential", "pairs"), rule.clause)
    for pair in rule.pairs:
        if pair[0] == pair[1]:
            raise location.error(f"{pair[0]!r} is paired with itself", "name two boxes")
        for box_id in pair:
            if box_id not in boxes:
                raise location.unknown(f"no layout has the box {box_id!r}", box_id, sorted(boxes))


def _check_people(book: Rulebook, boxes: set[str], file: str) -> None:
    age, shooter = book.people.minimum_age, book.shooter
    for act, rule in book.people.acts.items():
        if act in RETIRED_ACTS:
            raise SourceLocation(file, ("people", "acts", act), rule.clause).error(
                "nothing reads this act", "name the roles in by of each step of the procedure"
            )
    if age and not 0 < age.years < 100:
        path = ("people", "minimum_age", "years")
        raise SourceLocation(file, path, age.clause).error(
            f"{age.years} is not a possible age", "give years from 1 to 99"
        )
    if shooter is None:
        return
    location = SourceLocation(file, ("shooter",), shooter.clause)
    if shooter.box not in boxes:
        raise location.child("box").unknown(f"no box {shooter.box!r}", shooter.box, sorted(boxes))
    if shooter.dice_chosen != 3:
        raise location.child("dice_chosen").error("the game is played with three dice", "make it 3")
    if shooter.dice_offered < shooter.dice_chosen:
        raise location.child("dice_offered").error("fewer than are chosen", "offer three at least")


def _check_call(book: Rulebook, file: str) -> None:
    if book.call.total and not parse_face_names(book, file).have_totals:
        raise SourceLocation(file, ("call", "total"), book.call.clause).error(
            "adds up faces that are not numbers", "leave it out, or say that they have points"
        )
    placeholders = {"double": "{face}", "triple": "{face}", "total": "{total}"}
    for key, placeholder in placeholders.items():
        text = getattr(book.call, key)
        rest = text.replace(placeholder, "", 1)
        if (text or key != "total") and (rest == text or set(rest) & set("{}")):
            raise SourceLocation(file, ("call", key), book.call.clause).error(
                f"{text!r} does not contain {placeholder} once", f"write {placeholder} once in it"
            )


def _check_equipment(book: Rulebook, file: str) -> None:
    """Refuse rules about equipment that neither the rulebook nor the usual table has."""
    known = sorted({*book.equipment, *USUAL_EQUIPMENT})
    named: list[tuple[KeyPath, Citation, list[str]]] = [
        *(
            (("procedure", "steps", name, "equipment"), step.clause, step.equipment)
            for name, step in book.procedure.steps.items()
        ),
        *(
            (("irregularities", name, "pieces"), rule.clause, rule.pieces)
            for name, rule in book.irregularities.items()
        ),
        *(
            (("opening", name, "pieces"), check.clause, check.pieces)
            for name, check in book.opening.items()
        ),
    ]
    for path, clause, kinds in named:
        for kind in kinds:
            if kind not in known:
                location = SourceLocation(file, path, clause)
                raise location.unknown(f"there is no equipment {kind!r}", kind, known)


# --- citations ----------------------------------------------------------------------------------


def iter_citations(value: Any, path: KeyPath = ()) -> Iterator[tuple[str, KeyPath]]:
    """Yield every (clause, key) by which a rulebook cites a clause.

    Citations in the options of a reading are left out, as long as the option is not applied.
    """
    if isinstance(value, ReadingOption):
        return
    if isinstance(value, RulebookStruct):
        for name in value.__struct_fields__:
            each = getattr(value, name)
            if each and (name == "clause" or isinstance(value, OutcomeClauses)):
                yield from ((number, path) for number in clause_numbers(each))
            else:
                yield from iter_citations(each, (*path, name))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from iter_citations(each, (*path, key))
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from iter_citations(each, (*path, str(i)))


def _check_refusals(value: Any, path: KeyPath, file: str) -> None:
    """Refuse a refusal that cites a clause which its rule does not cite."""
    if isinstance(value, RefusingRule):
        for code, clause in value.refusals.items():
            for number in set(clause_numbers(clause)) - set(clause_numbers(value.clause)):
                location = SourceLocation(file, (*path, "refusals", code), number)
                problem = f"cites {number!r}, which is not among the clauses of the rule"
                raise location.error(problem, "cite some of those in `clause`")
    if isinstance(value, RulebookStruct):
        for name in value.__struct_fields__:
            _check_refusals(getattr(value, name), (*path, name), file)


def check_citations(
    book: Rulebook, numbers_of: Callable[[str], Collection[str] | None], file: str
) -> None:
    """Refuse a citation of a clause that does not exist, in this book or in another.

    `numbers_of` returns the clause numbers of another book, or None if there is no such book.
    """
    _check_refusals(book, (), file)
    for citation, path in iter_citations(book):
        location = SourceLocation(file, path, citation)
        problem = f"cites {citation!r}, which does not exist"
        other, space, number = citation.partition(" ")
        clauses = numbers_of(other) if space else book.clauses
        if clauses is None:
            raise location.error(problem, f"there is no rulebook {other!r}")
        number = number if space else citation
        if number not in clauses:
            raise location.unknown(problem, number, clauses)
    for number, clause in book.clauses.items():
        if clause.status == "excused" and not clause.reason.strip():
            location = SourceLocation(file, ("clauses", number), number)
            raise location.error("is excused without a reason", "add reason")
