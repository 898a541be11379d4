"""Describe the events about equipment in prose."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from threedice.table import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Game
    from threedice.table.events import AnyEquipmentEvent


def describe_equipment_event(game: Game, event: AnyEquipmentEvent) -> str:
    """Return one line of text for an event about equipment."""
    role = event.by.role
    match event:
        case events.PieceRegistered():
            seal = f", seal {event.seal}" if event.seal else ""
            return f"  The {role} registers {event.kind} {event.piece}{seal}."
        case events.EquipmentOmitted():
            return f"  The {role} sets the table up without {event.kind}."
        case events.PieceReplaced():
            old, new = f"{event.kind} {event.piece}", event.replacement
            return f"  The {role} replaces {old} by {new}: {event.reason}."
        case events.PieceFailed():
            return f"  The {role} reports {event.piece} as faulty: {event.cause}."
        case events.PieceReleased():
            how = "rectified" if event.remedy == "rectified" else "out of use, with a substitute"
            return f"  The {role} releases {event.piece}, {how}: {event.reason}."
        case events.CheckFailed():
            rule = game.facts.opening.get(event.check)
            what = (rule and rule.what) or event.check
            return f"  The {role} checks, and {event.piece} fails: {what} ({event.reason})."
        case events.DiceInstalled():
            seal = f" under seal {event.seal}" if event.seal else ""
            return f"  The {role} installs the dice {event.piece}{seal}."
        case events.DiceInspected():
            numbers = f" (dice {', '.join(map(str, event.damaged))})" if event.damaged else ""
            found = "good" if event.good else f"damaged{numbers}"
            note = f": {event.note}" if event.note else ""
            return f"  The {role} inspects the dice {event.piece}, {found}{note}."
        case events.DiceRemoved():
            reason = f": {event.reason}" if event.reason else ""
            return f"  The {role} removes the dice {event.piece}{reason}."
        case events.DiceDestroyed():
            second = event.approved_by.role
            return f"  The {role} and the {second} destroy the dice {event.piece}."
        case events.TestStarted():
            return f"  The {role} starts test {event.test} of the terminal."
        case events.TrialEntered():
            faces = " ".join(game.faces.name(face) for face in event.dice)
            return f"  Test {event.test}, {faces}: {_findings(event)}."
        case events.TestEnded():
            return f"  The {role} ends test {event.test}."
        case _:
            assert_never(event)


def _findings(event: events.TrialEntered) -> str:
    named: dict[str, Sequence[str]]
    named = {"dark": event.dark, "stray": event.stray, "wrong": event.wrong}
    found = [f"{word} {', '.join(items)}" for word, items in named.items() if items]
    return "; ".join(found) or f"{len(event.lit)} areas lit, all as they should"
