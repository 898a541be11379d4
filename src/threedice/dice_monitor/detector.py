"""Notice a change during the life of a dice set: a Shiryaev-Roberts e-detector.

For each target of `mixture` the detector sums, over every round at which the change may have
happened, the likelihood ratio of the rounds since. The sum M obeys M' = L (M + 1), where L is the
ratio of the new round. The mean over the targets is compared with the threshold.

Under fair dice M less the number of rounds is a martingale, so at any stopping time M and the
number of rounds have the same expectation. If the detector stops when M first reaches c, then
c <= E[M] = E[rounds]: the average run length to a false alarm is at least c (Shin, Ramdas and
Rinaldo, "E-detectors", 2023). The same holds for a mean of detectors.
"""

from __future__ import annotations

from math import exp, inf, log1p
from typing import Final

from threedice.dice_monitor.mixture import TARGETS, log_target_ratios

CHANGE_THRESHOLD: Final = 10_000_000
"""Threshold of the detector, and the least average number of rounds to a false alarm."""

NO_ROUNDS: Final = (-inf,) * len(TARGETS)
"""The logarithm of the sum of each target before the first round."""


def advance(log_sums: tuple[float, ...], faces: tuple[int, ...]) -> tuple[float, ...]:
    """Return the logarithms of the sums after one more round in which these faces were seen.

    >>> round(exp(max(advance(NO_ROUNDS, (6, 6, 6)))), 3)
    1.728
    """
    return tuple(
        [
            ratio + (before + log1p(exp(-before)) if before > 0 else log1p(exp(before)))
            for before, ratio in zip(log_sums, log_target_ratios(faces), strict=True)
        ]
    )
