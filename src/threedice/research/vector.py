"""A vectorised Gymnasium environment: many tables with one player each, stepped by a kernel."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from threedice.dice import ROLLS
from threedice.errors import InvalidInput
from threedice.odds.limits import differential_pairs
from threedice.research.single import Observation, action_space, observation_space
from threedice.research.table_rounds import as_stakes
from threedice.research.terms import table_terms
from threedice.sim.kernels.one_player_tables import compiled_play_round
from threedice.sim.table_setup import step_nets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from threedice.research.terms import TableTerms
    from threedice.rulebook import Game

TABLES_PER_THREAD: Final = 1024
"""The number of tables from which a further thread pays."""
_FACES: Final = np.array(ROLLS, np.int64)


class BettingVectorEnv(VectorEnv[Observation, Any, Any]):
    """Many independent tables, each as `BettingEnv`, stepped together.

    Actions are an array of chips, one row for each table. A table that has terminated or was
    truncated starts a new episode in the next step, which ignores its action and has the reward 0
    (Gymnasium's autoreset mode "next step"). `info["staked"]` has the chips that each table played.

    >>> env = BettingVectorEnv("triple-dice", num_envs=2)
    >>> _ = env.reset(seed=7)
    >>> observation, rewards, _, _, info = env.step(np.ones((2, len(env.boxes)), np.int64))
    >>> info["staked"].tolist(), observation["shooter"].shape
    ([18, 18], (2, 2))
    """

    metadata: dict[str, Any] = {
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        game: Game | str,
        num_envs: int = 1,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        differential: int | None = None,
        bankroll: int | None = None,
        rounds: int = 200,
        threads: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Set up the tables; `threads` limits the threads, by default one for each processor."""
        if num_envs < 1:
            raise InvalidInput(f"{num_envs} tables; give at least one")
        if threads is not None and threads < 1:
            raise InvalidInput(f"{threads} threads; give at least one, or leave it out for all")
        if render_mode is not None:
            raise InvalidInput("a vectorised environment draws nothing; leave render_mode out")
        self.render_mode = None
        self.terms = table_terms(
            game, minimum=minimum, maximum=maximum, differential=differential, bankroll=bankroll,
            rounds=rounds,
        )  # fmt: skip
        self.num_envs = num_envs
        self.boxes = tuple(self.terms.game.boxes)
        self.single_observation_space = observation_space(self.terms)
        self.single_action_space = action_space(self.terms)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rules = _kernel_rules(self.terms)
        useful = min(threads or os.cpu_count() or 1, -(-num_envs // TABLES_PER_THREAD))
        self._slices = np.linspace(0, num_envs, useful + 1).astype(np.int64).tolist()
        self._pool = ThreadPoolExecutor(useful, "threedice-vector") if useful > 1 else None
        self._start_all()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode at every table; one seed determines all of them."""
        super().reset(seed=seed, options=options)
        self._start_all()
        return self._observe(), {}

    def _start_all(self) -> None:
        tables = self.num_envs
        self._bankrolls = np.full(tables, self.terms.bankroll, np.int64)
        self._series = np.zeros((tables, 3), np.int64)
        self._last_rolls = np.zeros((tables, 3), np.int64)
        self._rounds_left = np.full(tables, self.terms.rounds, np.int64)
        self._is_over = np.zeros(tables, np.bool_)

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Any]:
        """Place the stakes at every table, roll the dice and settle."""
        return self.play(actions, self.np_random.integers(len(ROLLS), size=self.num_envs))

    def play(
        self, actions: Any, rolls: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Any]:
        """Play a round in which the dice show `ROLLS[roll]` at each table; `step` draws them."""
        requests = as_stakes(actions, (self.num_envs, len(self.boxes)))
        starting = self._is_over.nonzero()[0]
        kept = (self._bankrolls[starting], self._series[starting])
        rewards, staked = np.empty(self.num_envs, np.int64), np.empty(self.num_envs, np.int64)
        self._play(requests, rolls, rewards, staked)
        self._rounds_left -= 1
        self._last_rolls = _FACES[rolls]
        if len(starting):
            self._bankrolls[starting], self._series[starting] = kept
            self._restart(starting)
            rewards[starting] = staked[starting] = 0
        ruined = (self._bankrolls < self.terms.minimum) & (self._series[:, 0] == 0)
        truncated = (self._rounds_left <= 0) & ~ruined
        self._is_over = ruined | truncated
        info = {"staked": staked}
        return self._observe(), rewards.astype(np.float64), ruined, truncated, info

    def _play(
        self,
        requests: NDArray[np.int64],
        rolls: NDArray[np.int64],
        rewards: NDArray[np.int64],
        staked: NDArray[np.int64],
    ) -> None:
        """Run the kernel on slices of the tables, in threads where that pays."""
        kernel = compiled_play_round()
        state = (self._bankrolls, self._series, rewards, staked)
        arguments = (requests, rolls, *self._rules, *state)
        ranges = list(zip(self._slices[:-1], self._slices[1:], strict=True))
        if self._pool is None:
            kernel(*ranges[0], *arguments)
            return
        tasks = [self._pool.submit(kernel, *each, *arguments) for each in ranges]
        for task in tasks:
            task.result()

    def _restart(self, tables: NDArray[np.int64]) -> None:
        self._bankrolls[tables] = self.terms.bankroll
        self._series[tables] = 0
        self._last_rolls[tables] = 0
        self._rounds_left[tables] = self.terms.rounds

    def _observe(self) -> Observation:
        observation = {
            "bankroll": self._bankrolls[:, None].copy(),
            "last_roll": self._last_rolls.copy(),
            "rounds_left": self._rounds_left[:, None].copy(),
        }
        if self.terms.game.facts.shooter:
            observation["shooter"] = self._series[:, :2].copy()
        return observation

    def close_extras(self, **_: Any) -> None:
        """Stop the threads."""
        if self._pool:
            self._pool.shutdown()


def _kernel_rules(terms: TableTerms) -> tuple[NDArray[np.int64], ...]:
    """Return the arguments of the kernel that never change: nets, boxes, order, pairs, terms."""
    game = terms.game
    names = list(game.boxes)
    pairs = dict(differential_pairs(game))
    opposites = pairs | {other: box for box, other in pairs.items()}
    boxes = [
        (box.unit, box.throws, names.index(opposites[name]) if name in opposites else -1)
        for name, box in game.boxes.items()
    ]
    nets = [step_nets(box) for box in game.boxes.values()]
    order = sorted(range(len(names)), key=lambda place: boxes[place][1] == 1)
    paired = [names.index(name) for name in opposites]
    shooter = game.facts.shooter
    bets_elsewhere = int(shooter is None or shooter.may_bet_elsewhere)
    limits = (terms.minimum, terms.maximum, terms.differential, bets_elsewhere)
    return (
        np.ascontiguousarray(np.array(nets, np.int64).T),
        *(np.array(each, np.int64) for each in (boxes, order, paired, limits)),
    )
