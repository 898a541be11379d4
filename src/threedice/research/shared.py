"""A PettingZoo environment for several players at one table, under shared limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from threedice.dice import ROLLS
from threedice.errors import InvalidInput
from threedice.research.single import (
    NO_ROLL,
    Observation,
    action_space,
    observation_space,
    observe,
)
from threedice.research.table_rounds import TableRounds, requested_stakes
from threedice.research.terms import MAX_WEALTH, table_terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game
    from threedice.table.limits import LimitMode

MAX_PLAYERS: Final = 50

StepResult = tuple[
    dict[str, Observation],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]
"""Observations, rewards, terminations, truncations and infos, each by player."""


class SharedTableEnv(ParallelEnv[str, Observation, Any]):  # type: ignore[misc]  # PettingZoo has no types
    """Several players bet at the same table; limits and settlement are those of the rulebook.

    Actions, rewards and the end of a player's episode are those of `BettingEnv`; the observation
    adds `stacks`, the chips of all players by seat.

    With the mode "record" chips lie as they were put down, all at once; where the rulebook says so,
    stakes in a box over its shared maximum or over the differential are apportioned pro rata. With
    the mode "refuse", as at an electronic table, players bet one after another and get the room
    that is left, and the close rejects what exceeds the differential; the first to bet moves on by
    one seat in every round. Of a game with a shooter, the dice go to the first player in that order
    who bets on the shooter's box, or else to a stand-in.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "threedice_shared_table_v0", "render_modes": []}

    def __init__(
        self,
        game: Game | str,
        players: int = 3,
        *,
        mode: LimitMode = "record",
        minimum: int | None = None,
        maximum: int | None = None,
        differential: int | None = None,
        bankroll: int | None = None,
        rounds: int = 200,
    ) -> None:
        """Set up a table for `player_0`, `player_1`, ...; amounts are in chips."""
        if not 1 <= players <= MAX_PLAYERS:
            raise InvalidInput(f"{players} players; give a number from 1 to {MAX_PLAYERS}")
        if mode not in ("record", "refuse"):
            raise InvalidInput(f"there is no mode {mode!r}; choose record or refuse")
        self.terms = table_terms(
            game, minimum=minimum, maximum=maximum, differential=differential, bankroll=bankroll,
            rounds=rounds,
        )  # fmt: skip
        self.mode: LimitMode = mode
        self.boxes = tuple(self.terms.game.boxes)
        self.possible_agents = [f"player_{number}" for number in range(players)]
        self.agents: list[str] = []
        self.render_mode = None
        stacks = spaces.Box(0, MAX_WEALTH, (players,), np.int64)
        self._observation_spaces = {
            agent: spaces.Dict({**observation_space(self.terms), "stacks": stacks})
            for agent in self.possible_agents
        }
        self._action_spaces = {agent: action_space(self.terms) for agent in self.possible_agents}
        self._rng, _ = seeding.np_random()

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of a player's observations."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.MultiDiscrete:
        """Return the space of a player's stakes."""
        return self._action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Open a new table, at which every player has the initial bankroll."""
        if seed is not None:
            self._rng, _ = seeding.np_random(seed)
        self.agents = list(self.possible_agents)
        self._rounds = TableRounds(self.terms, self.agents, self.mode)
        self._rounds_played, self._last_roll = 0, NO_ROLL
        return self._observe(), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> StepResult:
        """Place the stakes of all players, roll the dice and settle."""
        return self.play(actions, int(self._rng.integers(len(ROLLS))))

    def play(self, actions: Mapping[str, Any], roll: int) -> StepResult:
        """Play a round in which the dice show `ROLLS[roll]`; `step` draws it."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        rounds, agents = self._rounds, self.agents
        stakes = {
            agent: requested_stakes(self.boxes, actions[agent]) if agent in actions else {}
            for agent in agents
        }
        first = self._rounds_played % len(agents)
        order = agents[first:] + agents[:first]
        before = {agent: rounds.wealth(agent) for agent in agents}
        rounds.open(rounds.choose_shooter(order, stakes))
        placed = {agent: rounds.place(agent, stakes[agent]) for agent in order}
        rounds.roll(roll)
        self._rounds_played += 1
        self._last_roll = ROLLS[roll]
        rewards = {agent: float(rounds.wealth(agent) - before[agent]) for agent in agents}
        is_last = self._rounds_played >= self.terms.rounds
        ruined = {agent: rounds.is_ruined(agent) for agent in agents}
        truncated = {agent: is_last and not ruined[agent] for agent in agents}
        infos = {
            agent: {"placed": placed[agent], "returned": rounds.returned(agent)} for agent in agents
        }
        observations = self._observe()
        self.agents = [agent for agent in agents if not ruined[agent] and not truncated[agent]]
        return observations, rewards, ruined, truncated, infos

    def render(self) -> None:
        """Draw nothing: the environment has no render mode."""

    def _observe(self) -> dict[str, Observation]:
        rounds, left = self._rounds, self.terms.rounds - self._rounds_played
        stacks = np.array([rounds.stack(agent) for agent in self.possible_agents], np.int64)
        return {
            agent: observe(rounds, agent, self._last_roll, left) | {"stacks": stacks.copy()}
            for agent in self.agents
        }
