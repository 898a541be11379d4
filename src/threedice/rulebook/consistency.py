"""What must agree within a rulebook beyond the shape of its file.

Types are `validation`'s, payments are `compile`'s; here the procedure, the limits, the shooter
and the identity are checked against one another when a book is loaded.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from threedice.errors import RulebookError, did_you_mean, nearest
from threedice.rulebook.conduct import cited

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook.game import Game
    from threedice.rulebook.schema import Rulebook

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check(book: Rulebook, games: Iterable[Game], file: str) -> None:
    """Refuse a rulebook whose parts contradict one another."""
    boxes = {box_id for game in games for box_id in game.boxes}
    _check_identity(book, file)
    _check_procedure(book, file)
    _check_limits(book, boxes, file)
    _check_shooter(book, boxes, file)
    _check_call(book, file)


def _check_identity(book: Rulebook, file: str) -> None:
    names = {"id": book.id, **{f"layouts.{name}": name for name in book.layouts}}
    names |= {f"wagers.{name}": name for name in book.wagers}
    for key, name in names.items():
        if not _ID.fullmatch(name):
            remedy = 'use lower-case letters, digits and single "-"'
            raise RulebookError(file, key, f"{name!r} cannot be an id", remedy)
    if not book.layouts:
        raise RulebookError(file, "layouts", "there is no layout", "describe at least one")
    if book.effective:
        try:
            datetime.fromisoformat(book.effective)
        except ValueError:
            raise RulebookError(
                file,
                "effective",
                f"{book.effective!r} is not a date",
                "write it as 2023-10-06 or 2023-10-06T08:00:00+08:00",
            ) from None


def _check_procedure(book: Rulebook, file: str) -> None:
    procedure = book.procedure
    clause = ", ".join(cited(procedure.clause))
    order = list(procedure.order)
    if len(set(order)) != len(order) or set(order) != set(procedure.steps):
        odd = sorted(set(order) ^ set(procedure.steps)) or order
        raise RulebookError(
            file,
            "procedure.order",
            f"order and steps disagree about {', '.join(odd)}",
            "name every step once in order, and describe each under steps",
            clause,
        )
    for name, step in procedure.steps.items():
        early = step.as_early_as
        if early and (early not in order or order.index(early) >= order.index(name)):
            raise RulebookError(
                file,
                f"procedure.steps.{name}.as_early_as",
                f"{early!r} does not come before {name!r}",
                "name an earlier step of the order",
                ", ".join(cited(step.clause)),
            )
    if procedure.positions.fixed_at not in order:
        raise RulebookError(
            file,
            "procedure.positions.fixed_at",
            f"{procedure.positions.fixed_at!r} is no step of the order",
            did_you_mean(nearest(procedure.positions.fixed_at, order)),
            ", ".join(cited(procedure.positions.clause)),
        )


def _check_limits(book: Rulebook, boxes: set[str], file: str) -> None:
    limits = book.limits
    pairs = limits.differential.pairs if limits.differential else []
    for box_id in (box_id for pair in pairs for box_id in pair):
        if box_id not in boxes:
            known = did_you_mean(nearest(box_id, sorted(boxes)))
            raise RulebookError(
                file, "limits.differential.pairs", f"no layout has the box {box_id!r}", known
            )
    treatments = [limits.minimum.unnoticed, limits.maximum.unnoticed]
    if "pro-rata" in treatments and limits.pro_rata is None:
        raise RulebookError(
            file, "limits.pro_rata", "bets are apportioned, but not how", "describe pro_rata"
        )


def _check_shooter(book: Rulebook, boxes: set[str], file: str) -> None:
    if book.shooter and book.shooter.box not in boxes:
        known = did_you_mean(nearest(book.shooter.box, sorted(boxes)))
        clause = ", ".join(cited(book.shooter.clause))
        raise RulebookError(file, "shooter.box", f"no box {book.shooter.box!r}", known, clause)


def _check_call(book: Rulebook, file: str) -> None:
    wanted = {"double": "{face}", "triple": "{face}", "total": "{total}"}
    for key, hole in wanted.items():
        text = getattr(book.call, key)
        if text and (text.count(hole) != 1 or text.count("{") != 1):
            raise RulebookError(
                file, f"call.{key}", f"{text!r} has no place for {hole}", f"write {hole} once in it"
            )
