"""Project a stream's entries into statement rows: a table's results, and players' statements.

`StatementProjector` is a pure fold over a stream's entries, so the rows can be rebuilt from the log
at any time: `threedice log rebuild` does so, and the audit compares. Every amount in a row is
computed from the postings of the event; a row adds only what the amount is called.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from threedice.account.events import Deposited, ReceivedFromTable, SentToTable, Withdrawn
from threedice.house.codec import tag_of
from threedice.house.events import PlayersNotified, SeedLost
from threedice.house.reports.expectation import WinExpectation, stakes_by_box, win_expectation
from threedice.house.stream_state import postings_of
from threedice.log.records import ProjectionLine
from threedice.money import balance_changes, owing_account, player_account, stack_account
from threedice.table import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from threedice.house.events import AnyStreamEvent
    from threedice.log.entry import Entry
    from threedice.money import Posting
    from threedice.rulebook import Game


VIEW: Final = "house-4"
"""The view of all rows; `StatementRow.what` distinguishes them. A change of the rows' form changes
the name, so that rows of the older form are neither read nor compared, and the log is projected
again."""

FORMER_VIEWS: Final = ("house", "house-2", "house-3")
"""Names of the view in earlier forms: rows without a variance, without debts, and without the
people of a void round."""

_ZERO: Final = Fraction(0)

EVENTS_WITHOUT_ROWS: Final = frozenset({
    events.BetPlaced, events.BettingOpened, events.BettingClosed, events.StepTaken,
    events.DiceTumbled, events.ResultCalled, events.KeyPressed, events.ResultEntered,
    events.AreasLit,
})  # fmt: skip
"""The commonest events that no statement shows: a bet's chips are the player's until they are lost,
and the others move nothing. Skipping them early makes replays faster."""


class StatementRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of a table's results or of a player's statement.

    `amount` is the house's gain in results, the player's gain in statements. The amounts of a
    player's statement sum to their money with the house and their chips at the tables, bets
    included, less their debts: a debt counts when it arises, so paying it from chips changes
    nothing. `debt` is the change of the debt, which `amount` includes. `theory` (the theoretical
    win) and `variance` are fractions: numerator and denominator. `by` and `approved_by` are the
    people who voided a round, in the row of its table.
    """

    what: str
    round: int = 0
    amount: int = 0
    dice: tuple[int, int, int] | None = None
    note: str = ""
    turnover: int = 0
    theory: tuple[int, int] = (0, 1)
    variance: tuple[int, int] = (0, 1)
    debt: int = 0
    by: str = ""
    approved_by: str = ""


class StatementProjector:
    """Project the entries of one stream; the only state is the current round."""

    def __init__(self, stream: str, game_of: Callable[[str], Game]) -> None:
        self.stream, self._game_of = stream, game_of
        self._expectation: WinExpectation | None = None
        self._shooter_box, self._game_hash = "", ""
        self._forget_round()

    def project(self, entry: Entry, event: AnyStreamEvent) -> Iterator[ProjectionLine]:
        """Yield the rows of an entry; entries must come in the order of the stream."""
        if type(event) in EVENTS_WITHOUT_ROWS:
            return
        for place, (subject, row) in enumerate(self._rows(event)):
            data = _encode_row(row)
            yield ProjectionLine(VIEW, subject, self.stream, entry.version, place, entry.at, data)

    @property
    def is_between_rounds(self) -> bool:
        """True if no round is in progress."""
        return not self._round

    @property
    def is_resumable(self) -> bool:
        """True if another projector can resume here, given only the start of the current round."""
        return not self._stakes and not self._win

    def resume_round(self, started: events.RoundStarted) -> None:
        """Resume within a round of which nothing has been settled yet."""
        self._start_round(started)

    def _forget_round(self) -> None:
        self._round, self._win = 0, 0
        self._stakes: dict[str, int] = {}

    def _start_round(self, event: events.RoundStarted) -> None:
        self._forget_round()
        self._round = event.round
        if event.game_hash != self._game_hash:
            game = self._game_of(event.game_hash)
            self._expectation = win_expectation(game)
            self._shooter_box = game.facts.shooter.box if game.facts.shooter else ""
            self._game_hash = event.game_hash

    def _rows(self, event: AnyStreamEvent) -> Iterator[tuple[str, StatementRow]]:
        # what the house owes for coloured chips is no player's gain, and no result
        postings = [each for each in postings_of(event) if "colours" not in each[:2]]
        match event:
            case events.RoundStarted():
                self._start_round(event)
            case events.LosersCollected() | events.AreaPaid() | events.WinnersPaid():
                yield from self._settlement_rows(postings)
                for spot, _, amount in event.excess or ():  # it lay there, and did not play
                    self._stakes[spot] -= amount
                if isinstance(event, events.WinnersPaid):
                    yield self.stream, self._result_row(event)
                    self._forget_round()
            case events.ShooterLost() | events.ShooterWon():
                yield from self._settlement_rows(postings)
            case events.ThrowRepeated():
                self._stakes, self._win = {}, 0
                yield from self._restored_rows(postings, event.cause)
            case events.RoundVoided():
                row = StatementRow("void", event.round, note=event.cause)
                second = event.approved_by.id if event.approved_by else ""
                yield self.stream, replace(row, by=event.by.id, approved_by=second)
                yield from self._restored_rows(postings, event.cause)
                returned = (each.player for each in postings if each.source == "layout")
                for player in dict.fromkeys(returned):
                    yield player_subject(player), row
                self._forget_round()
            case events.RoundsReversed():
                for number in event.rounds:
                    yield self.stream, StatementRow("reversed", number, note=event.cause)
                first, *others = event.rounds
                gains, debts = player_gains(postings), _debts(postings)
                yield from _player_rows("reversed", gains, debts, first, event.cause)
                for number in others:  # one transfer undoes all: it is in the row of the first
                    unchanged = dict.fromkeys(gains, 0)
                    yield from _player_rows("reversed", unchanged, {}, number, event.cause)
            case _:
                yield from _movement_rows(self.stream, event, postings)

    def _settlement_rows(self, postings: Sequence[Posting]) -> Iterator[tuple[str, StatementRow]]:
        """Yield a row for each bet that was lost or won, and add it to the round."""
        for source, destination, amount, player, posted_spot in postings:
            spot = posted_spot or self._shooter_box
            if source == "layout":
                self._stakes[spot] = self._stakes.get(spot, 0) + amount
            if destination == "float":
                self._win += amount
                yield player_subject(player), StatementRow("lost", self._round, -amount, note=spot)
            elif source == "float":
                self._win -= amount
                yield player_subject(player), StatementRow("won", self._round, amount, note=spot)

    def _restored_rows(
        self, postings: Sequence[Posting], cause: str
    ) -> Iterator[tuple[str, StatementRow]]:
        """Yield a row for each collected bet that lies on the layout again."""
        for source, _, amount, player, _ in postings:
            if source == "float":
                row = StatementRow("put back", self._round, amount, note=cause)
                yield player_subject(player), row

    def _result_row(self, event: events.WinnersPaid) -> StatementRow:
        theory = variance = _ZERO
        if self._expectation and self._stakes:
            stakes = stakes_by_box(self._stakes)
            theory = self._expectation.expected_win(stakes)
            variance = self._expectation.variance(stakes)
        return StatementRow(
            "result",
            event.round,
            self._win,
            event.dice,
            "",
            sum(self._stakes.values()),
            theory.as_integer_ratio(),
            variance.as_integer_ratio(),
        )


_encode_row: Final = msgspec.json.Encoder().encode


def player_subject(player: str) -> str:
    """Return the subject of a player's rows; the subject of a table's rows is its stream."""
    return f"player/{player}"


def player_gains(postings: Sequence[Posting]) -> dict[str, int]:
    """Return by how much each player gains: chips, money with the house, and debts.

    Chips at risk are the player's until they are lost.
    """
    gains: dict[str, int] = {}
    for source, destination, amount, player, _ in postings:
        if player:
            own = (stack_account(player), "layout", owing_account(player), player_account(player))
            change = amount * ((destination in own) - (source in own))
            gains[player] = gains.get(player, 0) + change
    return gains


def _debts(postings: Sequence[Posting]) -> dict[str, int]:
    """Return by how much each player's debt grows."""
    debts: dict[str, int] = {}
    for source, destination, amount, player, _ in postings:
        if player:
            owing = owing_account(player)
            change = amount * ((source == owing) - (destination == owing))
            debts[player] = debts.get(player, 0) + change
    return debts


def _movement_rows(
    stream: str, event: AnyStreamEvent, postings: Sequence[Posting]
) -> Iterator[tuple[str, StatementRow]]:
    """Yield the rows of money movements outside rounds, and of notices."""
    changes, gains, debts = balance_changes(postings), player_gains(postings), _debts(postings)
    match event:
        case events.TableOpened():
            yield stream, StatementRow("opened", amount=changes["float"], note=event.game)
        case events.TableClosed():
            closed = StatementRow("closed", amount=-changes["float"], turnover=-changes["cash"])
            yield stream, closed
            yield from _player_rows("carried away", gains, debts)
        case events.FloatFilled():
            yield stream, StatementRow("fill", amount=changes["float"])
        case events.FloatCredited():
            yield stream, StatementRow("credit", amount=-changes["float"])
        case events.BoughtIn():
            yield stream, StatementRow("drop", amount=gains[event.player], note=event.source)
            yield from _player_rows("bought in", gains, debts, note=event.source)
        case events.CashedOut():
            yield from _player_rows("cashed out", gains, debts, note=event.to)
        case events.DebtRepaid():
            what = "set off" if event.source in ("winnings", "buy-in") else "repaid"
            yield from _player_rows(what, gains, debts, event.round, event.source)
        case events.ShooterRestored():
            lent = {player: 0 for player, debt in debts.items() if debt}
            yield from _player_rows("bet restored", lent, debts, event.round)
        case events.BetCorrected():
            gain = gains.get(event.player, 0)
            yield stream, StatementRow("corrected", event.round, -gain, note=event.reason)
            yield from _player_rows("corrected", gains, debts, event.round, event.reason)
        case events.RulingMade():
            gain = gains.get(event.player, 0)
            yield stream, StatementRow("ruling", amount=-gain, note=event.reason)
            yield from _player_rows("ruling", gains, debts, note=event.reason)
        case Deposited():
            yield from _player_rows("deposited", gains, debts)
        case Withdrawn():
            yield from _player_rows("withdrawn", gains, debts)
        case SentToTable():
            yield from _player_rows("sent to table", gains, debts, note=event.table)
        case ReceivedFromTable():
            yield from _player_rows("from table", gains, debts, note=event.table)
        case PlayersNotified():
            unchanged = dict.fromkeys(event.players, 0)
            yield from _player_rows("notice", unchanged, debts, event.round, event.outcome)
        case SeedLost():
            yield stream, StatementRow("seed lost", event.round)
        case _:  # an event that moves a player's money is on the statement, whatever it is
            unnamed = {player: gain for player, gain in gains.items() if gain}
            yield from _player_rows(tag_of(event), unnamed, debts)


def _player_rows(
    what: str,
    amounts: Mapping[str, int],
    debts: Mapping[str, int],
    number: int = 0,
    note: str = "",
) -> Iterator[tuple[str, StatementRow]]:
    for player, amount in amounts.items():
        row = StatementRow(what, number, amount, note=note, debt=debts.get(player, 0))
        yield player_subject(player), row
