"""Handle counts: the opener, fills and credits by chip, the shift count, the closer, the drop."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from threedice.money import MAX_AMOUNT
from threedice.table import commands, events
from threedice.table.chip_counts.counts import (
    face_value,
    find_unclear_colour,
    is_colour,
    is_value_chip,
    without_zeros,
)
from threedice.table.chip_counts.ledger import colour_holders, owed_for_colours
from threedice.table.chip_counts.moves import require_chip
from threedice.table.rules import handles, refuse, require_approval, require_role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from threedice.errors import Refusal
    from threedice.rulebook import Game
    from threedice.table.chip_counts.counts import ChipCounts
    from threedice.table.commands import Actor, OptionalCounts
    from threedice.table.events import AnyEvent, CountKind
    from threedice.table.state import TableState


@handles(commands.CountRack)
def count_rack(game: Game, state: TableState, command: commands.CountRack) -> list[AnyEvent]:
    """Count the rack between two rounds, and go on with what was counted.

    At a table without an account for coloured chips, a rack with less than those in play are worth
    is counted once they are back: its float owes for them, and cannot owe more than it holds.
    """
    require_role(command.by, command.facts.roles)
    second = require_approval(game, command.by, command.approved_by)
    counted = require_rack_counts(game, state, state.chips, command.counted)
    if state.colours_owed is None and face_value(counted) < owed_for_colours(state):
        raise _colours_out(game, state)
    return [count_event(state, "shift", counted, command.by, second, command.note)]


@handles(commands.CountDrop)
def count_drop(game: Game, state: TableState, command: commands.CountDrop) -> list[AnyEvent]:
    """Count the cash in the drop box of a closing."""
    require_role(command.by, command.facts.roles)
    second = require_approval(game, command.by, command.approved_by)
    if command.closing not in state.uncounted_drops:
        waiting = ", ".join(map(str, state.uncounted_drops)) or "none"
        raise refuse("count/no-drop", closing=command.closing, waiting=waiting)
    for name in command.notes:
        if not (is_value_chip(name) and 0 < int(name) <= MAX_AMOUNT and name[0] != "0"):
            raise refuse("count/note", note=name)
    _require_countable(command.notes)
    return [
        events.DropCounted(
            closing=command.closing,
            slip=state.slips + 1,
            notes=without_zeros(command.notes),
            expected=state.uncounted_drops[command.closing],
            by=command.by,
            approved_by=second,
            note=command.note,
        )
    ]


def open_rack(
    game: Game, state: TableState, command: commands.OpenTable
) -> tuple[ChipCounts, events.RackCounted]:
    """Return the chips with which a table opens, and the opener that two people counted.

    The float stays with the table, so it opens with the chips of its last closer, and the opener
    shows what is missing since. The cage changes a float by fills and credits. A table without a
    closer opens with the chips that the cage issued, or else with those that were counted.
    """
    second = require_approval(game, command.by, command.approved_by or None)
    expected, issued = state.last_closer, command.issued
    if expected is None and issued is not msgspec.UNSET:
        expected = require_rack_counts(game, None, command.chips, issued)
    counted = require_rack_counts(game, None, command.chips, command.rack, expected or ())
    _require_value(face_value(counted), command.float_amount)
    expected = counted if expected is None else expected
    return expected, count_event(state, "opener", counted, command.by, second, expected=expected)


def close_rack(
    game: Game, state: TableState, command: commands.CloseTable
) -> list[events.RackCounted]:
    """Return the closer of a table that deals in chips; nothing of one that deals in amounts."""
    if state.holders is None:
        require_no_counts(command.counted)
        return []
    second = require_approval(game, command.by, command.approved_by or None)
    counted = require_rack_counts(game, state, state.chips, command.counted)
    if colour_holders(state):
        raise _colours_out(game, state)
    return [count_event(state, "closer", counted, command.by, second)]


def _colours_out(game: Game, state: TableState) -> Refusal:
    players = ", ".join(colour_holders(state))
    return refuse("chips/colours-out", game.facts.chips, players=players)


def count_event(
    state: TableState,
    kind: CountKind,
    counted: ChipCounts,
    by: Actor,
    approved_by: Actor,
    note: str = "",
    *,
    expected: ChipCounts | None = None,
) -> events.RackCounted:
    """Return a count of the rack, compared with the chips that the log expects there."""
    racked = without_zeros((state.holders or {}).get("float", {}))
    return events.RackCounted(
        kind=kind,
        slip=state.slips + 1,
        counted=counted,
        expected=racked if expected is None else expected,
        by=by,
        approved_by=approved_by,
        note=note,
        owed=owed_for_colours(state),
    )


def require_fill_counts(
    game: Game,
    state: TableState,
    command: commands.FillFloat | commands.CreditFloat,
) -> ChipCounts | None:
    """Return the chips of a fill or credit that two people sign; None at tables without chips."""
    if state.holders is None:
        require_no_counts(command.counts)
        return None
    require_approval(game, command.by, command.approved_by or None)
    counts = require_rack_counts(game, state, state.chips, command.counts)
    _require_value(face_value(counts), command.amount)
    if isinstance(command, commands.CreditFloat):
        held = state.holders.get("float", {})
        for name, count in counts.items():
            if count > held.get(name, 0):
                raise refuse("chips/lacking", chip=name, count=count, held=held.get(name, 0))
    return counts


def require_rack_counts(
    game: Game,
    state: TableState | None,
    denominations: Sequence[int],
    counts: OptionalCounts,
    expected: Iterable[str] = (),
) -> ChipCounts:
    """Return counts of a rack, refusing a table without chips and chips that it does not have.

    A count may find chips of a new colour, but none that looks like a chip that the table has, or
    that is `expected`.
    """
    if state is not None and state.holders is None:
        raise refuse("chips/amounts-only")
    if isinstance(counts, msgspec.UnsetType):
        raise refuse("chips/not-counted")
    has_colours = "non-value" in game.facts.chips.kinds
    known = [str(each) for each in denominations]
    for name in counts:
        if is_value_chip(name) or not has_colours:
            require_chip(name, known)
    held = chain.from_iterable((state.holders or {}).values() if state else ())
    known = list(dict.fromkeys((*known, *held, *expected)))
    for name in counts:
        if name not in known and not is_value_chip(name):
            require_colour_name(name)
    unclear = find_unclear_colour(counts, known)
    if unclear is not None:
        raise refuse("chips/unknown", chip=unclear, chips=", ".join(known))
    _require_countable(counts)
    return without_zeros(counts)


def require_colour_name(name: str) -> None:
    """Refuse a name that no coloured chip can have."""
    if not is_colour(name):
        raise refuse("chips/colour-name", colour=name)


def _require_countable(counts: Mapping[str, int]) -> None:
    """Refuse counts that are worth more than an amount of a command can be."""
    value = face_value(counts)
    if value > MAX_AMOUNT:
        raise refuse("count/too-large", value=value, most=MAX_AMOUNT)


def require_no_counts(counts: OptionalCounts) -> None:
    """Refuse counts of chips at a table that deals in amounts."""
    if counts is not msgspec.UNSET:
        raise refuse("chips/amounts-only")


def _require_value(value: int, amount: int) -> None:
    if value != amount:
        raise refuse("chips/counts", value=value, amount=amount)
