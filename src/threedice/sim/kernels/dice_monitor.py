"""Watch the lives of dice sets with the evidence and the detector of `threedice.dice_monitor`.

The result is that of the plain functions; a test compares them. The evidence comes from the counts
of the faces in closed form, with tables of log gamma. It is a mean, so it reaches a level only if a
component does, and a component grows by a limited factor in a round: the kernel looks again when
the first component can have reached the level. The detector multiplies instead of adding
logarithms, because it stops at its threshold, and is summed when it can have reached that. Neither
changes the result.

The dice are those of `generator`, unbiased. A loaded die turns some of its faces into the loaded
one, decided by words of its own, so that fair dice of the same seed are otherwise the same.
"""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log
from typing import Any, Final

import numpy as np
from numpy import int64, uint32, uint64

from threedice.dice_monitor.detector import CHANGE_THRESHOLD
from threedice.dice_monitor.mixture import CONCENTRATIONS, TARGETS, WEIGHTS
from threedice.dice_monitor.monitor import LEVELS
from threedice.sim.kernels.compiler import compile_cached, compile_inline
from threedice.sim.kernels.generator import (
    ROLLS_PER_BLOCK,
    draw_block,
    first_roll,
    low32,
    philox,
    shift_to_next_roll,
)

Array = Any

LOADING_STREAM: Final = uint32(0x40000000)
"""Stream number that separates the words of loaded dice from those of rolls with the same seed."""

LOADING_RANGE: Final = 2**32
"""The words of loaded dice are below this number."""

ANY_FACE: Final = -1

MAX_WAIT: Final = 32
"""The most rounds between two looks at the evidence."""

SHORT_WAIT: Final = 8
"""Rounds between two looks for which it is worth computing exponentials."""

CHANGE: Final = len(LEVELS)
"""Column of the detector among the alarms; the columns before it are the levels."""


def watch_lives(
    first: Any, count: int, rounds: int, keys: Any, options: Any, loads: Array, tables: Any,
    alarms: Array, finals: Array,
) -> None:  # fmt: skip
    """Watch some lives until they end, or until every alarm that is watched for was raised.

    `options` are whether the dice are distinguished, whether the evidence and the detector are
    watched, and the round after which the dice are loaded. `loads` has for each die the loaded
    face, the face that it replaces (or `ANY_FACE`) and the word below which it does so. `alarms`
    takes the round of each alarm, 0 for none, `finals` the last log evidence and detector.
    """
    tracks = 4 if options[0] else 1
    counts, looks = np.zeros((tracks, 6), int64), np.zeros(tracks, int64)
    sums, components = np.zeros((tracks, tables[3].shape[1])), np.zeros(len(tables[2]))
    state = (counts, looks, sums, components)
    for life in range(count):
        counts[:], looks[:], sums[:] = 0, 1, 0.0
        session = uint64(first) + uint64(life)
        watch_life(session, rounds, keys, options, loads, tables, state, alarms[life])
        if options[1]:
            finals[life, 0] = log_mean_evidence(counts, tables, components)
        finals[life, 1] = sums.sum() / sums.size


def watch_life(
    session: Any, rounds: int, keys: Any, options: Any, loads: Array, tables: Any, state: Any,
    alarms: Array,
) -> None:  # fmt: skip
    """Watch one life, and write the rounds of its alarms."""
    _, with_evidence, with_detector, loaded_after = options
    counts, looks, sums, components = state
    faces = np.zeros(3, int64)
    next_look = next_sum = 1
    words = draw_block(uint32(0), session, uint32(0), keys[0], keys[1])
    word = words[0]
    for played in range(rounds):
        place = played % ROLLS_PER_BLOCK
        if place == 0:
            block = uint32(played // ROLLS_PER_BLOCK)
            words = draw_block(block, session, uint32(0), keys[0], keys[1])
        word = words[place // 3] if place % 3 == 0 else shift_to_next_roll(word)
        roll = int64(first_roll(word))
        faces[0], faces[1], faces[2] = roll // 36, roll // 6 % 6, roll % 6
        if played >= loaded_after:
            load_dice(faces, played, session, keys, loads)
        count_faces(faces, counts)
        if with_evidence and played + 1 >= next_look:
            next_look = raise_levels(played + 1, counts, looks, tables, components, alarms)
        if with_detector and alarms[CHANGE] == 0:
            advance_sums(faces, sums, tables[3])
            if played + 1 >= next_sum:
                next_sum = played + 1 + raise_change(played + 1, sums, tables, alarms)
        if (alarms[CHANGE - 1] > 0 or not with_evidence) and (
            alarms[CHANGE] > 0 or not with_detector
        ):
            return


def load_dice(faces: Array, played: Any, session: Any, keys: Any, loads: Array) -> None:
    """Turn the faces of loaded dice into the loaded face, by words of their own."""
    words = philox(
        uint32(played), low32(session), low32(uint64(session) >> uint64(32)), LOADING_STREAM,
        keys[0], keys[1],
    )  # fmt: skip
    for die in range(3):
        face, replaced, below = loads[die, 0], loads[die, 1], loads[die, 2]
        if (replaced in (ANY_FACE, faces[die])) and int64(words[die]) < below:
            faces[die] = face


def count_faces(faces: Array, counts: Array) -> None:
    """Count the faces of a round for all dice and for each."""
    for die in range(3):
        counts[0, faces[die]] += 1
        if len(counts) > 1:
            counts[die + 1, faces[die]] += 1


def raise_levels(
    played: int, counts: Array, looks: Array, tables: Any, components: Array, alarms: Array
) -> int:
    """Write the round for each level that the evidence reaches now; return when to look again."""
    for i in range(CHANGE):
        if alarms[i] == 0:
            if not reaches(tables[5][i], played, counts, looks, tables, components):
                break
            alarms[i] = played
            looks[:] = played
    return max(played + 1, int(looks.min()))


def reaches(
    level: float, played: int, counts: Array, looks: Array, tables: Any, components: Array
) -> bool:
    """Return whether the evidence reaches a level, computing it only if it can.

    `looks` has for all dice and for each the next round in which a component can reach the level.
    """
    can_reach = False
    for track in range(len(looks)):
        if played >= looks[track]:
            faces_per_round = 3 if track == 0 else 1
            wait = rounds_to_level(level, counts[track], faces_per_round, tables, components)
            looks[track] = played + wait
            can_reach |= wait == 0
    return can_reach and log_mean_evidence(counts, tables, components) >= level


def rounds_to_level(
    level: float, counts: Array, faces_per_round: int, tables: Any, components: Array
) -> int:
    """Return for how many rounds the mixture stays below a level at least, 0 if it may not.

    The components are tried first, because they need no exponentials: while all of them are below
    the level, so is their mean. If that gives few rounds, the mean of their bounds is tried.
    """
    fill_components(counts, tables, components)
    growths, learning = tables[6], len(tables[0])
    wait, largest = MAX_WAIT, components.max()
    total = 0.0
    for i in range(len(components)):
        growth = growths[i - learning]
        if i < learning:
            growth = log_largest_prediction(tables[7][i], counts, faces_per_round)
        growth *= faces_per_round
        wait = min(wait, int((level - components[i]) / growth))
        components[i] += SHORT_WAIT * growth - level
    if wait >= SHORT_WAIT:
        return wait
    for i in range(len(components)):
        total += tables[2][i] * exp(components[i])
    if total < 1.0:
        return SHORT_WAIT
    return 0 if largest >= level else max(1, wait)


def log_largest_prediction(prior: float, counts: Array, faces_per_round: int) -> float:
    """Return the log ratio of the largest prediction of a face within `MAX_WAIT` rounds.

    No prediction is above that of the commonest face after all these rounds, made now.
    """
    commonest = counts.max() + faces_per_round * MAX_WAIT
    return log(6.0 * (prior + commonest) / (6.0 * prior + counts.sum()))


def log_mean_evidence(counts: Array, tables: Any, components: Array) -> float:
    """Return the logarithm of the mean evidence over all dice and each die."""
    logs = np.zeros(len(counts))
    for track in range(len(counts)):
        largest, total = fill_components(counts[track], tables, components), 0.0
        for i in range(len(components)):
            total += tables[2][i] * exp(components[i] - largest)
        logs[track] = largest + log(total)
    return float(logs.max() + log(np.exp(logs - logs.max()).mean()))


def fill_components(counts: Array, tables: Any, components: Array) -> float:
    """Compute the logarithms of all components, and return the largest.

    `rising` is log gamma of prior and count, `falling` that of all priors and counts.
    """
    rising, falling, log_targets = tables[0], tables[1], tables[4]
    seen, learning = counts.sum(), len(rising)
    for i in range(learning):
        components[i] = -falling[i, seen]
        for face in range(6):
            components[i] += rising[i, counts[face]]
    for i in range(len(log_targets)):
        components[learning + i] = 0.0
        for face in range(6):
            components[learning + i] += log_targets[i, face] * counts[face]
    return float(components.max())


def advance_sums(faces: Array, sums: Array, ratios: Array) -> None:
    """Advance the detector's sums by a round, for all dice and for each die."""
    a, b, c = ratios[faces[0]], ratios[faces[1]], ratios[faces[2]]
    for i in range(sums.shape[1]):
        sums[0, i] = (sums[0, i] + 1.0) * (a[i] * b[i] * c[i])
    for track in range(1, len(sums)):
        ratio = ratios[faces[track - 1]]
        for i in range(sums.shape[1]):
            sums[track, i] = (sums[track, i] + 1.0) * ratio[i]


def raise_change(played: int, sums: Array, tables: Any, alarms: Array) -> int:
    """Write the round if the detector has reached its threshold; return when to sum it again.

    In a round the mean M grows to at most f (M + 1), which is at most f (M + 3) - 3 for every f
    from 1.5 on; hence M + 3 grows at most f-fold, and the threshold is that many rounds away.
    """
    mean, threshold, log_factor = sums.sum() / sums.size, tables[5][CHANGE], tables[5][CHANGE + 1]
    if mean >= threshold:
        alarms[CHANGE] = played
        return 1
    return max(1, int(log((threshold + 3.0) / (mean + 3.0)) / log_factor))


@cache
def compiled_watch_lives() -> Any:
    """Return `watch_lives` compiled for this CPU."""
    return compile_cached(watch_lives, compile_inline, {}, "watch_lives")


@cache
def monitor_tables(rounds: int) -> tuple[Array, ...]:
    """Return the tables for the evidence of lives of up to some rounds, and for any detector.

    They are the two log gamma tables of `fill_components`, the weights, the targets by face, their
    logarithms, the limits (log levels, threshold, and the log of the largest growth in a round),
    the log growth of each target by its face, and the priors.
    """
    most = 3 * rounds + 1
    rising = [[lgamma(a + n) - lgamma(a) for n in range(most)] for a in CONCENTRATIONS]
    falling = [
        [lgamma(6 * a + n) - lgamma(6 * a) - n * log(6) for n in range(most)]
        for a in CONCENTRATIONS
    ]
    ratios = np.array([[float(factor) for factor in target] for target in TARGETS])
    weights = np.array([float(weight) for weight in WEIGHTS])
    limits = [
        *(log(level.evidence) for level in LEVELS), CHANGE_THRESHOLD, 3 * log(ratios.max())
    ]  # fmt: skip
    return (
        np.array(rising), np.array(falling), weights, np.ascontiguousarray(ratios.T),
        np.log(ratios), np.array(limits), np.log(ratios).max(axis=1),
        np.array(CONCENTRATIONS, np.float64),
    )  # fmt: skip


def load_words(excess: float, *, opposite: bool) -> int:
    """Return the number of words that load a die: a face comes `excess` x 1/6 more often.

    If the other faces share the loss, any of them is replaced with a probability of excess / 5; if
    the opposite face bears it, that face is replaced with a probability of `excess`.
    """
    return round(LOADING_RANGE * (excess if opposite else excess / 5))
