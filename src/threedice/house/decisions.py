"""Decide commands: which streams they affect, and which events they append to each.

Pure functions over the states of tables and accounts. A transfer between a table and an account is
decided on both streams and appended atomically.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from threedice.account import decide as decide_account
from threedice.account.commands import PlayerAccountCommand, ReceiveFromTable, SendToTable
from threedice.errors import InvalidInput, Refusal, RulebookError, UnknownName
from threedice.facts import STAFF, SUPERVISORS
from threedice.house import events as house_events
from threedice.house.codec import tag_of
from threedice.house.commands import (
    AcknowledgeVariance,
    AnyAccountCommand,
    AnyStreamCommand,
    EstablishTable,
    InterruptTable,
    RecoverRound,
    ResolveInterruption,
)
from threedice.house.stream_state import account_stream, table_stream
from threedice.rulebook.effective import is_in_force
from threedice.table import commands as table_commands
from threedice.table import decide as decide_table
from threedice.table import events as table_events
from threedice.table.chip_counts.racks import require_no_counts
from threedice.table.irregularities import void_lost_round
from threedice.table.rules import (
    optional_second_person,
    require_role,
    require_second_person,
    resolve_known_dice,
)

if TYPE_CHECKING:
    from threedice.account import PlayerAccount
    from threedice.house.events import AnyStreamEvent
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game

HOUSE_ACCOUNT: Final = "house"
"""The account that the house itself deals under; no person can use it."""

HOUSE_DEALER: Final = table_commands.Actor(id=HOUSE_ACCOUNT, role="dealer")

HOUSE_REFUSAL_TEXTS: Final[dict[str, str]] = {
    "floor/no-table": "there is no table {table}; set it up first",
    "floor/not-in-force": "the rulebook of {game} is in force from {effective} on, not yet",
    "floor/table-open": "table {table} is open; close it before setting it up again",
    "floor/unknown-game": "{problem}",
    "floor/interrupted": "round {round} was interrupted; first state which dice are known",
    "floor/dice": "{known} cannot be the known dice of this round",
    "floor/not-interrupted": "no round of this table was interrupted",
    "floor/other-table": "this is table {table}, not {other}",
    "floor/house-only": "only the house itself sends this command, during recovery",
    "floor/nothing-to-recover": "no round of this table needs recovery",
    "floor/dealt-by-house": "the house deals this table; {step} is reserved for the house",
    "floor/player-only": "the house deals this table; only the player may send {step}",
    "floor/no-variance": "slip {slip} of table {table} has no variance to acknowledge",
    "floor/acknowledged": "you have acknowledged the variance of slip {slip} already",
    "floor/too-quick": "betting for {seconds} seconds is too short at a table that the house deals;"
    " this house allows no less than {shortest}",
}

_DICE_CONSEQUENCES: Final = ("void-round", "continue-if-conclusive", "throw-again")
"""Consequences of irregularities of physical dice, which sealed dice cannot have."""

Decision = list[tuple["AnyStreamEvent", ...]]
"""The events of each stream, in the order of `affected_streams`."""


def affected_streams(table: str, command: AnyStreamCommand) -> tuple[str, ...]:
    """Return the streams that a command may append to."""
    match command:
        case PlayerAccountCommand():
            return (account_stream(command.player),)
        case table_commands.BuyIn(source="account") | table_commands.CashOut(to="account"):
            return (table_stream(table), account_stream(command.player))
        case _:
            return (table_stream(table),)


def bind_to_round(command: AnyStreamCommand, state: Any) -> AnyStreamCommand:
    """Name the current round in a bet that names none, so that it is not decided for a later one.

    A command may be decided several times, when other servers write first.
    """
    if not isinstance(command, table_commands.BetCommand) or command.round is not UNSET:
        return command
    current = state.table.round
    return replace(command, round=current.number) if current else command


def decide_for_account(account: PlayerAccount, command: AnyAccountCommand) -> Decision:
    """Decide a command to a player's account."""
    return [decide_account(account, command)]


def decide_at_table(
    table: str,
    game: Game | None,
    house_table: HouseTable,
    command: Any,
    account: PlayerAccount | None,
    sender: str,
) -> Decision:
    """Decide a command at a table, and the transfer it makes to or from a player's account.

    `sender` is the account that sent the command; at an automatic table only the house may send
    dealer commands.
    """
    if game is None:
        raise _refuse("floor/no-table", table=table)
    if isinstance(command, ResolveInterruption):
        return [_decide_resolution(game, house_table, command)]
    if isinstance(command, AcknowledgeVariance):
        return [_decide_acknowledgement(house_table, command)]
    if isinstance(command, InterruptTable | RecoverRound):
        return [_decide_recovery(game, house_table, command, sender)]
    if house_table.interrupted:
        clause = _interruption_clause(game)
        raise _refuse("floor/interrupted", *clause, round=house_table.interrupted)
    if house_table.dealt_by_house and sender != HOUSE_ACCOUNT:
        _refuse_dealer_command(game, house_table, command)
    if isinstance(command, table_commands.OpenTable) and command.table != table:
        raise _refuse("floor/other-table", table=table, other=command.table)
    if isinstance(command, table_commands.OpenTable) and house_table.dealt_by_house:
        require_no_counts(command.rack)
    if account is None:
        return [decide_table(game, house_table.table, command)]
    return _decide_with_account(table, game, house_table, command, account, sender)


def _refuse_dealer_command(game: Game, house_table: HouseTable, command: Any) -> None:
    """Refuse a person's command that only the house may send at a table it deals.

    Between the close of betting and the call only the house acts: anyone with the seed can compute
    the dice by then, and must not be able to void the round because of them.
    """
    if command.facts.automatic == "house":
        raise _refuse("floor/dealt-by-house", step=tag_of(command))
    if command.facts.automatic == "player" and command.by.role in STAFF:
        raise _refuse("floor/player-only", step=tag_of(command))
    current = house_table.table.round
    if isinstance(command, table_commands.Report):
        rule = game.facts.irregularities.get(command.irregularity)
        affects_current = current is not None and (
            not command.rounds or current.number in command.rounds
        )
        voids_current = (
            rule is not None and rule.consequence == "void-affected-rounds" and affects_current
        )
        if voids_current or (rule and rule.consequence in _DICE_CONSEQUENCES):
            raise _refuse("floor/dealt-by-house", step=command.irregularity)
    awaits_call = current is not None and "close-betting" in current.done and not current.called
    if isinstance(command, table_commands.CloseTable) and awaits_call:
        raise _refuse("floor/dealt-by-house", step=tag_of(command))


def _decide_with_account(
    table: str,
    game: Game,
    house_table: HouseTable,
    command: Any,
    account: PlayerAccount,
    sender: str,
) -> Decision:
    """Decide a buy-in from a player's account, or a cash-out to it, on both streams.

    At an open table the account decides first, so that nobody without the money learns what the
    float can sell.
    """
    if not house_table.table.open:
        decide_table(game, house_table.table, command)  # refuses, and says why
    command_type = SendToTable if isinstance(command, table_commands.BuyIn) else ReceiveFromTable
    transfer = command_type(
        by=sender,
        player=command.player,
        table=table,
        currency=house_table.table.currency,
        amount=command.amount,
    )
    transferred = decide_account(account, transfer)
    return [decide_table(game, house_table.table, command), transferred]


def _decide_acknowledgement(
    house_table: HouseTable, command: AcknowledgeVariance
) -> tuple[AnyStreamEvent, ...]:
    """Decide that a person knows of a variance; each person acknowledges it once."""
    require_role(command.by, command.facts.roles)
    variance = house_table.variances.get(command.slip)
    if variance is None:
        raise _refuse("floor/no-variance", slip=command.slip, table=house_table.id)
    if command.by.id in variance.acknowledged_by:
        raise _refuse("floor/acknowledged", slip=command.slip)
    return (house_events.VarianceAcknowledged(slip=command.slip, by=command.by),)


def establish_table(
    table: str, game: Game, house_table: HouseTable, command: EstablishTable
) -> Decision:
    """Decide the setup of a table for a game."""
    require_role(command.by, command.facts.roles)
    if house_table.table.open:
        raise _refuse("floor/table-open", table=table)
    event = house_events.TableEstablished(
        table=table,
        game=game.id,
        game_hash=game.hash,
        dealt_by_house=command.dealt_by_house,
        by=command.by.id,
        approved_by=optional_second_person(game, command),
    )
    return [(event,)]


def require_in_force(game: Game | None, at: int) -> None:
    """Refuse to open a table under a rulebook that is not in force yet."""
    effective = game.facts.effective if game else ""
    if game and not is_in_force(effective, datetime.fromtimestamp(at / 1_000_000, UTC)):
        raise _refuse("floor/not-in-force", game=game.id, effective=effective)


def require_betting_time(timing: house_events.Timing | None, shortest_seconds: float) -> None:
    """Refuse an automatic table whose rounds would be too short, and fill the log.

    The limit is a policy of the house, which the log does not contain: it applies to new tables.
    """
    # negated, because a comparison with NaN is false
    if timing is not None and not timing.betting_seconds >= shortest_seconds:
        seconds, shortest = timing.betting_seconds, shortest_seconds
        raise _refuse("floor/too-quick", seconds=f"{seconds:g}", shortest=f"{shortest:g}")


def unknown_game_refusal(error: UnknownName | InvalidInput | RulebookError) -> Refusal:
    """Return the refusal to set up a table for a game that cannot be loaded."""
    return _refuse("floor/unknown-game", problem=str(error))


# --- interruptions ------------------------------------------------------------------------------


def _decide_resolution(
    game: Game, house_table: HouseTable, command: ResolveInterruption
) -> tuple[AnyStreamEvent, ...]:
    """Decide by the rulebook and the known dice how an interrupted round ends."""
    if not house_table.interrupted:
        raise _refuse("floor/not-interrupted")
    clause = _interruption_clause(game)
    require_role(command.by, command.facts.roles, clause)
    second = require_second_person(command.by, command.confirmed_by, SUPERVISORS, clause)
    _require_possible_dice(house_table, command.known, clause)
    outcome = decide_interrupted_round(game, house_table, command)
    resolved = house_events.InterruptionResolved(
        round=house_table.interrupted, known=command.known, by=command.by, confirmed_by=second
    )
    return (resolved, *outcome, players_notice(house_table, outcome))


def decide_interrupted_round(
    game: Game, house_table: HouseTable, command: ResolveInterruption
) -> tuple[AnyStreamEvent, ...]:
    """Return the events that end or continue an interrupted round.

    The rulebook's interruption rule decides if there is one. Without one, a called round goes on,
    as does a closed round whose three dice are known; any other round is abandoned.
    """
    if "interruption" in game.facts.irregularities:
        report = table_commands.Report(
            by=command.by,
            irregularity="interruption",
            known=command.known,
            approved_by=command.confirmed_by,
        )
        return decide_table(game, house_table.table, report)
    current = house_table.table.current
    if current.called:
        return ()
    known = command.known or current.known
    if len(known) == 3 and "close-betting" in current.done:
        return (table_events.RoundContinued(known=known, won=[], lost=[]),)
    reason = "the round was interrupted and its dice are not known"
    abandon = table_commands.AbandonRound(
        by=command.by, reason=reason, approved_by=command.confirmed_by
    )
    return decide_table(game, house_table.table, abandon)


def _require_possible_dice(
    house_table: HouseTable, known: list[int], clause: tuple[str, ...]
) -> None:
    """Refuse dice that are impossible, or contradict those already called or known."""
    current = house_table.table.current
    if current.called:
        possible = not Counter(known) - Counter(current.called)
    else:
        possible = resolve_known_dice(current, known) is not None
    if not possible:
        raise _refuse("floor/dice", *clause, known=known)


def players_notice(
    house_table: HouseTable, events: tuple[AnyStreamEvent, ...]
) -> house_events.PlayersNotified:
    """Return the notice to every player with chips at risk or a settled bet in the round."""
    void = any(tag_of(event) == "RoundVoided" for event in events)
    at_risk = [player for player, seat in house_table.table.seats.items() if seat.at_risk]
    # losers may have left the table right after their chips were collected
    players = list(dict.fromkeys([*at_risk, *house_table.table.current.nets]))
    return house_events.PlayersNotified(
        round=house_table.table.rounds, players=players, outcome="void" if void else "goes on"
    )


# --- recovery -----------------------------------------------------------------------------------


def _decide_recovery(
    game: Game, house_table: HouseTable, command: InterruptTable | RecoverRound, sender: str
) -> tuple[AnyStreamEvent, ...]:
    """Decide how the house recovers a round that it finds unfinished."""
    if sender != HOUSE_ACCOUNT:
        raise _refuse("floor/house-only")
    staffed = house_table.dealt_by_house is None
    if (
        house_table.table.round is None
        or house_table.interrupted
        or staffed is isinstance(command, RecoverRound)
    ):
        raise _refuse("floor/nothing-to-recover")
    number = house_table.table.round.number
    if staffed:
        return (house_events.TableInterrupted(round=number),)
    if house_table.table.round.called:
        outcome = _apply_interruption_rule(game, house_table)
        return (*outcome, players_notice(house_table, outcome))
    outcome = tuple(void_lost_round(game, house_table.table, "the dice are lost", HOUSE_DEALER))
    return (house_events.SeedLost(round=number), *outcome, players_notice(house_table, outcome))


def _apply_interruption_rule(game: Game, house_table: HouseTable) -> tuple[AnyStreamEvent, ...]:
    """Return the events of the rulebook's interruption rule for a round already called."""
    if "interruption" not in game.facts.irregularities:
        return ()
    report = table_commands.Report(by=HOUSE_DEALER, irregularity="interruption")
    return decide_table(game, house_table.table, report)


def _interruption_clause(game: Game) -> tuple[str, ...]:
    rule = game.facts.irregularities.get("interruption")
    if rule is None:
        return ()
    return (rule.clause,) if isinstance(rule.clause, str) else tuple(rule.clause)


def _refuse(code: str, *clause: str, **facts: Any) -> Refusal:
    return Refusal(code, HOUSE_REFUSAL_TEXTS[code], clause, facts)
