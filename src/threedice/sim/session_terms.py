"""What a session is played on: the plan, the money, the odds, and how it is counted.

Amounts go to the kernel in *grains*, the largest amount that divides all of them, so that 1000, 10
and 500 are 100, 1 and 50: numbers of 32 bits, and fewer of them to count. `HistogramSettings` says how
finely bankrolls and rounds are counted; sums are exact however that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any, Final

import numpy as np

from threedice.errors import InvalidInput
from threedice.sim.kernels.compiler import KernelSpec
from threedice.sim.kernels.generator import ROLLS_PER_BLOCK, word_threshold
from threedice.sim.kernels.plans import LINE_CAPACITY, MOVES
from threedice.sim.kernels.sessions import ENDING_NAMES, SUMS, bin_index, choose_precision_bits

MAX_AMOUNT_GRAINS: Final = 2**31 - 1
"""The largest amount, in grains, that a session can hold."""
MAX_FINAL_BINS: Final = 2**16
"""Into at most so many places are final bankrolls counted."""
MAX_ROUND_BINS: Final = 2**17
"""Into at most so many places are the rounds counted at which sessions end."""
MAX_PATH_CELLS: Final = 2**20
"""How many counts along the way are kept at most."""
MAX_PATH_POINTS: Final = 100
"""At how many points along the way bankrolls are counted, at most."""


@dataclass(frozen=True)
class Terms:
    """A session's terms; `outcomes` are (net for each step staked, ways of 216), the best first."""

    plan: str
    bankroll: int
    base: int
    minimum: int
    maximum: int
    rounds: int
    outcomes: tuple[tuple[int, int], ...]
    step: int = 1
    stop_loss: int | None = None
    stop_win: int | None = None
    line: tuple[int, ...] = (1, 2, 3, 4)
    paths: bool = False
    """Whether bankrolls are counted along the way."""

    def __post_init__(self) -> None:
        check_terms(self)

    @property
    def is_built_in_plan(self) -> bool:
        """Whether the plan is one of those that ship with Threedice."""
        return self.plan in MOVES

    @cached_property
    def grain(self) -> int:
        """The amount that everything is a multiple of."""
        if not self.is_built_in_plan or self.step > 1:
            return 1
        return gcd(self.bankroll, self.base, self.maximum)

    @cached_property
    def max_round_win(self) -> int:
        """The most that one round can bring, in grains."""
        highest = max(0, *(net for net, _ in self.outcomes))
        return self.maximum // self.grain * highest // self.step + 1

    @cached_property
    def is_bounded(self) -> bool:
        """Whether nobody can win more than can be counted, however lucky he is."""
        return self.bankroll // self.grain + self.rounds * self.max_round_win <= MAX_AMOUNT_GRAINS

    @cached_property
    def floor(self) -> int:
        """The bankroll in grains from which down the session stops; none where it does not."""
        if self.stop_loss is None:
            return -1
        return (self.bankroll - self.stop_loss) // self.grain

    @cached_property
    def ceiling(self) -> int:
        """The bankroll in grains from which up the session stops."""
        return min(self._stop_win_bank, self._max_countable_bank)

    @property
    def is_cut_off(self) -> bool:
        """Whether sessions stop where counting ends, rather than where the player would."""
        return not self.is_bounded and self._max_countable_bank < self._stop_win_bank

    @property
    def _max_countable_bank(self) -> int:
        return MAX_AMOUNT_GRAINS if self.is_bounded else MAX_AMOUNT_GRAINS - self.max_round_win

    @property
    def _stop_win_bank(self) -> int:
        """The bankroll in grains with which the player leaves, more than any if he never does."""
        if self.stop_win is None:
            return MAX_AMOUNT_GRAINS + 1
        return -(-(self.bankroll + self.stop_win) // self.grain)

    @property
    def kernel_spec(self) -> KernelSpec:
        """The kernel that plays such sessions."""
        stops = self.stop_loss is not None or self.stop_win is not None or not self.is_bounded
        return KernelSpec(
            plan=self.plan if self.is_built_in_plan else "own",
            settlement={2: "two", 3: "tiers", 4: "tiers"}.get(len(self.outcomes), "table")
            if len(self.outcomes) > 1 else "tiers",
            stepped=self.step > 1,
            floored=-(-self.minimum // self.grain) > 1 or not self.is_built_in_plan,
            stops=stops,
            paths=self.paths,
        )  # fmt: skip

    @cached_property
    def histograms(self) -> HistogramSettings:
        """How finely bankrolls and rounds are counted."""
        top = min(
            self.bankroll // self.grain + self.rounds * self.max_round_win,
            self.ceiling + self.max_round_win,
        )
        blocks = -(-self.rounds // ROLLS_PER_BLOCK)
        stride = -(-blocks // MAX_PATH_POINTS)
        points = -(-blocks // stride)
        places = MAX_PATH_CELLS // points
        return HistogramSettings(
            round_precision_bits=choose_precision_bits(self.rounds, MAX_ROUND_BINS),
            final_precision_bits=choose_precision_bits(top, MAX_FINAL_BINS),
            path_precision_bits=choose_precision_bits(top, places),
            blocks_per_point=stride,
            points=points if self.paths else 0,
            max_bank=top,
        )

    def kernel_arguments(self) -> tuple[Any, ...]:
        """Return what a kernel is told: terms, edges, table and line."""
        grain, counting = self.grain, self.histograms
        nets = [net for net, _ in self.outcomes]
        edges = [
            word_threshold(sum(ways for _, ways in self.outcomes[: i + 1]))
            for i in range(len(nets))
        ]
        if len(nets) == 2:
            nets = [nets[0], nets[1], nets[1], nets[1]]
        few = len(nets) <= 4
        four = (nets + nets[-1:] * 4)[:4] if few else [0] * 4
        three = (edges + edges[-1:] * 4)[:3] if few else [0] * 3
        due, memory = self.initial_state()
        numbers = (
            self.base // grain, -(-self.minimum // grain), self.maximum // grain, self.step,
            self.floor, self.ceiling, self.bankroll // grain, self.rounds, due, memory, *four,
            counting.round_precision_bits, counting.final_precision_bits, counting.path_precision_bits, counting.blocks_per_point,
        )  # fmt: skip
        table = [net for net, ways in self.outcomes for _ in range(ways)]
        line = [self.base // grain * each for each in self.line]
        return (
            tuple(np.int32(each) for each in numbers),
            tuple(np.uint32(each) for each in three),
            np.array(table, np.int32),
            np.array(line, np.int32),
        )

    def initial_state(self) -> tuple[int, int]:
        """Return what is due at first and what the plan remembers then."""
        base, most = self.base // self.grain, self.maximum // self.grain
        if self.plan == "labouchere":
            whole = self.line[0] + (self.line[-1] if len(self.line) > 1 else 0)
            return min(base * whole, most), len(self.line)
        return base, 0


@dataclass(frozen=True, slots=True)
class HistogramSettings:
    """How finely rounds and grains are counted (see `places`), and how many blocks to a point."""

    round_precision_bits: int
    final_precision_bits: int
    path_precision_bits: int
    blocks_per_point: int
    points: int
    max_bank: int

    def array_shapes(self, rounds: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of sums, ends, finals and paths."""
        return (
            (len(SUMS),),
            (len(ENDING_NAMES), _bin_count(rounds, self.round_precision_bits)),
            (_bin_count(self.max_bank, self.final_precision_bits),),
            (
                max(self.points, 1),
                _bin_count(self.max_bank, self.path_precision_bits) if self.points else 1,
            ),
        )


def _bin_count(max_amount: int, precision_bits: int) -> int:
    return int(bin_index(max_amount, precision_bits, 2**62)) + 1


def check_terms(terms: Terms) -> None:
    """Refuse terms on which nobody could play, or that come to more than can be counted."""
    base, low, high = terms.base, terms.minimum, terms.maximum
    if not 0 < low <= high:
        raise InvalidInput(
            f"limits {low} to {high} leave no room; give a minimum above zero and a maximum no less"
        )
    if not low <= base <= high:
        raise InvalidInput(f"the base stake {base} is not within the limits {low} to {high}")
    if base % terms.step or low % terms.step:
        raise InvalidInput(
            f"stakes here must be multiples of {terms.step}, or not every win could be paid; "
            f"choose base and minimum so (they are {base} and {low})"
        )
    if terms.bankroll < low:
        raise InvalidInput(f"a bankroll of {terms.bankroll} does not reach the minimum {low}")
    for name, stop in (("stop-loss", terms.stop_loss), ("stop-win", terms.stop_win)):
        if stop is not None and stop < 1:
            raise InvalidInput(f"a {name} of {stop}; give an amount above zero, or leave it out")
    if terms.rounds < 1:
        raise InvalidInput(f"{terms.rounds} rounds; play at least one")
    if sum(ways for _, ways in terms.outcomes) != 216:
        raise InvalidInput("the outcomes of a bet make up the 216 rolls")
    if not 1 <= len(terms.line) <= LINE_CAPACITY or min(terms.line) < 1:
        raise InvalidInput(
            f"a line of {len(terms.line)} numbers; give 1 to {LINE_CAPACITY} above zero"
        )
    _check_size(terms)


def _check_size(terms: Terms) -> None:
    grain = terms.grain
    widest = (
        terms.rounds * (terms.maximum // grain)
        if terms.plan != "flat"
        else terms.rounds * (terms.base // grain)
    )
    largest = max(terms.bankroll // grain + terms.max_round_win, widest, 4 * terms.maximum // grain)
    if largest > MAX_AMOUNT_GRAINS:
        raise InvalidInput(
            f"{terms.rounds} rounds at up to {terms.maximum} come to more than the {MAX_AMOUNT_GRAINS * grain} "
            "that can be counted; play fewer rounds or set a lower maximum"
        )
