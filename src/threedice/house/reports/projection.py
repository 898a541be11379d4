"""Project a stream's entries into statement rows, with the expected win and its variance.

The rows are a table's results and money movements, and every player's statement.
`StatementProjector` is a pure fold over a stream's entries, so the rows can be rebuilt from the log
at any time: `threedice log rebuild` does so, and the audit compares.

`WinExpectation` computes the house's theoretical win and its variance exactly. Covariances of boxes
are integers and cached, so a round costs a few multiplications; the audit recomputes every round.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from operator import mul
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.account.events import Deposited, ReceivedFromTable, SentToTable, Withdrawn
from threedice.dice import ROLLS
from threedice.house.events import PlayersNotified, SeedLost
from threedice.log.store import ProjectionLine
from threedice.odds import box_figures
from threedice.table import events
from threedice.table.limits import box_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from threedice.house.events import AnyStreamEvent
    from threedice.log.entry import Entry
    from threedice.rulebook import Game


VIEW: Final = "house-2"
"""The view of all rows; `StatementRow.what` distinguishes them. A change of the rows' form changes
the name, so that rows of the older form are neither read nor compared, and the log is projected
again."""

FORMER_VIEWS: Final = ("house",)
"""Names of the view in earlier forms; the first had rows without a variance."""

_ZERO: Final = Fraction(0)


class StatementRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of a table's results or of a player's statement.

    `amount` is the house's gain in results, the player's gain in statements. `theory` (the
    theoretical win) and `variance` are fractions: numerator and denominator.
    """

    what: str
    round: int = 0
    amount: int = 0
    dice: tuple[int, int, int] | None = None
    note: str = ""
    turnover: int = 0
    theory: tuple[int, int] = (0, 1)
    variance: tuple[int, int] = (0, 1)


class StatementProjector:
    """Project the entries of one stream; the only state is the current round."""

    def __init__(self, stream: str, game_of: Callable[[str], Game]) -> None:
        self.stream, self._game_of = stream, game_of
        self._expectation: WinExpectation | None = None
        self._shooter_box, self._game_hash = "", ""
        self._forget_round()

    def project(self, entry: Entry, event: AnyStreamEvent) -> Iterator[ProjectionLine]:
        """Yield the rows of an entry; entries must come in the order of the stream."""
        for place, (subject, row) in enumerate(self._rows(event)):
            data = msgspec.json.encode(row)
            yield ProjectionLine(VIEW, subject, self.stream, entry.version, place, entry.at, data)

    @property
    def is_between_rounds(self) -> bool:
        """Whether no round is in progress."""
        return not self._round

    @property
    def is_resumable(self) -> bool:
        """Whether another projector can resume here, given only the start of the current round."""
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
        match event:
            case events.BetPlaced():  # most events are bets
                return
            case events.RoundStarted():
                self._start_round(event)
            case events.LosersCollected():
                for spot, player, amount in event.bets:
                    yield self._lost_row(spot, player, amount)
            case events.ShooterLost():
                yield self._lost_row(self._shooter_box, event.player, event.stake)
            case events.ShooterWon():
                yield self._won_row(self._shooter_box, event.player, event.stake, event.winnings)
            case events.WinnersPaid():
                for spot, player, stake, winnings in event.bets:
                    yield self._won_row(spot, player, stake, winnings)
                yield self.stream, self._result_row(event)
                self._forget_round()
            case events.RoundVoided():
                yield self.stream, StatementRow("void", event.round, note=event.cause)
                for player in dict.fromkeys(player for _, player, _ in event.returned):
                    yield (
                        player_subject(player),
                        StatementRow("void", event.round, note=event.cause),
                    )
                self._forget_round()
            case events.RoundsReversed():
                yield from _reversal_rows(self.stream, event)
            case _:
                yield from _movement_rows(self.stream, event)

    def _lost_row(self, spot: str, player: str, stake: int) -> tuple[str, StatementRow]:
        self._add_stake(spot, stake, stake)
        return player_subject(player), StatementRow("lost", self._round, -stake, note=spot)

    def _won_row(
        self, spot: str, player: str, stake: int, winnings: int
    ) -> tuple[str, StatementRow]:
        self._add_stake(spot, stake, -winnings)
        return player_subject(player), StatementRow("won", self._round, winnings, note=spot)

    def _add_stake(self, spot: str, stake: int, win: int) -> None:
        self._stakes[spot] = self._stakes.get(spot, 0) + stake
        self._win += win

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


def player_subject(player: str) -> str:
    """Return the subject of a player's rows; the subject of a table's rows is its stream."""
    return f"player/{player}"


def _reversal_rows(stream: str, event: events.RoundsReversed) -> Iterator[tuple[str, StatementRow]]:
    for number in event.rounds:
        yield stream, StatementRow("reversed", number, note=event.cause)
    for player, amount in event.transfers:
        yield (
            player_subject(player),
            StatementRow("reversed", event.rounds[0], amount, note=event.cause),
        )


def _movement_rows(stream: str, event: AnyStreamEvent) -> Iterator[tuple[str, StatementRow]]:
    """Yield the rows of money movements outside rounds, and of notices."""
    match event:
        case events.TableOpened():
            yield stream, StatementRow("opened", amount=event.float_amount, note=event.game)
        case events.TableClosed():
            yield stream, StatementRow("closed", amount=event.float_amount, turnover=event.drop)
            for player, amount in event.carried_away:
                yield player_subject(player), StatementRow("carried away", amount=-amount)
        case events.FloatFilled():
            yield stream, StatementRow("fill", amount=event.amount)
        case events.FloatCredited():
            yield stream, StatementRow("credit", amount=event.amount)
        case events.BoughtIn():
            yield stream, StatementRow("drop", amount=event.amount, note=event.source)
            yield (
                player_subject(event.player),
                StatementRow("bought in", amount=event.amount, note=event.source),
            )
        case events.CashedOut():
            yield (
                player_subject(event.player),
                StatementRow("cashed out", amount=-event.amount, note=event.to),
            )
        case events.DebtRepaid():
            yield (
                player_subject(event.player),
                StatementRow("repaid", amount=-event.amount, note=event.source),
            )
        case events.BetCorrected():
            yield stream, StatementRow("corrected", event.round, -event.amount, note=event.reason)
            yield (
                player_subject(event.player),
                StatementRow("corrected", event.round, event.amount, note=event.reason),
            )
        case events.RulingMade():
            yield stream, StatementRow("ruling", amount=-event.amount, note=event.reason)
            yield (
                player_subject(event.player),
                StatementRow("ruling", amount=event.amount, note=event.reason),
            )
        case Deposited():
            yield player_subject(event.player), StatementRow("deposited", amount=event.amount)
        case Withdrawn():
            yield player_subject(event.player), StatementRow("withdrawn", amount=-event.amount)
        case SentToTable():
            yield (
                player_subject(event.player),
                StatementRow("sent to table", amount=-event.amount, note=event.table),
            )
        case ReceivedFromTable():
            yield (
                player_subject(event.player),
                StatementRow("from table", amount=event.amount, note=event.table),
            )
        case PlayersNotified():
            for player in event.players:
                yield (
                    player_subject(player),
                    StatementRow("notice", event.round, note=event.outcome),
                )
        case SeedLost():
            yield stream, StatementRow("seed lost", event.round)
        case _:
            return


_ROLL_COUNT: Final = len(ROLLS)


class WinExpectation:
    """The edges of a game's boxes, and the covariances of their results."""

    def __init__(self, game: Game) -> None:
        figures = {box.id: box_figures(box) for box in game.boxes.values()}
        self._edge_unit = lcm(*(each.edge.denominator for each in figures.values()))
        self._edges = {box: int(each.edge * self._edge_unit) for box, each in figures.items()}
        self._series_variances = {
            box: each.variance for box, each in figures.items() if box not in game.payoffs
        }
        self._covariance_unit = (_ROLL_COUNT * game.unit) ** 2
        self._covariances = {box: _Covariances(box, game.payoffs) for box in game.payoffs}

    def expected_win(self, stakes: Mapping[str, int]) -> Fraction:
        """Return the house's theoretical win on these stakes."""
        edges = self._edges
        win = sum(edges[box] * stake for box, stake in stakes.items())
        return Fraction(win, self._edge_unit)

    def variance(self, stakes: Mapping[str, int]) -> Fraction:
        """Return the variance of the house's win on all these stakes over the 216 rolls.

        A bet over several throws does not depend on a single roll: the variance over its whole
        series is added in the round that decides it, as are its stake and its edge.
        """
        total, earlier_stakes = 0, list[tuple[str, int]]()
        for box, stake in stakes.items():
            covariances = self._covariances.get(box)
            if covariances is not None:
                cross = sum([covariances[other] * amount for other, amount in earlier_stakes])
                total += stake * (2 * cross + covariances[box] * stake)
                earlier_stakes.append((box, stake))
        variance = Fraction(total, self._covariance_unit)
        for box, series_variance in self._series_variances.items():
            variance += series_variance * stakes.get(box, 0) ** 2
        return variance


class _Covariances(dict[str, int]):
    """Covariances of a box with others, as integers over (216 * unit) squared; filled lazily."""

    def __init__(self, box: str, payoffs: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self._own, self._payoffs = payoffs[box], payoffs

    def __missing__(self, other: str) -> int:
        own, others = self._own, self._payoffs[other]
        product_sum: int = sum(map(mul, own, others))
        self[other] = covariance = _ROLL_COUNT * product_sum - sum(own) * sum(others)
        return covariance


_MAX_CACHED_GAMES: Final = 32
_CACHE: Final[dict[str, WinExpectation]] = {}


def win_expectation(game: Game) -> WinExpectation:
    """Return the win expectation of a game, cached for up to 32 games."""
    if game.hash not in _CACHE:
        if len(_CACHE) >= _MAX_CACHED_GAMES:
            _CACHE.clear()
        _CACHE[game.hash] = WinExpectation(game)
    return _CACHE[game.hash]


def stakes_by_box(stakes: Mapping[str, int]) -> dict[str, int]:
    """Sum stakes on spots by box: the areas of a box have separate limits, but win together."""
    by_box: dict[str, int] = {}
    for spot, stake in stakes.items():
        box = box_of(spot)
        by_box[box] = by_box.get(box, 0) + stake
    return by_box
