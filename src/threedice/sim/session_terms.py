"""Terms of a simulated session: plan, amounts, odds, and the precision of its histograms.

The kernel computes in *grains*, the largest amount that divides all amounts of a session, so that
1000, 10 and 500 become 100, 1 and 50: they fit into 32 bits and into fewer bins.
`HistogramSettings` sets the precision of the histograms; sums are always exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd
from typing import Any, Final

import numpy as np

from threedice.errors import InvalidInput
from threedice.sim.kernels.compiler import KernelSpec
from threedice.sim.kernels.generator import ROLLS_PER_BLOCK, word_threshold
from threedice.sim.kernels.plans import MOVES
from threedice.sim.kernels.sessions import ENDING_NAMES, SUMS, bin_index, choose_precision_bits

MAX_AMOUNT_GRAINS: Final = 2**31 - 1
"""Largest amount of a session, in grains."""
MAX_FINAL_BINS: Final = 2**16
"""Maximum number of bins for final bankrolls."""
MAX_ROUND_BINS: Final = 2**17
"""Maximum number of bins for the last round of a session."""
MAX_PATH_CELLS: Final = 2**20
"""Maximum number of counters for bankrolls by round."""
MAX_PATH_POINTS: Final = 100
"""Maximum number of rounds in which bankrolls are counted."""


@dataclass(frozen=True)
class Terms:
    """Terms of a session that an `odds` `BettingSession` has validated; too large ones are refused.

    `outcomes` are (net result for each step staked, ways of 216) pairs, the best first. If `paths`,
    bankrolls are also counted during the session.
    """

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

    def __post_init__(self) -> None:
        max_stake = self.base if self.plan == "flat" else self.maximum
        largest = max(
            self.bankroll // self.grain + self.max_round_win,
            self.rounds * (max_stake // self.grain),
            4 * self.maximum // self.grain,
        )
        if largest > MAX_AMOUNT_GRAINS:
            raise InvalidInput(
                f"{self.rounds} rounds at up to {self.maximum} can exceed "
                f"{MAX_AMOUNT_GRAINS * self.grain}, the largest amount that can be counted; "
                "play fewer rounds or set a lower maximum"
            )

    @property
    def is_built_in_plan(self) -> bool:
        """True if the plan is built in, not a user's own."""
        return self.plan in MOVES

    @cached_property
    def grain(self) -> int:
        """Largest amount that divides all amounts of the session."""
        if not self.is_built_in_plan or self.step > 1:
            return 1
        return gcd(self.bankroll, self.base, self.maximum)

    @cached_property
    def max_round_win(self) -> int:
        """Upper bound on the win of one round, in grains."""
        best_net = max(0, *(net for net, _ in self.outcomes))
        return self.maximum // self.grain * best_net // self.step + 1

    @cached_property
    def is_bounded(self) -> bool:
        """True if no session can exceed `MAX_AMOUNT_GRAINS`, even if every round wins."""
        return self.bankroll // self.grain + self.rounds * self.max_round_win <= MAX_AMOUNT_GRAINS

    @cached_property
    def floor(self) -> int:
        """Bankroll in grains at or below which the session stops, -1 without a stop-loss."""
        if self.stop_loss is None:
            return -1
        return (self.bankroll - self.stop_loss) // self.grain

    @cached_property
    def ceiling(self) -> int:
        """Bankroll in grains at or above which the session stops."""
        return min(self._stop_win_bank, self._max_countable_bank)

    @property
    def is_cut_off(self) -> bool:
        """True if a session may stop because it exceeds the counters, before its stop-win."""
        return not self.is_bounded and self._max_countable_bank < self._stop_win_bank

    @property
    def _max_countable_bank(self) -> int:
        return MAX_AMOUNT_GRAINS if self.is_bounded else MAX_AMOUNT_GRAINS - self.max_round_win

    @property
    def _stop_win_bank(self) -> int:
        """Bankroll in grains of the stop-win, above every bankroll if there is none."""
        if self.stop_win is None:
            return MAX_AMOUNT_GRAINS + 1
        return -(-(self.bankroll + self.stop_win) // self.grain)

    @property
    def kernel_spec(self) -> KernelSpec:
        """Kernel that plays these sessions."""
        settlements = {1: "tiers", 2: "two", 3: "tiers", 4: "tiers"}
        return KernelSpec(
            plan=self.plan if self.is_built_in_plan else "own",
            settlement=settlements.get(len(self.outcomes), "table"),
            stepped=self.step > 1,
            floored=-(-self.minimum // self.grain) > 1 or not self.is_built_in_plan,
            stops=self.stop_loss is not None or self.stop_win is not None or not self.is_bounded,
            paths=self.paths,
        )

    @cached_property
    def histograms(self) -> HistogramSettings:
        """Precision of the histograms."""
        max_bank = min(
            self.bankroll // self.grain + self.rounds * self.max_round_win,
            self.ceiling + self.max_round_win,
        )
        blocks = -(-self.rounds // ROLLS_PER_BLOCK)
        blocks_per_point = -(-blocks // MAX_PATH_POINTS)
        points = -(-blocks // blocks_per_point)
        return HistogramSettings(
            round_precision_bits=choose_precision_bits(self.rounds, MAX_ROUND_BINS),
            final_precision_bits=choose_precision_bits(max_bank, MAX_FINAL_BINS),
            path_precision_bits=choose_precision_bits(max_bank, MAX_PATH_CELLS // points),
            blocks_per_point=blocks_per_point,
            points=points if self.paths else 0,
            max_bank=max_bank,
        )

    def kernel_arguments(self) -> tuple[Any, ...]:
        """Return the arguments of a kernel: terms, edges, table and line."""
        grain, histograms = self.grain, self.histograms
        nets = [net for net, _ in self.outcomes]
        edges = [word_threshold(ways) for ways in accumulate(ways for _, ways in self.outcomes)]
        uses_tiers = len(nets) <= 4
        tier_nets = (nets + nets[-1:] * 4)[:4] if uses_tiers else [0] * 4
        tier_edges = (edges + edges[-1:] * 4)[:3] if uses_tiers else [0] * 3
        due, memory = self.initial_state()
        terms = (
            self.base // grain,
            -(-self.minimum // grain),
            self.maximum // grain,
            self.step,
            self.floor,
            self.ceiling,
            self.bankroll // grain,
            self.rounds,
            due,
            memory,
            *tier_nets,
            histograms.round_precision_bits,
            histograms.final_precision_bits,
            histograms.path_precision_bits,
            histograms.blocks_per_point,
        )
        table = [net for net, ways in self.outcomes for _ in range(ways)]
        line = [self.base // grain * number for number in self.line]
        return (
            tuple(np.int32(number) for number in terms),
            tuple(np.uint32(edge) for edge in tier_edges),
            np.array(table, np.int32),
            np.array(line, np.int32),
        )

    def initial_state(self) -> tuple[int, int]:
        """Return the due stake, in grains, and the memory of the plan before the first round."""
        base, maximum = self.base // self.grain, self.maximum // self.grain
        if self.plan == "labouchere":
            bases = self.line[0] + (self.line[-1] if len(self.line) > 1 else 0)
            return min(base * bases, maximum), len(self.line)
        return base, 0


@dataclass(frozen=True, slots=True)
class HistogramSettings:
    """Precision of the histograms (see `kernels.sessions.bin_index`), and points of the paths.

    Bankrolls are counted at `points` rounds, `blocks_per_point` blocks of rounds apart.
    """

    round_precision_bits: int
    final_precision_bits: int
    path_precision_bits: int
    blocks_per_point: int
    points: int
    max_bank: int

    def array_shapes(self, rounds: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the arrays sums, ends, finals and paths."""
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
