"""Decide a command: the state of a table and a command give events, or a refusal.

Pure: no clock, no I/O, no randomness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InvariantBroken
from threedice.table import betting, chips, commands, irregularities, procedure, settlement

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState

Handler = Callable[[Any, Any, Any], list[Any]]

HANDLERS: Final[dict[type[commands.TableCommand], Handler]] = {
    commands.OpenTable: procedure.open_table,
    commands.PassCheck: procedure.pass_check,
    commands.SetLimits: procedure.set_limits,
    commands.FillFloat: chips.fill_float,
    commands.CreditFloat: chips.credit_float,
    commands.CloseTable: procedure.close_table,
    commands.ReleaseTable: procedure.release_table,
    commands.BuyIn: chips.buy_in,
    commands.CashOut: chips.cash_out,
    commands.ChangeChips: chips.change_chips,
    commands.RepayDebt: chips.repay_debt,
    commands.TakeColour: chips.take_colour,
    commands.ColourUp: chips.colour_up,
    commands.PlaceBet: betting.place_bet,
    commands.WithdrawBet: betting.withdraw_bet,
    commands.RejectExcess: betting.reject_excess,
    commands.MoveChips: betting.move_chips,
    commands.PutBack: betting.put_back,
    commands.JudgeLine: betting.judge_line,
    commands.OfferDice: procedure.offer_dice,
    commands.ChooseDice: procedure.choose_dice,
    commands.OpenBetting: procedure.open_betting,
    commands.CloseBetting: procedure.close_betting,
    commands.Tumble: procedure.tumble,
    commands.Throw: procedure.throw,
    commands.Uncover: procedure.uncover,
    commands.CallResult: procedure.call_result,
    commands.PressKey: procedure.press_key,
    commands.PressEnter: procedure.press_enter,
    commands.Illuminate: procedure.illuminate,
    commands.CollectLosers: settlement.collect_losers,
    commands.PayWinners: settlement.pay_winners,
    commands.Report: irregularities.report_irregularity,
    commands.AbandonRound: irregularities.abandon_round,
    commands.AmendResult: procedure.amend_result,
    commands.CorrectBet: irregularities.correct_bet,
    commands.MakeRuling: irregularities.make_ruling,
}


def decide(game: Game, state: TableState, command: AnyCommand) -> tuple[AnyEvent, ...]:
    """Return the events that a command causes, or raise its refusal; the state is only read."""
    if state.open and game.hash != state.game_hash:
        raise InvariantBroken(f"the table was opened on another game or version than {game.id}")
    return tuple(HANDLERS[type(command)](game, state, command))
