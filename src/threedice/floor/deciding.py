"""What a command makes happen on which streams: tables, accounts, and transfers between the two."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from threedice.cage import decide as decide_account
from threedice.cage.commands import (
    Deposit,
    OpenAccount,
    ReceiveFromTable,
    SendToTable,
    Withdraw,
)
from threedice.errors import InvalidInput, Refusal, RulebookError, UnknownName
from threedice.floor import events as happened
from threedice.floor.commands import (
    AnyAccountCommand,
    AnyFloorCommand,
    EstablishTable,
    InterruptTable,
    RecoverRound,
    ResolveInterruption,
)
from threedice.floor.folds import cage_stream, table_stream
from threedice.table import commands as asked
from threedice.table import decide as decide_table
from threedice.table import events as table_events
from threedice.table.rules import STAFF, SUPERVISORS, known_dice, need_role, need_second
from threedice.tags import tag_of

if TYPE_CHECKING:
    from threedice.cage import Account
    from threedice.floor.events import AnyStreamEvent
    from threedice.floor.folds import Tended
    from threedice.rulebook import Game

HOUSE: Final = "house"
"""The account in whose name the house itself deals; people never have it."""

HOUSE_DEALER: Final = asked.Actor(id=HOUSE, role="dealer")

TEXTS: Final[dict[str, str]] = {
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

DEALT: Final = (
    asked.OfferDice, asked.OpenBetting, asked.CloseBetting, asked.Tumble, asked.Uncover,
    asked.CallResult, asked.PressKey, asked.PressEnter, asked.Illuminate, asked.CollectLosers,
    asked.PayWinners, asked.AmendResult, asked.AbandonRound, asked.MoveChips, asked.PutBack,
    asked.JudgeLine,
)  # fmt: skip
"""What is done with dice and chips in hand; at an automatic table the house alone does it."""

_OF_DICE: Final = ("void-round", "continue-if-conclusive", "throw-again")
"""What follows from irregularities of dice that lie on a table; those of the house do not."""

Decided = list[tuple["AnyStreamEvent", ...]]
"""The events of each stream, in the order of `streams_of`."""


def streams_of(table: str, command: AnyFloorCommand) -> tuple[str, ...]:
    """Return the streams that a command may append to."""
    if isinstance(command, asked.PlaceBet):  # by far the commonest
        return (table_stream(table),)
    match command:
        case OpenAccount() | Deposit() | Withdraw():
            return (cage_stream(command.player),)
        case asked.BuyIn(source="account") | asked.CashOut(to="account"):
            return (table_stream(table), cage_stream(command.player))
        case _:
            return (table_stream(table),)


def decide_for_account(account: Account, command: AnyAccountCommand) -> Decided:
    """Return what a command makes happen to an account."""
    if command.player == HOUSE:
        raise InvalidInput("the house has no account with itself")
    return [decide_account(account, command)]


def decide_at_table(
    table: str, game: Game | None, tended: Tended, command: Any, account: Account | None, who: str
) -> Decided:
    """Return what a command makes happen at a table, and to the account it moves money to or from.

    `who` is the account that asks: the house deals at automatic tables, and people at others.
    """
    if game is None:
        raise _refuse("floor/no-table", table=table)
    if isinstance(command, asked.PlaceBet) and not tended.interrupted:  # by far the commonest
        return [decide_table(game, tended.table, command)]
    if isinstance(command, _OF_THE_FLOOR):
        return [_on_the_floor(game, tended, command, who)]
    if tended.interrupted:
        clause = _clause(game)
        raise _refuse("floor/interrupted", *clause, round=tended.interrupted)
    if tended.dealt_by_house and who != HOUSE:
        _need_left_to_people(game, tended, command)
    if isinstance(command, asked.OpenTable) and command.table != table:
        raise _refuse("floor/other-table", table=table, other=command.table)
    decided: Decided = [decide_table(game, tended.table, command)]
    if account is not None:
        decided.append(_transferred(table, tended, command, account, who))
    return decided


def _need_left_to_people(game: Game, tended: Tended, command: Any) -> None:
    """Refuse what people do not do at a table that the house deals.

    Between the close and the call only the house acts: by then the dice can be known to whoever
    holds the seed, and nobody may call a round off because of them.
    """
    if isinstance(command, DEALT):
        raise _refuse("floor/dealt-by-house", step=tag_of(command))
    current = tended.table.round
    if isinstance(command, asked.Report):
        rule = game.facts.irregularities.get(command.irregularity)
        of_current = current is not None and (
            not command.rounds or current.number in command.rounds
        )
        damaged = rule is not None and rule.consequence == "void-affected-rounds" and of_current
        if damaged or (rule and rule.consequence in _OF_DICE):
            raise _refuse("floor/dealt-by-house", step=command.irregularity)
    drawn = current is not None and "close-betting" in current.done and not current.called
    if isinstance(command, asked.CloseTable) and drawn:
        raise _refuse("floor/dealt-by-house", step=tag_of(command))


_OF_THE_FLOOR: Final = (InterruptTable, RecoverRound, ResolveInterruption)


def _on_the_floor(
    game: Game,
    tended: Tended,
    command: InterruptTable | RecoverRound | ResolveInterruption,
    who: str,
) -> tuple[AnyStreamEvent, ...]:
    if isinstance(command, ResolveInterruption):
        return _resolved(game, tended, command)
    return _come_back(game, tended, command, who)


def _transferred(
    table: str, tended: Tended, command: Any, account: Account, who: str
) -> tuple[AnyStreamEvent, ...]:
    kind = SendToTable if isinstance(command, asked.BuyIn) else ReceiveFromTable
    move = kind(
        by=who,
        player=command.player,
        table=table,
        currency=tended.table.currency,
        amount=command.amount,
    )
    return decide_account(account, move)


def establish(table: str, game: Game, tended: Tended, command: EstablishTable) -> Decided:
    """Return the setting up of a table for a game."""
    need_role(command.by, SUPERVISORS)
    if tended.table.open:
        raise _refuse("floor/table-open", table=table)
    event = happened.TableEstablished(
        table=table,
        game=game.id,
        game_hash=game.hash,
        dealt_by_house=command.dealt_by_house,
        by=command.by.id,
    )
    return [(event,)]


def unknown_game(error: UnknownName | InvalidInput | RulebookError) -> Refusal:
    """Return the refusal to set a table up for a game that there is not."""
    return _refuse("floor/unknown-game", problem=str(error))


# --- interruptions ------------------------------------------------------------------------------


def _resolved(
    game: Game, tended: Tended, command: ResolveInterruption
) -> tuple[AnyStreamEvent, ...]:
    """Let the rulebook decide, by the dice that are known, how an interrupted round ends."""
    if not tended.interrupted:
        raise _refuse("floor/not-interrupted")
    clause = _clause(game)
    need_role(command.by, STAFF, clause)
    second = need_second(command.by, command.confirmed_by, SUPERVISORS, clause)
    _need_possible(tended, command.known, clause)
    decided = after_interruption(game, tended, command)
    resolved = happened.InterruptionResolved(
        round=tended.interrupted, known=command.known, by=command.by, confirmed_by=second
    )
    return (resolved, *decided, notice(tended, decided))


def after_interruption(
    game: Game, tended: Tended, command: ResolveInterruption
) -> tuple[AnyStreamEvent, ...]:
    """Return what the rulebook makes of an interruption; where it is silent, of dice not known."""
    if "interruption" in game.facts.irregularities:
        report = asked.Report(
            by=command.by,
            irregularity="interruption",
            known=command.known,
            approved_by=command.confirmed_by,
        )
        return decide_table(game, tended.table, report)
    current = tended.table.current
    if current.called:
        return ()
    known = command.known or current.known
    if len(known) == 3 and "close-betting" in current.done:
        return (table_events.RoundContinued(known=known, won=[], lost=[]),)
    reason = "the round was interrupted and its dice are not known"
    return decide_table(game, tended.table, asked.AbandonRound(by=command.by, reason=reason))


def _need_possible(tended: Tended, known: list[int], clause: tuple[str, ...]) -> None:
    """Refuse dice that cannot be known, or that are other than were called or known before."""
    current = tended.table.current
    if current.called:
        possible = not Counter(known) - Counter(current.called)
    else:
        possible = known_dice(current, known) is not None
    if not possible:
        raise _refuse("floor/dice", *clause, known=known)


def notice(tended: Tended, decided: tuple[AnyStreamEvent, ...]) -> happened.PlayersNotified:
    """Return the notice to everyone with chips at risk, or a bet in the round settled already."""
    void = any(tag_of(each) == "RoundVoided" for each in decided)
    at_risk = [player for player, seat in tended.table.seats.items() if seat.at_risk]
    # a loser may have left the table as soon as his chips were taken
    players = list(dict.fromkeys([*at_risk, *tended.table.current.nets]))
    return happened.PlayersNotified(
        round=tended.table.rounds, players=players, outcome="void" if void else "goes on"
    )


# --- coming back --------------------------------------------------------------------------------


def _come_back(
    game: Game, tended: Tended, command: InterruptTable | RecoverRound, who: str
) -> tuple[AnyStreamEvent, ...]:
    """Return what the house makes of a round that it finds unfinished."""
    if who != HOUSE:
        raise _refuse("floor/house-only")
    staffed = tended.dealt_by_house is None
    if (
        tended.table.round is None
        or tended.interrupted
        or staffed is isinstance(command, RecoverRound)
    ):
        raise _refuse("floor/nothing-to-recover")
    number = tended.table.round.number
    if staffed:
        return (happened.TableInterrupted(round=number),)
    if tended.table.round.called:
        decided = _go_on(game, tended)
        return (*decided, notice(tended, decided))
    decided = decide_table(
        game, tended.table, asked.AbandonRound(by=HOUSE_DEALER, reason="the dice are lost")
    )
    return (happened.SeedLost(round=number), *decided, notice(tended, decided))


def _go_on(game: Game, tended: Tended) -> tuple[AnyStreamEvent, ...]:
    """Return what the rulebook says of an interruption once the dice have been called."""
    if "interruption" not in game.facts.irregularities:
        return ()
    report = asked.Report(by=HOUSE_DEALER, irregularity="interruption")
    return decide_table(game, tended.table, report)


def _clause(game: Game) -> tuple[str, ...]:
    rule = game.facts.irregularities.get("interruption")
    if rule is None:
        return ()
    return (rule.clause,) if isinstance(rule.clause, str) else tuple(rule.clause)


def _refuse(code: str, *clause: str, **facts: Any) -> Refusal:
    return Refusal(code, TEXTS[code], clause, facts)
