"""Simulated histories as Parquet: totals of the simulation, schema, complete files only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyarrow import parquet

from threedice import __version__
from threedice.errors import InvalidInput, InvariantBroken
from threedice.research import histories, write_flat_history, write_session_history
from threedice.research.histories import HistoryTotals, check_history, study_totals
from threedice.research.parquet_files import read_description
from threedice.rulebook import load
from threedice.sim import flat_study, session_study
from threedice.sim.kernels.roll_counts import ROUNDS_PER_BLOCK
from threedice.sim.simulation import flat_job
from threedice.version import build_id

if TYPE_CHECKING:
    from pathlib import Path

GAME = load("sg-rws-tai-sai-v6/a")
BETS = {"big": 10, "total:10": 5}
SESSION: dict[str, Any] = {
    "box": "big", "bankroll": 1000, "base": 10, "maximum": 500, "rounds": 50, "sessions": 300,
    "seed": 8,
}  # fmt: skip


def read(file: Path) -> dict[str, Any]:
    """Return the columns of a file as arrays."""
    table = parquet.read_table(file)
    return {name: table[name].to_numpy() for name in table.column_names}


def test_rolls_of_a_flat_history_are_those_that_the_simulator_counts(tmp_path: Path) -> None:
    rounds = ROUNDS_PER_BLOCK + 1000

    totals = write_flat_history(GAME, BETS, tmp_path / "flat.parquet", rounds=rounds, seed=5)

    columns = read(tmp_path / "flat.parquet")
    study = flat_study(GAME, BETS, rounds=rounds, seed=5)
    faces = np.stack([columns["die1"], columns["die2"], columns["die3"]], axis=1).astype(int) - 1
    indices = faces @ [36, 6, 1]
    assert np.bincount(indices, minlength=216).tolist() == list(study.roll_counts)
    assert columns["round"].tolist() == list(range(1, rounds + 1))
    assert columns["net"].tolist() == [study.mix.nets[index] for index in indices]
    assert columns["net"].sum() == study.net_result == totals.net
    assert totals == study_totals(study)
    assert parquet.ParquetFile(tmp_path / "flat.parquet").num_row_groups == 2


def test_rounds_of_a_flat_history_are_in_random_order(tmp_path: Path) -> None:
    write_flat_history(GAME, {"big": 1}, tmp_path / "flat.parquet", rounds=100_000, seed=2)

    net = read(tmp_path / "flat.parquet")["net"]

    edge, deviation = 1 / 36, 1.0
    for part in np.split(net, 100):  # the parts would differ if rolls stood in order
        assert abs(part.mean() + edge) < 4.5 * deviation / np.sqrt(len(part))
    repeats = float((net[1:] == net[:-1]).mean())
    expected = (105 / 216) ** 2 + (111 / 216) ** 2
    assert abs(repeats - expected) < 4.5 * 0.5 / np.sqrt(len(net))


def test_same_seed_gives_the_same_history(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        write_flat_history(GAME, BETS, tmp_path / name, rounds=500, seed=seed)

    one, same, other = (read(tmp_path / name)["net"].tolist() for name in ("one", "same", "other"))
    assert one == same != other


@pytest.mark.parametrize("plan", ["martingale", "labouchere"])
def test_rounds_of_sessions_add_up_to_the_study(plan: str, tmp_path: Path) -> None:
    totals = write_session_history(GAME, tmp_path / "sessions", plan=plan, **SESSION)

    columns = read(tmp_path / "sessions")
    study = session_study(GAME, plan=plan, **SESSION)
    last = np.flatnonzero(np.diff(columns["session"], append=0))
    finals = sorted(columns["bankroll"][last].tolist())
    assert totals == study_totals(study)
    assert columns["stake"].sum() == totals.staked
    assert columns["net"].sum() == totals.net
    assert [low for low, _, times in study.final_bankrolls for _ in range(times)] == finals


def test_session_of_a_history_follows_its_plan(tmp_path: Path) -> None:
    write_session_history(GAME, tmp_path / "sessions", plan="martingale", **SESSION)

    columns = read(tmp_path / "sessions")
    first = columns["session"] == 1
    bankroll, due = 1000, 10
    for stake, net, after in zip(
        *(columns[name][first].tolist() for name in ("stake", "net", "bankroll")), strict=True
    ):
        bankroll += net
        assert (stake, abs(net), after) == (min(due, bankroll - net, 500), stake, bankroll)
        due = 10 if net > 0 else min(due * 2, 500)


def test_sessions_are_written_in_groups_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = SESSION | {"plan": "martingale"}
    write_session_history(GAME, tmp_path / "one", **terms)
    monkeypatch.setattr(histories, "ROWS_PER_GROUP", 1000)
    write_session_history(GAME, tmp_path / "many", **terms)

    assert parquet.ParquetFile(tmp_path / "many").num_row_groups >= 300 * 50 // 1000
    assert parquet.read_table(tmp_path / "one") == parquet.read_table(tmp_path / "many")


def test_file_describes_its_columns_and_its_simulation(tmp_path: Path) -> None:
    write_flat_history(GAME, BETS, tmp_path / "flat", rounds=10, seed=5)

    schema = parquet.read_schema(tmp_path / "flat")
    described = read_description(tmp_path / "flat")
    assert all(field.metadata[b"description"] for field in schema)
    assert described["game"] == GAME.id
    assert described["game_hash"] == GAME.hash
    assert (described["bets"], described["rounds"], described["seed"]) == (BETS, 10, 5)
    assert (described["version"], described["build"]) == (__version__, build_id())


def test_file_that_exists_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "flat").write_text("mine", encoding="utf-8")

    with pytest.raises(InvalidInput, match="exists already; name a new one"):
        write_flat_history(GAME, BETS, tmp_path / "flat", rounds=10)
    assert (tmp_path / "flat").read_text(encoding="utf-8") == "mine"


def test_file_in_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot write .*: No such file or directory"):
        write_flat_history(GAME, BETS, tmp_path / "none" / "flat", rounds=10)


def test_interrupted_history_leaves_nothing_behind(tmp_path: Path) -> None:
    job = flat_job(BETS, GAME, rounds=10)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        histories.write_history(job, GAME, BETS, tmp_path / "flat", interrupt)
    assert list(tmp_path.iterdir()) == []


def test_history_with_other_totals_than_the_simulation_is_a_defect() -> None:
    study = flat_study(GAME, BETS, rounds=10)

    check_history(study_totals(study), study)
    with pytest.raises(InvariantBroken, match="the history has"):
        check_history(HistoryTotals(10, 150, 1), study)
