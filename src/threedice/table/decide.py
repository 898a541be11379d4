"""The decider: a command and the state of a table give events, or a refusal.

Nothing here touches a clock, a disk, a network or a random number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import InvariantBroken
from threedice.table import betting, chips, dealing, irregular, opening, settling
from threedice.table import commands as asked

if TYPE_CHECKING:
    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState

Handler = Callable[[Any, Any, Any], list[Any]]

HANDLERS: Final[dict[type[asked.Command], Handler]] = {
    asked.OpenTable: opening.open_table,
    asked.PassCheck: opening.pass_check,
    asked.SetLimits: opening.set_limits,
    asked.FillFloat: opening.fill_float,
    asked.CreditFloat: opening.credit_float,
    asked.CloseTable: opening.close_table,
    asked.ReleaseTable: opening.release_table,
    asked.BuyIn: chips.buy_in,
    asked.CashOut: chips.cash_out,
    asked.ChangeChips: chips.change_chips,
    asked.RepayDebt: chips.repay_debt,
    asked.TakeColour: chips.take_colour,
    asked.ColourUp: chips.colour_up,
    asked.PlaceBet: betting.place_bet,
    asked.WithdrawBet: betting.withdraw_bet,
    asked.RejectExcess: betting.reject_excess,
    asked.MoveChips: betting.move_chips,
    asked.PutBack: betting.put_back,
    asked.JudgeLine: betting.judge_line,
    asked.OfferDice: dealing.offer_dice,
    asked.ChooseDice: dealing.choose_dice,
    asked.OpenBetting: dealing.open_betting,
    asked.CloseBetting: dealing.close_betting,
    asked.Tumble: dealing.tumble,
    asked.Throw: dealing.throw,
    asked.Uncover: dealing.uncover,
    asked.CallResult: dealing.call_result,
    asked.PressKey: dealing.press_key,
    asked.PressEnter: dealing.press_enter,
    asked.Illuminate: dealing.illuminate,
    asked.CollectLosers: settling.collect_losers,
    asked.PayWinners: settling.pay_winners,
    asked.Report: irregular.report,
    asked.AbandonRound: irregular.abandon_round,
    asked.AmendResult: dealing.amend_result,
    asked.CorrectBet: irregular.correct_bet,
    asked.MakeRuling: irregular.make_ruling,
}


def decide(game: Game, state: TableState, command: AnyCommand) -> tuple[AnyEvent, ...]:
    """Return what a command makes happen, or raise its refusal; the state is only read."""
    if state.open and game.hash != state.game_hash:
        raise InvariantBroken(f"the table was opened on another game than {game.id} as it is now")
    return tuple(HANDLERS[type(command)](game, state, command))
