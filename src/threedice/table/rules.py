"""Questions every handler asks: may this person, at this step, now?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from threedice.errors import nearest
from threedice.rulebook.conduct import cited
from threedice.table.refusal import refuse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from threedice.rulebook import Box, Game
    from threedice.rulebook.conduct import ActName, Citation, Role, Step, StepName
    from threedice.table.commands import Actor
    from threedice.table.events import Spot
    from threedice.table.state import Round, TableState

STAFF: tuple[Role, ...] = ("dealer", "supervisor", "pit-manager", "shift-manager")
SUPERVISORS: tuple[Role, ...] = ("supervisor", "pit-manager", "shift-manager")


def need_role(
    actor: Actor, allowed: Collection[Role], clause: Citation | tuple[str, ...] = ()
) -> None:
    """Refuse an actor in a role that may not do this."""
    if actor.role not in allowed:
        raise refuse("role/not-allowed", clause, role=actor.role, allowed=", ".join(allowed))


def need_act(game: Game, actor: Actor, act: ActName, others: Collection[Role] = ()) -> None:
    """Refuse an actor whom the rulebook does not let do this; `others` may where it is silent."""
    rule, bet = game.facts.people.acts.get(act), game.facts.people.acts.get("bet")
    if rule:
        need_role(actor, rule.by, rule.clause)
    else:
        need_role(actor, others, bet.clause if bet and "bet" in act else ())


def need_second(
    actor: Actor,
    second: Actor | None,
    allowed: Iterable[Role],
    clause: Citation | tuple[str, ...] = (),
) -> Actor:
    """Return the second person, refusing none, one of the wrong role, or the same one again."""
    roles = list(allowed)
    if second is None or second.role not in roles:
        raise refuse("role/second-person", clause, allowed=", ".join(roles))
    if second.id == actor.id:
        raise refuse("role/same-person", clause)
    return second


def known_dice(current: Round, stated: Sequence[int]) -> Sequence[int] | None:
    """Return what is known of the dice of a round by what is stated, or nothing if it cannot be.

    Dice are known only once they lie, and what was known before stays known.
    """
    known = stated or current.known
    lie = {"tumble", "throw"} & current.done
    impossible = len(known) > 3 or any(face not in range(1, 7) for face in known)
    if impossible or Counter(current.known) - Counter(known) or (known and not lie):
        return None
    return known


def need_open(state: TableState) -> None:
    """Refuse anything at a table that is not open."""
    if not state.open:
        raise refuse("table/not-open")


def need_step(
    game: Game, state: TableState, step: StepName, actor: Actor, *, again: bool = False
) -> Step:
    """Return a step of the procedure that may be taken now by this actor, or taken again."""
    rule = game.facts.procedure.steps.get(step)
    if rule is None:
        raise refuse("step/not-in-rulebook", game.facts.procedure.clause, step=step)
    need_hands(game, step, actor)
    if rule.per == "shooter" and in_series(state):
        raise refuse("shooter/series", rule.clause)
    done = state.round.done if state.round else set(skipped_steps(game, state))
    if step in done and not again:
        raise refuse("step/already-done", rule.clause, step=step)
    missing = [each for each in steps_before(game, step) if each not in done]
    if missing:
        raise refuse("step/not-now", rule.clause, step=step, after=missing[0])
    return rule


_EQUIPMENT: tuple[StepName, ...] = ("tumble", "uncover", "enter-result")


def need_hands(game: Game, step: StepName, actor: Actor) -> None:
    """Refuse whoever may not take a step, or lay hands on the equipment that it needs."""
    rule = game.facts.procedure.steps[step]
    others = game.facts.irregularities.get("interference")
    clauses = cited(rule.clause)
    if others and step in _EQUIPMENT:
        clauses = (*clauses, *cited(others.clause))
    need_role(actor, with_stand_ins(game, rule.by), clauses)


def with_stand_ins(game: Game, roles: Iterable[Role]) -> list[Role]:
    """Return who may do what these roles do: seniors too, where the rulebook lets them stand in."""
    allowed, rule = list(roles), game.facts.people.stand_in
    if rule is None:
        return allowed
    ranks = [rule.roles.index(role) for role in allowed if role in rule.roles]
    seniors = rule.roles[min(ranks) :] if ranks else []
    return [*allowed, *(role for role in seniors if role not in allowed)]


def steps_before(game: Game, step: StepName) -> list[StepName]:
    """Return the steps that must have been taken before this one.

    A step that may come early needs only those up to the one it may follow.
    """
    procedure = game.facts.procedure
    order, early = procedure.order, procedure.steps[step].as_early_as
    return order[: order.index(early) + 1] if early else order[: order.index(step)]


def skipped_steps(game: Game, state: TableState) -> list[StepName]:
    """Return the steps that a round beginning now does without: the dice are with their shooter."""
    steps = game.facts.procedure.steps
    return [step for step in steps if steps[step].per == "shooter"] if in_series(state) else []


def in_series(state: TableState) -> bool:
    """Tell whether a shooter's bet is down, so that the dice are his until it is decided."""
    return state.shooter is not None and state.shooter.stake > 0


def need_betting(game: Game, state: TableState) -> Round:
    """Return the round whose betting is open."""
    current, steps = state.round, game.facts.procedure.steps
    opens = steps["open-betting"].clause
    if current is None or "open-betting" not in current.done:
        raise refuse("betting/not-open", opens)
    if "close-betting" in current.done:
        late = game.facts.irregularities.get("bet-after-close")
        clauses = cited(late.clause if late else steps["close-betting"].clause)
        being_settled = "collect-losers" in current.done
        raise refuse("betting/closed", (*clauses, *(cited(opens) if being_settled else ())))
    return current


def on_bets(game: Game) -> tuple[str, ...]:
    """Return the clauses on how bets are placed, where there are any."""
    rule = game.facts.people.acts.get("bet")
    return cited(rule.clause) if rule else ()


def need_box(game: Game, box_id: str) -> Box:
    """Return a box of the layout."""
    box = game.boxes.get(box_id)
    if box is None:
        known = ", ".join(nearest(box_id, game.boxes))
        raise refuse("bet/unknown-box", on_bets(game), box=box_id, nearest=known)
    return box


def spot_of(game: Game, box: str, area: str) -> Spot:
    """Return where chips on a box count, checking the area they lie in."""
    per_area = game.facts.limits.areas == "per-area"
    ends = game.ends[box]
    if area not in ends and (area or per_area):
        raise refuse("bet/unknown-area", on_bets(game), box=box, area=area, areas=", ".join(ends))
    return f"{box}@{area}" if per_area and area else box
