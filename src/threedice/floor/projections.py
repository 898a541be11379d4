"""Lines that follow from entries: the results of a table, its money, every player's statement.

A pure fold: `Projector` is shown a stream's entries in order and yields lines. They can be made
again from the log at any time: `threedice log rebuild` does, and verification compares.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.cage.events import Deposited, ReceivedFromTable, SentToTable, Withdrawn
from threedice.floor.chances import by_box, chances_of
from threedice.floor.events import PlayersNotified, SeedLost
from threedice.log.store import Line
from threedice.table import events as happened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from threedice.floor.chances import Chances
    from threedice.floor.events import AnyStreamEvent
    from threedice.log.entry import Entry
    from threedice.rulebook import Game

VIEW: Final = "house-2"
"""The one view that holds them all; `Said.what` tells them apart. Its name changes with its form,
so that lines of a form before are neither used nor compared: they are made again."""

FORMER_VIEWS: Final = ("house",)
"""What the view was called in forms before; lines without the variance are the first."""


_NOTHING: Final = Fraction(0)


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a line says; amounts are the house's gain in results, the player's in statements."""

    what: str
    round: int = 0
    amount: int = 0
    dice: tuple[int, int, int] | None = None
    note: str = ""
    turnover: int = 0
    theory: tuple[int, int] = (0, 1)
    variance: tuple[int, int] = (0, 1)


class Projector:
    """Makes the lines of one stream; what it has to remember is the round being played."""

    def __init__(self, stream: str, game_of: Callable[[str], Game]) -> None:
        self.stream, self._game_of = stream, game_of
        self._chances: Chances | None = None
        self._shooters_box, self._game_hash = "", ""
        self._forget_round()

    def lines(self, entry: Entry, event: AnyStreamEvent) -> Iterator[Line]:
        """Yield the lines that follow from an entry, which comes after all shown before."""
        for place, (subject, said) in enumerate(self._said(event)):
            data = msgspec.json.encode(said)
            yield Line(VIEW, subject, self.stream, entry.version, place, entry.at, data)

    @property
    def between_rounds(self) -> bool:
        """Whether no round is being played."""
        return not self._round

    @property
    def at_rest(self) -> bool:
        """Whether another projector can go on from here, given the round being played."""
        return not self._staked and not self._win

    def recall(self, started: happened.RoundStarted) -> None:
        """Go on within a round, of which nothing has been settled yet."""
        self._start_round(started)

    def _forget_round(self) -> None:
        self._round, self._win = 0, 0
        self._staked: dict[str, int] = {}

    def _start_round(self, event: happened.RoundStarted) -> None:
        self._forget_round()
        self._round = event.round
        if event.game_hash != self._game_hash:
            game = self._game_of(event.game_hash)
            self._chances = chances_of(game)
            self._shooters_box = game.facts.shooter.box if game.facts.shooter else ""
            self._game_hash = event.game_hash

    def _said(self, event: AnyStreamEvent) -> Iterator[tuple[str, Said]]:
        match event:
            case happened.BetPlaced():  # by far the commonest
                return
            case happened.RoundStarted():
                self._start_round(event)
            case happened.LosersCollected():
                for spot, player, amount in event.bets:
                    yield self._lost(spot, player, amount)
            case happened.ShooterLost():
                yield self._lost(self._shooters_box, event.player, event.stake)
            case happened.ShooterWon():
                yield self._won(self._shooters_box, event.player, event.stake, event.winnings)
            case happened.WinnersPaid():
                for spot, player, stake, winnings in event.bets:
                    yield self._won(spot, player, stake, winnings)
                yield self.stream, self._result(event)
                self._forget_round()
            case happened.RoundVoided():
                yield self.stream, Said("void", event.round, note=event.cause)
                for player in dict.fromkeys(player for _, player, _ in event.returned):
                    yield of(player), Said("void", event.round, note=event.cause)
                self._forget_round()
            case happened.RoundsReversed():
                yield from _reversed(self.stream, event)
            case _:
                yield from _moved(self.stream, event)

    def _lost(self, spot: str, player: str, stake: int) -> tuple[str, Said]:
        self._play(spot, stake, stake)
        return of(player), Said("lost", self._round, -stake, note=spot)

    def _won(self, spot: str, player: str, stake: int, winnings: int) -> tuple[str, Said]:
        self._play(spot, stake, -winnings)
        return of(player), Said("won", self._round, winnings, note=spot)

    def _play(self, spot: str, stake: int, win: int) -> None:
        self._staked[spot] = self._staked.get(spot, 0) + stake
        self._win += win

    def _result(self, event: happened.WinnersPaid) -> Said:
        theory = variance = _NOTHING
        if self._chances and self._staked:
            stakes = by_box(self._staked)
            theory, variance = self._chances.theory(stakes), self._chances.variance(stakes)
        return Said(
            "result",
            event.round,
            self._win,
            event.dice,
            "",
            sum(self._staked.values()),
            theory.as_integer_ratio(),
            variance.as_integer_ratio(),
        )


def of(player: str) -> str:
    """Return the subject of lines about a player; those about a table have its stream's name."""
    return f"player/{player}"


def _reversed(stream: str, event: happened.RoundsReversed) -> Iterator[tuple[str, Said]]:
    for number in event.rounds:
        yield stream, Said("reversed", number, note=event.cause)
    for player, amount in event.transfers:
        yield of(player), Said("reversed", event.rounds[0], amount, note=event.cause)


def _moved(stream: str, event: AnyStreamEvent) -> Iterator[tuple[str, Said]]:
    """Yield the lines of money that moves outside rounds, and of what people are told."""
    match event:
        case happened.TableOpened():
            yield stream, Said("opened", amount=event.float_amount, note=event.game)
        case happened.TableClosed():
            yield stream, Said("closed", amount=event.float_amount, turnover=event.drop)
            for player, amount in event.carried_away:
                yield of(player), Said("carried away", amount=-amount)
        case happened.FloatFilled():
            yield stream, Said("fill", amount=event.amount)
        case happened.FloatCredited():
            yield stream, Said("credit", amount=event.amount)
        case happened.BoughtIn():
            yield stream, Said("drop", amount=event.amount, note=event.source)
            yield of(event.player), Said("bought in", amount=event.amount, note=event.source)
        case happened.CashedOut():
            yield of(event.player), Said("cashed out", amount=-event.amount, note=event.to)
        case happened.DebtRepaid():
            yield of(event.player), Said("repaid", amount=-event.amount, note=event.source)
        case happened.BetCorrected():
            yield stream, Said("corrected", event.round, -event.amount, note=event.reason)
            yield of(event.player), Said("corrected", event.round, event.amount, note=event.reason)
        case happened.RulingMade():
            yield stream, Said("ruling", amount=-event.amount, note=event.reason)
            yield of(event.player), Said("ruling", amount=event.amount, note=event.reason)
        case Deposited():
            yield of(event.player), Said("deposited", amount=event.amount)
        case Withdrawn():
            yield of(event.player), Said("withdrawn", amount=-event.amount)
        case SentToTable():
            yield of(event.player), Said("sent to table", amount=-event.amount, note=event.table)
        case ReceivedFromTable():
            yield of(event.player), Said("from table", amount=event.amount, note=event.table)
        case PlayersNotified():
            for player in event.players:
                yield of(player), Said("notice", event.round, note=event.outcome)
        case SeedLost():
            yield stream, Said("seed lost", event.round)
        case _:
            return
