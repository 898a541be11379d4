"""Map the events of a table to postings, and its state to balances.

This is the only place that knows what an event moves. The house applies the postings beside the
state and compares both; statements, results, reports and the audit are computed from postings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from threedice.money import Posting, owing_account, stack_account, transfer_account
from threedice.table import events
from threedice.table.chip_counts.counts import face_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.table.events import AnyEvent, Payout, Stake
    from threedice.table.state import TableState


_UnpostedEvent = (
    events.KeyPressed | events.StepTaken | events.RoundStarted | events.BettingOpened
    | events.BettingClosed | events.DiceTumbled | events.ResultCalled | events.ResultEntered
    | events.AreasLit | events.CheckPassed | events.LimitsSet | events.TableLocked
    | events.TableReleased | events.ChipsChanged | events.ColourTaken | events.ColouredUp
    | events.ChipsMoved | events.ChipsPutBack | events.DiceOffered | events.DiceChosen
    | events.ResultAmended | events.ShooterAdvanced | events.RoundContinued
    | events.RoundStopped | events.RoundResumed
    | events.EquipmentEvent
    | events.IrregularityNoted
)  # fmt: skip
"""The events that move no money, the most frequent first."""


def table_postings(event: AnyEvent) -> list[Posting]:
    """Return the postings of a table's event."""
    if isinstance(event, events.ChipEvent) and event.colours_owed:
        return _with_colours(_amount_postings(event), event.colours_owed)
    return _amount_postings(event)


def _with_colours(postings: list[Posting], owed: int) -> list[Posting]:
    """Return postings with the change of what the house owes for coloured chips in play.

    The rack gives and takes coloured chips, which have no value there. A growing debt is posted
    first and a shrinking one last, so that the float is never short in between.
    """
    if owed > 0:
        return [Posting("colours", "float", owed), *postings]
    return [*postings, Posting("float", "colours", -owed)]


def _amount_postings(event: AnyEvent) -> list[Posting]:
    """Return the postings of an event's amounts."""
    if isinstance(event, events.BetPlaced):  # most events are bets
        player = event.player
        return [Posting(stack_account(player), "layout", event.amount, player, event.spot)]
    if isinstance(event, _UnpostedEvent):
        return []
    match event:
        case events.LosersCollected():
            lost = [
                Posting("layout", "float", amount, player, spot)
                for spot, player, amount in event.bets
            ]
            return [*lost, *_returned_stakes(event.excess or ())]
        case events.AreaPaid() | events.WinnersPaid():
            won = [posting for bet in event.bets for posting in _win_postings(bet)]
            return [*won, *_returned_stakes(event.excess or ())]
        case events.ShooterWon(player=player):
            return _win_postings(("", player, event.stake, event.winnings))
        case events.ShooterLost(player=player):
            return [Posting("layout", "float", event.stake, player)]
        case events.ShooterRestored(player=player):
            lent = [
                Posting("float", stack_account(player), event.owing, player),
                Posting(owing_account(player), "vault", event.owing, player),
            ]
            laid = Posting(stack_account(player), "layout", event.laid, player)
            return [*(lent if event.owing else ()), laid] if event.laid else []
        case events.ThrowRepeated():
            return _restored_stakes(event.restored)
        case events.TableOpened():
            return [Posting("vault", "float", event.float_amount)]
        case events.FloatFilled():
            return [Posting("vault", "float", event.amount)]
        case events.FloatCredited():
            return [Posting("float", "vault", event.amount)]
        case events.RackCounted():
            return _variance_postings(
                "float", face_value(event.counted), face_value(event.expected)
            )
        case events.DropCounted():
            return _variance_postings("vault", face_value(event.notes), event.expected)
        case events.TableClosed():
            return [
                *(
                    Posting(stack_account(player), "outside", amount, player)
                    for player, amount in event.carried_away
                ),
                Posting("float", "vault", event.float_amount),
                Posting("cash", "vault", event.drop),
            ]
        case events.BoughtIn(player=player, amount=amount):
            is_cash = event.source == "cash"
            paid = ("outside", "cash") if is_cash else (transfer_account(player), "vault")
            return [
                Posting(*paid, amount, player),
                Posting("float", stack_account(player), amount, player),
            ]
        case events.CashedOut(player=player, amount=amount, to="outside"):
            return [Posting(stack_account(player), "outside", amount, player)]
        case events.CashedOut(player=player, amount=amount):
            return [
                Posting(stack_account(player), "float", amount, player),
                Posting("vault", transfer_account(player), amount, player),
            ]
        case events.DebtRepaid(player=player, amount=amount):
            is_cash = event.source == "cash"
            paid = ("outside", "cash") if is_cash else (stack_account(player), "float")
            return [
                Posting(*paid, amount, player),
                Posting("vault", owing_account(player), amount, player),
            ]
        case events.BetWithdrawn():
            returned = event.amount + (event.excess or 0)
            return _returned_stakes([(event.spot, event.player, returned)])
        case events.BetRejected():
            returned = 0 if event.waits else event.amount + event.excess
            return _returned_stakes([(event.spot, event.player, returned)])
        case events.LineJudged():
            returned = 0 if event.accepted else event.amount + event.excess
            return _returned_stakes([(event.spot, event.player, returned)])
        case events.BetsApportioned(waits=True):
            return []
        case events.BetsApportioned():
            return _returned_stakes(
                (spot, player, stake - plays) for spot, player, stake, plays in event.bets
            )
        case events.RoundVoided():
            return [*_returned_stakes(event.returned), *_restored_stakes(event.restored or ())]
        case events.RoundsReversed():
            owed = dict(event.owing)
            return [
                posting
                for player, amount in event.transfers
                for posting in _transfer_postings(player, amount, owed.get(player, 0))
            ]
        case events.BetCorrected() | events.RulingMade():
            return _transfer_postings(event.player, event.amount, event.owing)
        case _:
            assert_never(event)


def _variance_postings(account: str, counted: int, expected: int) -> list[Posting]:
    """Return the posting that brings an account to what was counted."""
    if counted == expected:
        return []
    found = counted > expected
    accounts = ("variance", account) if found else (account, "variance")
    return [Posting(*accounts, abs(counted - expected))]


def _win_postings(bet: Payout) -> list[Posting]:
    spot, player, stake, winnings = bet
    stack = stack_account(player)
    return [
        Posting("layout", stack, stake, player, spot),
        Posting("float", stack, winnings, player, spot),
    ]


def _returned_stakes(stakes: Iterable[tuple[str, str, int]]) -> list[Posting]:
    return [
        Posting("layout", stack_account(player), amount, player, spot)
        for spot, player, amount in stakes
        if amount
    ]


def _restored_stakes(stakes: Iterable[Stake]) -> list[Posting]:
    return [Posting("float", "layout", amount, player, spot) for spot, player, amount in stakes]


def _transfer_postings(player: str, amount: int, owed: int) -> list[Posting]:
    """Return the postings of an amount to a player, or from them if it is negative.

    `owed` is the change of the player's debt. It grows by what is taken beyond the stack, or had
    been set off (`owed` > 0); an amount given may reduce it first (`owed` < 0).
    """
    stack, owing, chips = stack_account(player), owing_account(player), amount + owed
    moved = ("float", stack) if chips > 0 else (stack, "float")
    postings = [Posting(*moved, abs(chips), player)]
    if owed > 0:
        postings.append(Posting(owing, "vault", owed, player))
    if owed < 0:
        postings.append(Posting("vault", owing, -owed, player))
    return postings


def table_balance(state: TableState, account: str) -> int | None:
    """Return the balance of an account by a table's state; None for accounts outside the table."""
    kind, _, player = account.partition("/")
    match kind:
        case "stack":
            return state.seats[player].stack if player in state.seats else 0
        case "owing":
            return -state.owing.get(player, 0)
        case "layout":
            return sum(seat.at_risk for seat in state.seats.values())
        case "float":
            return state.float_amount
        case "cash":
            return state.drop
        case "colours":
            return -(state.colours_owed or 0)
        case _:
            return None


def table_accounts(state: TableState) -> list[str]:
    """Return the accounts that can have a balance by a table's state."""
    stacks, debts = map(stack_account, state.seats), map(owing_account, state.owing)
    colours = [] if state.colours_owed is None else ["colours"]
    return ["float", "cash", "layout", *colours, *stacks, *debts]
