"""What a command makes happen on which streams: tables, accounts, and transfers between the two."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from threedice.account import decide as decide_account
from threedice.account.commands import Deposit, OpenAccount, ReceiveFromTable, SendToTable, Withdraw
from threedice.errors import InvalidInput, Refusal, RulebookError, UnknownName
from threedice.house import events as house_events
from threedice.house.commands import (
    AnyAccountCommand,
    AnyStreamCommand,
    EstablishTable,
    InterruptTable,
    RecoverRound,
    ResolveInterruption,
)
from threedice.house.stream_state import account_stream, table_stream
from threedice.table import commands
from threedice.table import decide as decide_table
from threedice.table import events as table_events
from threedice.table.rules import (
    STAFF,
    SUPERVISORS,
    require_role,
    require_second_person,
    resolve_known_dice,
)
from threedice.tags import tag_of

if TYPE_CHECKING:
    from threedice.account import PlayerAccount
    from threedice.house.events import AnyStreamEvent
    from threedice.house.stream_state import HouseTable
    from threedice.rulebook import Game

HOUSE_ACCOUNT: Final = "house"
"""The account in whose name the house itself deals; people never have it."""

HOUSE_DEALER: Final = commands.Actor(id=HOUSE_ACCOUNT, role="dealer")

HOUSE_REFUSAL_TEXTS: Final[dict[str, str]] = {
    "floor/no-table": "there is no table {table}; set it up first",
    "floor/table-open": "table {table} is open; close it before it is set up anew",
    "floor/unknown-game": "{problem}",
    "floor/interrupted": "round {round} was interrupted; state first which dice are known",
    "floor/dice": "{known} is not what the dice can be known to show",
    "floor/not-interrupted": "no round of this table was interrupted",
    "floor/other-table": "this is table {table}, not {other}",
    "floor/house-only": "only the house itself does this, when it comes back",
    "floor/nothing-to-recover": "no round of this table waits to be recovered",
    "floor/dealt-by-house": "this table is dealt by the house; nobody else does {step}",
}

DEALER_COMMANDS: Final = (
    commands.OfferDice, commands.OpenBetting, commands.CloseBetting, commands.Tumble, commands.Uncover,
    commands.CallResult, commands.PressKey, commands.PressEnter, commands.Illuminate, commands.CollectLosers,
    commands.PayWinners, commands.AmendResult, commands.AbandonRound, commands.MoveChips, commands.PutBack,
    commands.JudgeLine,
)  # fmt: skip
"""What is done with dice and chips in hand; at an automatic table the house alone does it."""

_DICE_CONSEQUENCES: Final = ("void-round", "continue-if-conclusive", "throw-again")
"""What follows from irregularities of dice that lie on a table; those of the house do not."""

Decision = list[tuple["AnyStreamEvent", ...]]
"""The events of each stream, in the order of `affected_streams`."""


def affected_streams(table: str, command: AnyStreamCommand) -> tuple[str, ...]:
    """Return the streams that a command may append to."""
    if isinstance(command, commands.PlaceBet):  # by far the commonest
        return (table_stream(table),)
    match command:
        case OpenAccount() | Deposit() | Withdraw():
            return (account_stream(command.player),)
        case commands.BuyIn(source="account") | commands.CashOut(to="account"):
            return (table_stream(table), account_stream(command.player))
        case _:
            return (table_stream(table),)


def decide_for_account(account: PlayerAccount, command: AnyAccountCommand) -> Decision:
    """Return what a command makes happen to an account."""
    if command.player == HOUSE_ACCOUNT:
        raise InvalidInput("the house has no account with itself")
    return [decide_account(account, command)]


def decide_at_table(
    table: str,
    game: Game | None,
    house_table: HouseTable,
    command: Any,
    account: PlayerAccount | None,
    sender: str,
) -> Decision:
    """Return what a command makes happen at a table, and to the account it moves money to or from.

    `who` is the account that asks: the house deals at automatic tables, and people at others.
    """
    if game is None:
        raise _refuse("floor/no-table", table=table)
    if (
        isinstance(command, commands.PlaceBet) and not house_table.interrupted
    ):  # by far the commonest
        return [decide_table(game, house_table.table, command)]
    if isinstance(command, _HOUSE_COMMANDS):
        return [_decide_house_command(game, house_table, command, sender)]
    if house_table.interrupted:
        clause = _interruption_clause(game)
        raise _refuse("floor/interrupted", *clause, round=house_table.interrupted)
    if house_table.dealt_by_house and sender != HOUSE_ACCOUNT:
        _refuse_dealer_command(game, house_table, command)
    if isinstance(command, commands.OpenTable) and command.table != table:
        raise _refuse("floor/other-table", table=table, other=command.table)
    decided: Decision = [decide_table(game, house_table.table, command)]
    if account is not None:
        decided.append(_decide_transfer(table, house_table, command, account, sender))
    return decided


def _refuse_dealer_command(game: Game, house_table: HouseTable, command: Any) -> None:
    """Refuse what people do not do at a table that the house deals.

    Between the close and the call only the house acts: by then the dice can be known to whoever
    holds the seed, and nobody may call a round off because of them.
    """
    if isinstance(command, DEALER_COMMANDS):
        raise _refuse("floor/dealt-by-house", step=tag_of(command))
    current = house_table.table.round
    if isinstance(command, commands.Report):
        rule = game.facts.irregularities.get(command.irregularity)
        of_current = current is not None and (
            not command.rounds or current.number in command.rounds
        )
        damaged = rule is not None and rule.consequence == "void-affected-rounds" and of_current
        if damaged or (rule and rule.consequence in _DICE_CONSEQUENCES):
            raise _refuse("floor/dealt-by-house", step=command.irregularity)
    drawn = current is not None and "close-betting" in current.done and not current.called
    if isinstance(command, commands.CloseTable) and drawn:
        raise _refuse("floor/dealt-by-house", step=tag_of(command))


_HOUSE_COMMANDS: Final = (InterruptTable, RecoverRound, ResolveInterruption)


def _decide_house_command(
    game: Game,
    house_table: HouseTable,
    command: InterruptTable | RecoverRound | ResolveInterruption,
    sender: str,
) -> tuple[AnyStreamEvent, ...]:
    if isinstance(command, ResolveInterruption):
        return _decide_resolution(game, house_table, command)
    return _decide_recovery(game, house_table, command, sender)


def _decide_transfer(
    table: str, house_table: HouseTable, command: Any, account: PlayerAccount, sender: str
) -> tuple[AnyStreamEvent, ...]:
    kind = SendToTable if isinstance(command, commands.BuyIn) else ReceiveFromTable
    move = kind(
        by=sender,
        player=command.player,
        table=table,
        currency=house_table.table.currency,
        amount=command.amount,
    )
    return decide_account(account, move)


def establish_table(
    table: str, game: Game, house_table: HouseTable, command: EstablishTable
) -> Decision:
    """Return the setting up of a table for a game."""
    require_role(command.by, SUPERVISORS)
    if house_table.table.open:
        raise _refuse("floor/table-open", table=table)
    event = house_events.TableEstablished(
        table=table,
        game=game.id,
        game_hash=game.hash,
        dealt_by_house=command.dealt_by_house,
        by=command.by.id,
    )
    return [(event,)]


def unknown_game_refusal(error: UnknownName | InvalidInput | RulebookError) -> Refusal:
    """Return the refusal to set a table up for a game that there is not."""
    return _refuse("floor/unknown-game", problem=str(error))


# --- interruptions ------------------------------------------------------------------------------


def _decide_resolution(
    game: Game, house_table: HouseTable, command: ResolveInterruption
) -> tuple[AnyStreamEvent, ...]:
    """Let the rulebook decide, by the dice that are known, how an interrupted round ends."""
    if not house_table.interrupted:
        raise _refuse("floor/not-interrupted")
    clause = _interruption_clause(game)
    require_role(command.by, STAFF, clause)
    second = require_second_person(command.by, command.confirmed_by, SUPERVISORS, clause)
    _require_possible_dice(house_table, command.known, clause)
    decided = decide_interrupted_round(game, house_table, command)
    resolved = house_events.InterruptionResolved(
        round=house_table.interrupted, known=command.known, by=command.by, confirmed_by=second
    )
    return (resolved, *decided, players_notice(house_table, decided))


def decide_interrupted_round(
    game: Game, house_table: HouseTable, command: ResolveInterruption
) -> tuple[AnyStreamEvent, ...]:
    """Return what the rulebook makes of an interruption; where it is silent, of dice not known."""
    if "interruption" in game.facts.irregularities:
        report = commands.Report(
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
    return decide_table(
        game, house_table.table, commands.AbandonRound(by=command.by, reason=reason)
    )


def _require_possible_dice(
    house_table: HouseTable, known: list[int], clause: tuple[str, ...]
) -> None:
    """Refuse dice that cannot be known, or that are other than were called or known before."""
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
    """Return the notice to everyone with chips at risk, or a bet in the round settled already."""
    void = any(tag_of(each) == "RoundVoided" for each in events)
    at_risk = [player for player, seat in house_table.table.seats.items() if seat.at_risk]
    # a loser may have left the table as soon as his chips were taken
    players = list(dict.fromkeys([*at_risk, *house_table.table.current.nets]))
    return house_events.PlayersNotified(
        round=house_table.table.rounds, players=players, outcome="void" if void else "goes on"
    )


# --- coming back --------------------------------------------------------------------------------


def _decide_recovery(
    game: Game, house_table: HouseTable, command: InterruptTable | RecoverRound, sender: str
) -> tuple[AnyStreamEvent, ...]:
    """Return what the house makes of a round that it finds unfinished."""
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
        decided = _apply_interruption_rule(game, house_table)
        return (*decided, players_notice(house_table, decided))
    decided = decide_table(
        game, house_table.table, commands.AbandonRound(by=HOUSE_DEALER, reason="the dice are lost")
    )
    return (house_events.SeedLost(round=number), *decided, players_notice(house_table, decided))


def _apply_interruption_rule(game: Game, house_table: HouseTable) -> tuple[AnyStreamEvent, ...]:
    """Return what the rulebook says of an interruption once the dice have been called."""
    if "interruption" not in game.facts.irregularities:
        return ()
    report = commands.Report(by=HOUSE_DEALER, irregularity="interruption")
    return decide_table(game, house_table.table, report)


def _interruption_clause(game: Game) -> tuple[str, ...]:
    rule = game.facts.irregularities.get("interruption")
    if rule is None:
        return ()
    return (rule.clause,) if isinstance(rule.clause, str) else tuple(rule.clause)


def _refuse(code: str, *clause: str, **facts: Any) -> Refusal:
    return Refusal(code, HOUSE_REFUSAL_TEXTS[code], clause, facts)
