"""Write simulated rounds to Parquet, round by round, with the totals of the simulation.

Flat bets: the simulator draws how often each roll falls in a block of rounds. A history puts the
rolls of a block into a random order, which given these numbers is how independent rolls are
distributed. Sessions: the kernel's own functions play them again, from the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from threedice.dice import ROLLS
from threedice.errors import InvariantBroken
from threedice.odds.stakes import Mix
from threedice.research.parquet_files import describe_schema, new_path, open_writer
from threedice.sim.jobs import FlatJob, SessionJob, generator_key
from threedice.sim.kernels.compiler import compile_checked, recording_kernel
from threedice.sim.kernels.plans import own_plan_move
from threedice.sim.kernels.roll_counts import ROUNDS_PER_BLOCK, draw_roll_counts
from threedice.sim.simulation import flat_job, session_job
from threedice.sim.studies import FlatStudy, SessionStudy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from threedice.rulebook import Game

ROWS_PER_GROUP: Final = 2**20
"""The most rows of a row group."""
_ORDER_KEY: Final = 2**63
"""Separates the order of a block's rolls from the draws of the simulator."""

FLAT_FIELDS: Final = (
    ("round", pa.int64(), "the number of the round, from 1"),
    ("die1", pa.int8(), "the face number of the first die, 1 to 6"),
    ("die2", pa.int8(), "the face number of the second die"),
    ("die3", pa.int8(), "the face number of the third die"),
    ("net", pa.int64(), "the player's net result, in 1/unit of an amount"),
)
SESSION_FIELDS: Final = (
    ("session", pa.int64(), "the number of the session, from 1"),
    ("round", pa.int32(), "the number of the round in its session, from 1"),
    ("stake", pa.int64(), "the amount staked"),
    ("net", pa.int64(), "the player's net result"),
    ("bankroll", pa.int64(), "the bankroll after the round"),
)

Columns = tuple["NDArray[Any]", ...]


@dataclass(frozen=True, slots=True)
class HistoryTotals:
    """The sums of a history: rows, stakes and net results."""

    rows: int
    staked: int
    net: int


def write_flat_history(
    game: Game, bets: Mapping[str, int], file: Path, *, rounds: int, seed: int = 1
) -> HistoryTotals:
    """Write rounds with the same bets in each; the totals are those of `sim.flat_study`."""
    return write_history(flat_job(bets, game, rounds=rounds, seed=seed), game, bets, file)


def write_session_history(
    game: Game, file: Path, *, box: str | Mapping[str, int], **terms: Any
) -> HistoryTotals:
    """Write the rounds of sessions under a staking plan, with the arguments of `session_study`.

    The totals are those of the study of the same seed.
    """
    job = session_job(game, box=box, **terms)
    return write_history(job, game, {box: 1} if isinstance(box, str) else box, file)


def write_history(
    job: FlatJob | SessionJob,
    game: Game,
    bets: Mapping[str, int],
    file: Path,
    progress: Callable[[int], None] = lambda _: None,
) -> HistoryTotals:
    """Write the rounds of a job to a new file; `progress` receives the rounds or sessions done."""
    about: dict[str, Any] = {"game": game.id, "game_hash": game.hash, "bets": dict(bets)}
    if isinstance(job, FlatJob):
        mix = Mix(game, bets)
        about |= {"kind": "flat bets", "unit": game.unit, "rounds": job.rounds, "seed": job.seed}
        stake, fields, groups = mix.total, FLAT_FIELDS, _flat_groups(job, mix)
    else:
        terms = job.terms
        about |= {
            "kind": "sessions", "plan": terms.plan, "bankroll": terms.bankroll, "base": terms.base,
            "minimum": terms.minimum, "maximum": terms.maximum, "rounds": terms.rounds,
            "stop_loss": terms.stop_loss, "stop_win": terms.stop_win, "sessions": job.sessions,
            "seed": job.seed,
        }  # fmt: skip
        stake, fields, groups = None, SESSION_FIELDS, _session_groups(job)
    rows = staked = net = 0
    schema = describe_schema(fields, about)
    with new_path(file) as target, open_writer(target, schema) as writer:
        for done, columns in groups:
            named = dict(zip(schema.names, columns, strict=True))
            writer.write_table(pa.Table.from_pydict(named, schema=schema), ROWS_PER_GROUP)
            rows += len(columns[0])
            net += int(named["net"].sum())
            staked += len(columns[0]) * stake if stake else int(named["stake"].sum())
            progress(done)
    return HistoryTotals(rows, staked, net)


def check_history(totals: HistoryTotals, study: FlatStudy | SessionStudy) -> None:
    """Raise `InvariantBroken` unless a history has the totals of a study."""
    expected = study_totals(study)
    if totals != expected:
        raise InvariantBroken(f"the history has {totals}, the simulation {expected}")


def study_totals(study: FlatStudy | SessionStudy) -> HistoryTotals:
    """Return the totals that a history of a study has."""
    if isinstance(study, FlatStudy):
        net = int(study.net_result * study.game.unit)
        return HistoryTotals(study.rounds, study.rounds * study.mix.total, net)
    terms, sums = study.job.terms, study.sums
    net = sums.total("bank") * terms.grain - study.sessions * terms.bankroll
    return HistoryTotals(sums.total("played"), sums.total("staked") * terms.grain, net)


# --- flat bets ----------------------------------------------------------------------------------


def _flat_groups(job: FlatJob, mix: Mix) -> Iterator[tuple[int, Columns]]:
    """Yield a row group for each block of rounds."""
    nets, faces = np.array(mix.nets, np.int64), np.array(ROLLS, np.int8)
    for block in range(job.units):
        rolls = shuffled_rolls(job, block)
        first = block * ROUNDS_PER_BLOCK + 1
        numbers = np.arange(first, first + len(rolls), dtype=np.int64)
        yield first - 1 + len(rolls), (numbers, *faces[rolls].T, nets[rolls])


def shuffled_rolls(job: FlatJob, block: int) -> NDArray[np.uint8]:
    """Return the rolls of a block in the order of its rounds, as indices of `ROLLS`.

    The order is that of random 64-bit words, so it is the same with every version of numpy.
    """
    counts = draw_roll_counts(block, 1, job.rounds, generator_key(job.seed))
    rolls = np.repeat(np.arange(len(ROLLS), dtype=np.uint8), counts)
    key = np.array([job.seed, _ORDER_KEY + block], np.uint64)
    words = np.random.Philox(key=key).random_raw(len(rolls))
    return rolls[np.argsort(words, kind="stable")]


# --- sessions -----------------------------------------------------------------------------------


def _session_groups(job: SessionJob) -> Iterator[tuple[int, Columns]]:
    """Yield row groups of some sessions, with the rounds in which something was staked."""
    terms = job.terms
    rounds, grain = terms.rounds, terms.grain
    move = own_plan_move(job.own, compile_checked) if job.own else None
    kernel = recording_kernel(terms.kernel_spec, move)
    sessions_per_group = max(ROWS_PER_GROUP // rounds, 1)
    for first in range(0, job.sessions, sessions_per_group):
        count = min(sessions_per_group, job.sessions - first)
        stakes, banks = np.zeros((count, rounds), np.int32), np.zeros((count, rounds), np.int32)
        key, arguments = generator_key(job.seed), terms.kernel_arguments()
        kernel(np.uint64(first), count, key, *arguments, stakes, banks)
        initial = np.full((count, 1), terms.bankroll // grain, np.int32)
        nets = np.diff(banks, axis=1, prepend=initial)
        session, number = stakes.nonzero()
        columns = (each[session, number].astype(np.int64) * grain for each in (stakes, nets, banks))
        yield first + count, (session + first + 1, (number + 1).astype(np.int32), *columns)
