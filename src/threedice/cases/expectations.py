"""Lines of a case that expect something of the table; they send no command.

A false expectation is a difference of the case, and play continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.cases.language import ExpectationFailed, Phrase, require_known_lamps
from threedice.errors import UnknownName
from threedice.rulebook.source import iter_leaves, read_rulebook, shipped_ids
from threedice.table import events
from threedice.table.limits import LimitBreach, box_of, find_breaches, remaining_room
from threedice.table.prose import announcement
from threedice.table.rules import require_box, resolve_spot
from threedice.table.voids import stakes_on_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.cases.language import CaseContext, Fields, PhraseHandler


def _expect(example: str, template: str, handler: PhraseHandler) -> Phrase:
    return Phrase(example, template, handler, expects=True)


def require_known_player(context: CaseContext, name: str) -> None:
    """Raise UnknownName for a name that nobody in the case has."""
    if name not in context.players and name not in context.state.seats:
        raise UnknownName("player in this case", name, sorted(context.players))


def _expect_equal(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise ExpectationFailed(f"{what} {actual}, expected {expected}")


# --- players' chips -----------------------------------------------------------------------------


def _check_stack(context: CaseContext, fields: Fields) -> None:
    player = fields["player"]
    require_known_player(context, player)
    seat = context.state.seats.get(player)
    _expect_equal(f"{player} has", seat.stack if seat else 0, fields["amount"])


def _check_debt(context: CaseContext, fields: Fields) -> None:
    player = fields["player"]
    require_known_player(context, player)
    _expect_equal(f"{player} owes", context.state.owing.get(player, 0), fields["amount"])


def _check_bet(context: CaseContext, fields: Fields) -> None:
    player, box, area = fields["player"], fields["box"], fields.get("area", "")
    require_known_player(context, player)
    actual = sum(amount for name, amount in _chips_on(context, box, area) if name == player)
    _expect_equal(f"{player} has on {_place(box, area)}", actual, fields["amount"])


def _check_bets(context: CaseContext, fields: Fields) -> None:
    player = fields["player"]
    require_known_player(context, player)
    seat = context.state.seats.get(player)
    _expect_equal(f"{player} has on the layout", seat.at_risk if seat else 0, fields["amount"])


def _check_box(context: CaseContext, fields: Fields) -> None:
    box, area = fields["box"], fields.get("area", "")
    actual = sum(amount for _, amount in _chips_on(context, box, area))
    _expect_equal(f"on {_place(box, area)} there is", actual, fields["amount"])


def _chips_on(context: CaseContext, box: str, area: str) -> Iterator[tuple[str, int]]:
    """Yield the chips of each player on a box, at one end of the table if it is named."""
    game, state = context.game, context.state
    require_box(game, box)
    if area:
        resolve_spot(game, box, area)
    rule, shooter = game.facts.shooter, state.shooter
    if rule and shooter and box == rule.box:
        yield shooter.player, shooter.stake
    bets = state.round.bets if state.round else state.standing[0] if state.standing else {}
    for spot, player, total in stakes_on_layout(game, state):
        if box_of(spot) == box:
            placements = bets[spot][player].placements
            yield (
                player,
                sum(each.amount for each in placements if each.area == area) if area else total,
            )


def _place(box: str, area: str) -> str:
    return f"{box} at {area}" if area else box


def _check_room(context: CaseContext, fields: Fields) -> None:
    game, state, player = context.game, context.state, fields["player"]
    require_known_player(context, player)
    require_box(game, fields["box"])
    spot = resolve_spot(game, fields["box"], fields.get("area", ""))
    actual = remaining_room(game, state, spot, player) if state.round else 0
    _expect_equal(f"{player} has room on {spot} for", actual, fields["amount"])


def _check_flags(context: CaseContext, fields: Fields) -> None:
    breaches = find_breaches(context.game, context.state) if context.state.round else ()
    actual = [_describe_flag(each) for each in breaches] or ["none"]
    expected = [each.strip() for each in fields["flags"].split(";")]
    if sorted(actual) != sorted(expected):
        raise ExpectationFailed(f"flags: {'; '.join(actual)}, expected {'; '.join(expected)}")


def _describe_flag(flag: LimitBreach) -> str:
    side = "under" if flag.kind == "minimum" else "over"
    box, _, area = flag.spot.partition("@")
    place = _place(box, area)
    where = f"{flag.player}'s on {place}" if flag.player else place
    return f"{where} {side} the {flag.kind}"


# --- the house's money --------------------------------------------------------------------------


def _check_float_or_drop(context: CaseContext, fields: Fields) -> None:
    actual = context.state.drop if fields["what"] == "drop" else context.state.float_amount
    _expect_equal(f"the {fields['what']} is", actual, fields["amount"])


def _check_closing_figure(context: CaseContext, fields: Fields) -> None:
    closed, what = _last_closing(context), fields["what"]
    actual = closed.drop if what == "drop" else closed.float_amount
    _expect_equal(f"the closing {what} is", actual, fields["amount"])


def _check_carried_away(context: CaseContext, fields: Fields) -> None:
    player = fields["player"]
    require_known_player(context, player)
    carried_away = dict(_last_closing(context).carried_away)
    _expect_equal(f"{player} carried away", carried_away.get(player, 0), fields["amount"])


def _last_closing(context: CaseContext) -> events.TableClosed:
    for event in reversed(context.events):
        if isinstance(event, events.TableClosed):
            return event
    raise ExpectationFailed("the table has not been closed")


# --- the table and the round --------------------------------------------------------------------


def _check_open(context: CaseContext, fields: Fields) -> None:
    _expect_equal("the table is", "open" if context.state.open else "closed", fields["what"])


def _check_locked(context: CaseContext, fields: Fields) -> None:
    locked, cause = context.state.locked, fields.get("cause")
    actual = f"locked by {', '.join(locked)}" if locked else "not locked"
    if not locked or cause not in (None, *locked):
        _expect_equal("the table is", actual, f"locked by {cause}" if cause else "locked")


def _check_not_locked(context: CaseContext, _fields: Fields) -> None:
    if context.state.locked:
        causes = ", ".join(context.state.locked)
        _expect_equal("the table is", f"locked by {causes}", "not locked")


def _check_stopped(context: CaseContext, fields: Fields) -> None:
    stopped, cause = context.state.round and context.state.round.stopped, fields.get("cause")
    actual = f"stopped by {stopped.cause}" if stopped else "not stopped"
    if not stopped or cause not in (None, stopped.cause):
        _expect_equal("the round is", actual, f"stopped by {cause}" if cause else "stopped")


def _check_not_stopped(context: CaseContext, _fields: Fields) -> None:
    stopped = context.state.round and context.state.round.stopped
    if stopped:
        _expect_equal("the round is", f"stopped by {stopped.cause}", "not stopped")


def _check_round(context: CaseContext, fields: Fields) -> None:
    _expect_equal(
        f"{fields['unit']} {fields['round']} is",
        _round_status(context, fields["round"]),
        fields["what"],
    )


def _round_status(context: CaseContext, number: int) -> str:
    state = context.state
    voided = {event.round for event in context.events if isinstance(event, events.RoundVoided)}
    if number in voided | state.reversed:
        return "void"
    if state.round and state.round.number == number:
        return "being played"
    return "settled" if number in state.settled else "not played"


def _check_call(context: CaseContext, fields: Fields) -> None:
    call = context.game.call(context.called) if context.called else ""
    _expect_equal("the call is", f'"{call}"', f'"{fields["call"]}"')


def _check_no_call(context: CaseContext, _fields: Fields) -> None:
    if context.called:
        _expect_equal("the call is", f'"{context.game.call(context.called)}"', "nothing")


def _check_announced(context: CaseContext, fields: Fields) -> None:
    _require_announcement(context, fields["words"])
    announced, negated = _announcements(context), "negation" in fields
    if (fields["words"] in announced) == negated:
        _expect_equal(
            "announced:", _quote(announced), f'{"not " if negated else ""}"{fields["words"]}"'
        )


def _require_announcement(context: CaseContext, words: str) -> None:
    """Raise UnknownName for words that neither this rulebook nor a shipped one announces."""
    facts = context.game.facts
    known = {each.announces for each in facts.procedure.steps.values()}
    known.update(each.announces for each in facts.irregularities.values())
    misspelt = words.casefold() in map(str.casefold, known)
    if words not in known and (misspelt or words not in _shipped_announcements()):
        raise UnknownName(f"announcement of {context.game.book_id}", words, sorted(known - {""}))


def _shipped_announcements() -> set[str]:
    leaves = (each for book in shipped_ids() for each in iter_leaves(read_rulebook(book).data))
    return {value for key, value in leaves if key[-1] == "announces"}


def _check_nothing_announced(context: CaseContext, _fields: Fields) -> None:
    _expect_equal("announced:", _quote(_announcements(context)), "nothing")


def _announcements(context: CaseContext) -> list[str]:
    """Return the announcements of the last line that sent commands."""
    texts = [announcement(context.game, event) for event in context.last_events]
    return [text for text in texts if text]


def _check_condition(context: CaseContext, fields: Fields) -> None:
    pieces = context.state.equipment.pieces
    if fields["piece"] not in pieces:
        raise UnknownName("piece of equipment in this case", fields["piece"], sorted(pieces))
    actual = pieces[fields["piece"]].condition.replace("-", " ")
    _expect_equal(f"{fields['piece']} is", actual, fields["what"])


def _check_lamps(context: CaseContext, fields: Fields) -> None:
    equipment = context.state.equipment
    lamps = equipment.dark if fields["what"] == "dark" else equipment.stray
    expected = set(fields["lamps"]) - {"none"}
    require_known_lamps(context, sorted(expected))
    _expect_equal(f"{fields['what']} lamps:", _list_names(lamps), _list_names(expected))


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _quote(texts: list[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts) or "nothing"


_AREA: Final = "( at {area:word})?"
_QUOTED: Final = "[\"']?{words=[^\"']+}[\"']?"

EXPECTATIONS: Final = (
    # players' chips
    _expect("ann has 300", "{player} has {amount:amount}", _check_stack),
    _expect("ann owes 50", "{player} owes {amount:amount}", _check_debt),
    _expect("ann has 50 on the layout", "{player} has {amount:amount} on the layout", _check_bets),
    _expect(
        "ann has 50 on big [at left]",
        "{player} has {amount:amount} on {box:box}" + _AREA,
        _check_bet,
    ),
    _expect(
        "there is 500 on big [at left]",
        "there is {amount:amount} on {box:box}" + _AREA,
        _check_box,
    ),
    _expect(
        "ann has room for 300 on big [at left]",
        "{player} has room for {amount:amount} on {box:box}" + _AREA,
        _check_room,
    ),
    _expect("flags: big over the maximum", "flags: {flags:text}", _check_flags),
    # the house's money
    _expect("the float is 5000", "the {what=float|drop} is {amount:int}", _check_float_or_drop),
    _expect(
        "the closing float is 5000",
        "the closing {what=float|drop} is {amount:amount}",
        _check_closing_figure,
    ),
    _expect("ann carried away 500", "{player} carried away {amount:amount}", _check_carried_away),
    # equipment
    _expect(
        "t-1 is in order",
        "{piece} is {what=in order|faulty|out of use|destroyed}",
        _check_condition,
    ),
    _expect("dark lamps: big@left, odd", "{what=dark|stray} lamps: {lamps:areas}", _check_lamps),
    # the table and the round
    _expect("the table is open", "the table is {what=open|closed}", _check_open),
    _expect("the table is not locked", "the table is not locked", _check_not_locked),
    _expect(
        "the table is locked [by tumbler-fault]",
        "the table is locked( by {cause:irregularity})?",
        _check_locked,
    ),
    _expect(
        "the round is not stopped", "the (?:round|spin|throw) is not stopped", _check_not_stopped
    ),
    _expect(
        "the round is stopped [by dice-not-flat]",
        "the (?:round|spin|throw) is stopped( by {cause:irregularity})?",
        _check_stopped,
    ),
    _expect(
        "round 1 is void",
        "{unit=round|spin|throw} {round:int} is {what=void|settled|being played|not played}",
        _check_round,
    ),
    _expect("nothing is called", "nothing is called", _check_no_call),
    _expect(
        'the call is "1, 3, 6, total 10"',
        "the call is [\"']?{call=[^\"']+}[\"']?",
        _check_call,
    ),
    _expect("nothing is announced", "nothing is announced", _check_nothing_announced),
    _expect(
        '"No spin" is [not] announced',
        _QUOTED + " is( {negation=not})? announced",
        _check_announced,
    ),
)
"""Every line that expects something; the first that matches a line counts."""
