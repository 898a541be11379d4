"""Registration of command handlers, the checks that they share, and the texts of all refusals.

A check raises a `Refusal` with the clause that forbids the command and the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

from threedice.errors import Refusal, nearest_names
from threedice.facts import SUPERVISORS
from threedice.rulebook.conduct import RefusingRule, clause_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from threedice.facts import CommandFacts
    from threedice.rulebook import Box, Game
    from threedice.rulebook.conduct import (
        ActName,
        ActRule,
        Citation,
        Irregularity,
        IrregularityName,
        Step,
        StepName,
        TableRole,
    )
    from threedice.table.commands import Actor, OptionalActor, StepCommand, TableCommand
    from threedice.table.events import AnyEvent
    from threedice.table.limits import Spot
    from threedice.table.state import Round, TableSeat, TableState


_Command = TypeVar("_Command", bound="TableCommand")
_Handler = Callable[["Game", "TableState", _Command], list["AnyEvent"]]

HANDLERS: Final[dict[type[TableCommand], Callable[..., list[AnyEvent]]]] = {}
"""The handler of each command; `decide` calls it only at an open table, except for `OpenTable`."""


def handles(kind: type[_Command]) -> Callable[[_Handler[_Command]], _Handler[_Command]]:
    """Register the decorated function as the handler of a kind of command."""

    def register(handler: _Handler[_Command]) -> _Handler[_Command]:
        HANDLERS[kind] = handler
        return handler

    return register


class Rule(Protocol):
    """A part of a rulebook that cites the clause it comes from."""

    @property
    def clause(self) -> Citation:
        """The clause or clauses."""


class OptionallyApproved(Protocol):
    """A command with a field for a second person, which may be unset."""

    facts: ClassVar[CommandFacts]

    @property
    def by(self) -> Actor:
        """The sender."""

    @property
    def approved_by(self) -> OptionalActor:
        """The second person."""


Grounds = Rule | tuple[str, ...] | None
"""The source that a refusal cites: a rule of the game, clause numbers, or nothing."""


def require_role(actor: Actor, allowed: Collection[TableRole], *grounds: Grounds) -> None:
    """Refuse an actor whose role is not among the allowed ones."""
    if actor.role not in allowed:
        roles = ", ".join(allowed) or "nobody"
        raise refuse("role/not-allowed", *grounds, role=actor.role, allowed=roles)


def require_permission(
    game: Game, actor: Actor, act: ActName, default_roles: Collection[TableRole] = ()
) -> None:
    """Refuse an actor without permission for an act.

    `default_roles` may do it where the rulebook does not mention the act.
    """
    rule = game.facts.people.acts.get(act)
    if rule:
        require_role(actor, rule.by, rule)
    else:
        require_role(actor, default_roles, betting_rule(game) if "bet" in act else None)


def require_second_person(
    actor: Actor, second: Actor | None, allowed: Collection[TableRole], *grounds: Grounds
) -> Actor:
    """Return the second person, who must be present, in an allowed role and not the actor."""
    if second is None or second.role not in allowed:
        raise refuse("role/second-person", *grounds, allowed=", ".join(allowed))
    if second.id == actor.id:
        raise refuse("role/same-person", *grounds)
    return second


def require_approval(game: Game, actor: Actor, second: Actor | None, *grounds: Grounds) -> Actor:
    """Return the second person of an act that takes two people, by the rulebook's rule on them."""
    allowed = approver_roles(game, SUPERVISORS)
    return require_second_person(actor, second, allowed, *grounds, game.facts.people.approvals)


def optional_second_person(
    game: Game, command: OptionallyApproved, *grounds: Grounds
) -> Actor | None:
    """Return the person who approved a command that one may send alone, or None.

    Which commands need one depends on the house (`threedice.house.authority`).
    """
    second = command.approved_by or None
    if second is not None:
        allowed = approver_roles(game, command.facts.approvers)
        require_second_person(command.by, second, allowed, *grounds, game.facts.people.approvals)
    return second


def approver_roles(
    game: Game, roles: Iterable[TableRole], irregularity: Irregularity | None = None
) -> list[TableRole]:
    """Return those of the roles whose approval counts by the rulebook.

    The supervisors whom the rule on an irregularity names count, with those who may stand in for
    them; without any, the rule on approvals applies.
    """
    rule = game.facts.people.approvals
    named = irregularity.supervised_by if irregularity else []
    if named:
        allowed = roles_with_stand_ins(game, named)
        return [role for role in roles if role in allowed]
    return [role for role in roles if rule is None or role in rule.by]


def require_ages(game: Game, command: TableCommand, ages: Mapping[str, int | None]) -> None:
    """Refuse a command if the person who sends or approves it is under the minimum age."""
    field = command.facts.second_person
    for person in (command.by, getattr(command, field) if field else None):
        if person:
            require_age(game, person.role, ages.get(person.id))


def require_age(game: Game, role: TableRole, years: int | None) -> None:
    """Refuse a person under the minimum age, or of unknown age where it must be known."""
    rule = game.facts.people.minimum_age
    if rule is None or role not in rule.applies_to:
        return
    if years < rule.years if years is not None else role in rule.proven:
        code = "role/age" if years is not None else "role/age-unknown"
        if role in ("player", "shooter"):
            code = "player/age"
        raise refuse(code, rule, role=role, years=rule.years)


def require_seat(state: TableState, player: str) -> TableSeat:
    """Return a player's seat, refusing a player without chips at the table."""
    if player not in state.seats:
        raise refuse("player/unknown", player=player)
    return state.seats[player]


def require_irregularity(game: Game, name: IrregularityName) -> Irregularity:
    """Return the rule on an irregularity, refusing one that the rulebook does not provide for."""
    rule = game.facts.irregularities.get(name)
    if rule is None:
        raise refuse("irregularity/unknown", irregularity=name)
    return rule


def resolve_known_dice(current: Round, reported: Sequence[int]) -> Sequence[int] | None:
    """Return the known dice of a round given a report, or None if the report is impossible.

    Dice can be known only after they were tumbled or thrown, and known dice stay known.
    """
    known = reported or current.known
    are_thrown = {"tumble", "throw"} & current.done
    impossible = len(known) > 3 or any(face not in range(1, 7) for face in known)
    if impossible or Counter(current.known) - Counter(known) or (known and not are_thrown):
        return None
    return known


def require_step(
    game: Game, state: TableState, command: StepCommand, *, may_repeat: bool = False
) -> Step:
    """Return the rule of a command's step, refusing the step if its sender may not take it now.

    `may_repeat` accepts a step that has been taken already.
    """
    step = command.step
    rule = game.facts.procedure.steps.get(step)
    if rule is None:
        raise refuse("step/not-in-rulebook", game.facts.procedure, step=step)
    require_step_role(game, step, command.by, is_recorded=command.is_recorded)
    if step in (state.round.skipped if state.round else ()) and rule.equipment:
        raise refuse("equipment/none", rule, kind=", ".join(rule.equipment))
    if rule.per == "shooter" and is_in_series(state):
        raise refuse("shooter/series", game.facts.shooter, rule)
    done = steps_done(game, state)
    if step in done and not may_repeat:
        raise refuse("step/already-done", rule, step=step)
    if step not in done and step not in remaining_steps(game, state):
        raise refuse("step/too-late", rule, step=step)
    missing = [each for each in steps_before(game, state, step) if each not in done]
    if missing:
        raise refuse("step/not-now", rule, step=step, after=missing[0])
    return rule


_EQUIPMENT_STEPS: tuple[StepName, ...] = ("tumble", "uncover", "enter-result")


def require_step_role(
    game: Game, step: StepName, actor: Actor, *, is_recorded: bool = False
) -> None:
    """Refuse an actor who may not take a step, or not record it for the player.

    The refusal also cites the clause on interference if the step uses equipment.
    """
    rule = game.facts.procedure.steps[step]
    interference = game.facts.irregularities.get("interference")
    uses_equipment = step in _EQUIPMENT_STEPS
    allowed = roles_with_stand_ins(game, rule.recorded_by if is_recorded else rule.by)
    require_role(actor, allowed, rule, interference if uses_equipment else None)


def roles_with_stand_ins(game: Game, roles: Iterable[TableRole]) -> list[TableRole]:
    """Return the roles, and those senior to them where the rulebook lets seniors stand in."""
    allowed, rule = list(roles), game.facts.people.stand_in
    if rule is None:
        return allowed
    ranks = [rule.roles.index(role) for role in allowed if role in rule.roles]
    seniors = rule.roles[min(ranks) :] if ranks else []
    return [*allowed, *(role for role in seniors if role not in allowed)]


def steps_before(game: Game, state: TableState, step: StepName) -> list[StepName]:
    """Return the steps that must have been taken before this one.

    A step with `as_early_as` requires only the steps up to that one.
    """
    order = game.facts.procedure.order
    early = game.facts.procedure.steps[step].as_early_as
    before = order[: order.index(early) + 1] if early else order[: order.index(step)]
    optional = optional_steps(game, state)
    return [each for each in before if each not in optional]


def remaining_steps(game: Game, state: TableState) -> list[StepName]:
    """Return the steps still to be taken, in order.

    An optional step can no longer be taken after a later step that is not optional.
    """
    order, done = game.facts.procedure.order, steps_done(game, state)
    optional = optional_steps(game, state)
    taken = [index for index, step in enumerate(order) if step in done and step not in optional]
    last = max(taken, default=-1)
    return [
        step
        for index, step in enumerate(order)
        if step not in done and not (step in optional and index < last)
    ]


def steps_done(game: Game, state: TableState) -> Collection[StepName]:
    """Return the steps that are done, or that a round starting now skips."""
    return state.round.done if state.round else skipped_steps(game, state)


def optional_steps(game: Game, state: TableState) -> set[StepName]:
    """Return the steps that the round may leave out.

    Besides those that the rulebook calls optional, they are the steps with equipment that has
    failed in this round, if the report did not name the piece: a piece that it names leaves out
    its own steps.
    """
    unnamed = set(state.round.unnamed).intersection(state.locked) if state.round else set()
    rules = (rule for name, rule in game.facts.irregularities.items() if name in unnamed)
    failed = {kind for rule in rules for kind in rule.pieces}
    steps = game.facts.procedure.steps.items()
    return {name for name, step in steps if step.optional or failed.intersection(step.equipment)}


def skipped_steps(game: Game, state: TableState) -> list[StepName]:
    """Return the steps that a round starting now skips.

    In a series, those done per shooter; at any table, those with equipment that it plays without.
    """
    steps, in_series = game.facts.procedure.steps, is_in_series(state)
    return [
        name
        for name, step in steps.items()
        if (in_series and step.per == "shooter") or any(map(state.equipment.lacks, step.equipment))
    ]


def are_dice_visible(game: Game, current: Round) -> bool:
    """Return whether betting has closed and the dice lie open, or any is called or known.

    A stopped round counts as one whose dice lie open, as they did when it was stopped.
    """
    is_known = bool(current.called or current.known or current.stopped)
    return is_known or {"close-betting", step_that_shows_dice(game)} <= current.done


def step_that_shows_dice(game: Game) -> StepName:
    """Return the step after which the dice lie open: the tumble in a game without a cover."""
    order = game.facts.procedure.order
    opening: tuple[StepName, ...] = ("uncover", "throw")
    return next((step for step in opening if step in order), "tumble")


def require_round(game: Game, state: TableState, *grounds: Grounds) -> Round:
    """Return the round being played, refusing a command between rounds."""
    if state.round is None:
        raise refuse("round/none", *grounds, unit=game.facts.procedure.unit)
    return state.round


def require_round_goes_on(game: Game, state: TableState) -> None:
    """Refuse a command that takes a stopped round on or changes its bets."""
    stopped = state.round.stopped if state.round else None
    if stopped:
        rule = game.facts.irregularities.get(stopped.cause)
        unit = game.facts.procedure.unit
        raise refuse("round/stopped", rule, unit=unit, cause=stopped.cause)


def is_in_series(state: TableState) -> bool:
    """Return whether a shooter's bet is down, so that the shooter keeps the dice."""
    return state.shooter is not None and state.shooter.stake > 0


def require_open_betting(game: Game, state: TableState, *grounds: Grounds) -> Round:
    """Return the current round, refusing the command if its betting is not open.

    After the close the rulebook may let a bet stand as long as nobody can see the dice. The refusal
    then also cites these grounds.
    """
    current, steps = state.round, game.facts.procedure.steps
    opens = steps["open-betting"]
    if current is None or "open-betting" not in current.done:
        raise refuse("betting/not-open", opens)
    if "close-betting" in current.done:
        late_bet = game.facts.irregularities.get("bet-after-close")
        stands = late_bet is not None and late_bet.consequence == "settle-as-placed"
        if not stands or are_dice_visible(game, current):
            in_settlement = "collect-losers" in current.done
            rule = late_bet or steps["close-betting"]
            raise refuse("betting/closed", *grounds, rule, opens if in_settlement else None)
    return current


def betting_rule(game: Game) -> ActRule | None:
    """Return the rule on placing bets, if the rulebook has one."""
    return game.facts.people.acts.get("bet")


def require_box(game: Game, box_id: str) -> Box:
    """Return a box of the layout, refusing an unknown one."""
    box = game.boxes.get(box_id)
    if box is None:
        nearest = ", ".join(nearest_names(box_id, game.boxes))
        raise refuse("bet/unknown-box", box=box_id, nearest=nearest)
    return box


def resolve_spot(game: Game, box: str, area: str) -> Spot:
    """Return the spot of chips on a box, refusing an area that the box does not have."""
    per_area = game.facts.limits.areas == "per-area"
    ends = game.ends[box]
    if area not in ends and (area or per_area):
        areas = ", ".join(filter(None, ends)) or "no areas"
        raise refuse("bet/unknown-area", box=box, area=area, areas=areas)
    return f"{box}@{area}" if per_area and area else box


TABLE_REFUSAL_TEXTS: Final[dict[str, str]] = {
    "table/not-open": "the table is not open",
    "table/already-open": "the table is open already",
    "table/currency": "this table has debts and rounds in {currency}; it cannot open in another",
    "table/checks-missing": "these opening checks are missing: {checks}",
    "table/unknown-check": "there is no check {check}; there are {checks}",
    "table/check-failed": "the opening check {check} failed by {piece}; have that replaced and the "
    "check repeated, or released under a substitute procedure",
    "table/locked": "no further {unit} starts until the table is released: {cause}",
    "table/not-locked": "the table is not locked",
    "table/other-cause": "the table is not locked by {cause}, but by {causes}",
    "table/round-open": "a {unit} is being played; finish it first",
    "role/not-allowed": "{role} may not do this; {allowed} may",
    "role/second-person": "a second person must approve this: {allowed}, other than the requester",
    "role/same-person": "nobody may approve their own request",
    "role/age": "nobody under {years} years deals or conducts this game",
    "role/age-unknown": "the date of birth of everybody who deals or conducts this game must be on"
    " record, and here that of the {role} is missing; have an administrator record it",
    "step/not-now": "{step} comes after {after}",
    "step/already-done": "{step} has been done",
    "step/too-late": "{step} was left out, and the steps after it have been taken",
    "step/not-in-rulebook": "this game has no step {step}",
    "betting/closed": "betting is closed; wait until it opens again",
    "betting/not-open": "betting is not open yet; wait until it opens",
    "bet/unknown-box": "there is no box {box} on this layout; the nearest are {nearest}",
    "bet/unknown-area": "box {box} has no area {area}; it has {areas}",
    "bet/amount": "{amount} cannot be staked in chips of {chip}; stake a multiple of that",
    "bet/not-payable": "{amount} cannot be paid exactly; stake multiples of {step}",
    "bet/other-round": "this was sent for {unit} {round}, which is not being played now; decide"
    " about the present one",
    "bet/stack": "{amount} is more than the {stack} in the stack; stake less or buy in",
    "bet/over-maximum": "{amount} is more than fits: {room} of the maximum of {maximum} is left",
    "bet/under-minimum": "a bet of {total} is under the minimum; stake at least {minimum}",
    "bet/settled": "a settled bet is not corrected; the shift manager may rule on it",
    "bet/locked": "the bet is locked and may be neither raised nor removed",
    "bet/not-there": "there is no bet of {amount} there, only {staked}",
    "bet/nothing-over": "nothing in {box} is over a limit",
    "bet/position-fixed": "the positions of the chips are fixed; moving them changes nothing",
    "bet/call-bet": "a misplaced call bet stays where it was put",
    "chips/amount": "{amount} cannot be made in chips of {chip}; choose a multiple of that",
    "chips/stack": "{amount} is more than the {stack} in the stack; choose at most that",
    "chips/colour-taken": "{colour} is another player's colour",
    "chips/no-colours": "non-value chips are not used in this game",
    "chips/colour-name": "{colour} cannot be the name of a colour; use letters a to z, with hyphens"
    " between them, such as light-blue",
    "chips/colour-value": "give a value that is a multiple of {chip}, the smallest chip, and "
    "divides the stack",
    "chips/bets-down": "the player has bets on the layout; settle them first",
    "chips/amounts-only": "this table deals in amounts; give no counts of chips",
    "chips/not-counted": "this table deals in chips; count them by denomination",
    "chips/unknown": "there is no chip {chip} here; there are {chips}",
    "chips/counts": "the chips are worth {value}, not {amount}; correct the counts or the amount",
    "chips/lacking": "there are {held} chips of {chip} there, not {count}; choose other chips",
    "chips/rack": "the rack cannot make {amount} in chips; ask for a fill",
    "chips/change": "{amount} cannot be made from these chips, and the rack has no change for "
    "them; choose another amount, or ask for a fill",
    "chips/colours-out": "these players hold chips in their colours: {players}; colour them up",
    "count/no-drop": "there is no drop of closing {closing} to count; waiting: {waiting}",
    "count/note": "{note} is no value of a note or coin; give values in minor units",
    "count/too-large": "this count is worth {value}, more than {most}; correct the numbers",
    "payment/none": "no winning bet on {box} waits to be paid by itself; name a box with one, or "
    "pay all winners",
    "player/unknown": "player {player} has no chips at this table; they buy in first",
    "player/looks-alike": "{player} looks like {other}, who is at this table; give another id",
    "player/age": "players must be at least {years} years old",
    "debt/held": "{player} owes {owing}; only {free} may leave the table unless a supervisor "
    "decides otherwise",
    "debt/amount": "{player} owes {owing}; {amount} cannot be repaid",
    "float/short": "the float is {short} short; ask for a fill",
    "float/amount": "the float is {float}; {amount} cannot be taken from it",
    "dice/count": "the tumbler has to be activated",
    "dice/face": "the terminal has no key {key}; press 1 to 6",
    "dice/too-few": "three keys have to be pressed before Enter",
    "dice/known": "the dice are known to show {known}",
    "dice/not-called": "the result has not been called",
    "dice/not-entered": "the result has not been entered; enter it before it is amended",
    "dice/unequal": "{entered} was entered, {called} was called; have it amended",
    "dice/settled": "settlement has begun; the result cannot be amended",
    "dice/same": "the result is {dice} already",
    "irregularity/unknown": "the rulebook does not provide for {irregularity}",
    "irregularity/not-now": "{irregularity} cannot be reported now",
    "irregularity/dice": "{known} cannot be the known dice of this round; dice are known once they "
    "were tumbled or thrown, and stay known",
    "round/none": "no {unit} is being played",
    "round/stopped": "the {unit} is stopped by {cause}; a second person voids it or lets it go on",
    "round/not-stopped": "the {unit} is not stopped",
    "round/unknown": "there is no settled {unit} {round}",
    "round/no-bet": "{player} had no bet in {unit} {round}",
    "round/reversed": "{unit} {round} has been reversed already",
    "amount/zero": "the amount must not be zero",
    "reason/missing": "give the reason",
    "shooter/not-offered": "the dice have not been offered to {player}",
    "shooter/only": "only the shooter holds this bet",
    "shooter/must-bet": "the shooter must bet before the dice are thrown",
    "shooter/no-dice": "the shooter must choose the dice first",
    "shooter/choose": "choose {chosen} different dice of the {offered} offered",
    "shooter/series": "the shooter's series is not over",
    "limits/wrong": "{problem}",
    "equipment/unknown-kind": "there is no equipment {kind}; there is {kinds}",
    "equipment/unknown": "the register has no {piece} in use; the nearest are {nearest}",
    "equipment/registered": "the register has {piece} already; give another name",
    "equipment/needed": "this game is not played without {kind}",
    "equipment/in-use": "{piece} is in use",
    "equipment/in-order": "{piece} is in order",
    "equipment/none": "this table plays without {kind}",
    "equipment/other-kind": "this does not concern {piece}, but {kinds}",
    "equipment/faulty": "the check {check} cannot be passed while {piece} is faulty",
    "equipment/seal": "the seal of {piece} has the number {seal}, not {seen}; fail the check",
    "equipment/dice": "{piece} is a set of dice; inspect it, or remove it and install another",
    "equipment/dice-count": "{kind} is registered with {count} different dice",
    "equipment/unknown-dice": "the register has no set of dice {piece}; the nearest are {nearest}",
    "equipment/not-in-order": "{piece} is {condition}",
    "equipment/unsealed": "the dice are played with under seal; give the number of the seal",
    "equipment/no-die": "{piece} has no damaged die {die}",
    "equipment/not-installed": "{piece} is not installed",
    "dice/no-set": "no set of dice in good order is installed",
    "equipment/untested": "{count} lamps have not been tested, first {lamps}; run the test mode",
    "equipment/test-failed": "the last test found faults; dark: {dark}; stray: {stray}; "
    "wrong: {wrong}",
    "equipment/testing": "the terminal is in test mode; end the test first",
    "equipment/not-testing": "the terminal is not in test mode; start a test first",
    "equipment/unknown-lamp": "there is no area {lamp} on this layout; the nearest are {nearest}",
}
"""The text of every refusal code; the facts of a refusal fill the placeholders."""


def refuse(code: str, /, *grounds: Grounds, **facts: Any) -> Refusal:
    """Return a refusal for the caller to raise, with the clauses of its grounds."""
    numbers = (number for each in grounds if each for number in _clauses_for(code, each))
    clauses = tuple(dict.fromkeys(numbers))
    return Refusal(code, TABLE_REFUSAL_TEXTS[code], clauses, facts)


def _clauses_for(code: str, ground: Rule | tuple[str, ...]) -> tuple[str, ...]:
    """Return the clauses of a ground that a refusal with this code cites."""
    if isinstance(ground, tuple):
        return ground
    if isinstance(ground, RefusingRule) and code in ground.refusals:
        return clause_numbers(ground.refusals[code])
    return clause_numbers(ground.clause)
