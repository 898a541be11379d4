"""A Gymnasium environment for one player with a bankroll at a table of any game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from threedice.dice import ROLLS
from threedice.research.table_rounds import TableRounds, requested_stakes
from threedice.research.terms import MAX_WEALTH, TableTerms, table_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from threedice.rulebook import Game

PLAYER: Final = "player"

Observation = dict[str, Any]


class BettingEnv(gymnasium.Env[Observation, Any]):
    """One player bets at an electronic table until the bankroll or the rounds are used up.

    An action is a vector of chips, one number for each box in the order of `boxes`. It is a
    request: the table takes as much of each stake, box by box and the shooter's bet first, as its
    limits and the player's chips allow, and nothing below the minimum. No action is an error;
    `info["placed"]` has the stakes that were taken, `info["returned"]` the chips that the
    differential gave back.

    The reward is the change of the player's chips, bets included. The episode terminates when the
    player cannot make the minimum bet and has none on the layout, and is truncated after `rounds`.

    >>> import gymnasium, threedice.research
    >>> env = gymnasium.make("Threedice/TaiSai-v6-a-v0", bankroll=100)
    >>> observation, info = env.reset(seed=1)
    >>> int(observation["bankroll"][0]), env.unwrapped.boxes[:3]
    (100, ('small', 'big', 'single:1'))
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        game: Game | str,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        differential: int | None = None,
        bankroll: int | None = None,
        rounds: int = 200,
        render_mode: str | None = None,
    ) -> None:
        """Set up a table; see `terms.table_terms` for the defaults. All amounts are in chips.

        `game` is a Game, its name, or the path of a user's own file, with "/layout" if it has
        several.
        """
        self.terms = table_terms(
            game, minimum=minimum, maximum=maximum, differential=differential, bankroll=bankroll,
            rounds=rounds,
        )  # fmt: skip
        self.render_mode = render_mode
        self.boxes = tuple(self.terms.game.boxes)
        self.observation_space = observation_space(self.terms)
        self.action_space = action_space(self.terms)
        self._rounds = TableRounds(self.terms, [PLAYER])
        self._rounds_left, self._last_roll = self.terms.rounds, NO_ROLL

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Open a new table with the initial bankroll."""
        super().reset(seed=seed, options=options)
        self._rounds = TableRounds(self.terms, [PLAYER])
        self._rounds_left, self._last_roll = self.terms.rounds, NO_ROLL
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place the stakes, roll the dice and settle."""
        return self.play(action, int(self.np_random.integers(len(ROLLS))))

    def play(self, action: Any, roll: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play a round in which the dice show `ROLLS[roll]`; `step` draws it."""
        rounds = self._rounds
        stakes = requested_stakes(self.boxes, action)
        before = rounds.wealth(PLAYER)
        rounds.open(rounds.choose_shooter([PLAYER], {PLAYER: stakes}))
        placed = rounds.place(PLAYER, stakes)
        rounds.roll(roll)
        self._rounds_left -= 1
        self._last_roll = ROLLS[roll]
        info = {"placed": placed, "returned": rounds.returned(PLAYER)}
        ruined = rounds.is_ruined(PLAYER)
        is_over = not ruined and self._rounds_left <= 0
        return self._observe(), float(rounds.wealth(PLAYER) - before), ruined, is_over, info

    def render(self) -> str | None:
        """Return the state in one line, in the render mode "ansi"."""
        if self.render_mode != "ansi":
            return None
        game = self.terms.game
        call = game.call(self._last_roll) if self._last_roll != NO_ROLL else "no roll yet"
        return f"{game.id}: {call}; {self._rounds.wealth(PLAYER)} chips"

    def _observe(self) -> Observation:
        return observe(self._rounds, PLAYER, self._last_roll, self._rounds_left)


NO_ROLL: Final = (0, 0, 0)
"""The last roll before the first round."""


def action_space(terms: TableTerms) -> spaces.MultiDiscrete:
    """Return the space of stakes: chips on each box, up to its maximum."""
    return spaces.MultiDiscrete([terms.maximum + 1] * len(terms.game.boxes))


def observation_space(terms: TableTerms) -> spaces.Dict:
    """Return the space of a player's observations.

    `bankroll` is without the chips on the layout. Where the game has a shooter, `shooter` holds the
    player's own bet that is locked, and the throws that the current series has won; a new series
    begins at 0 throws.
    """
    parts: dict[str, spaces.Space[Any]] = {
        "bankroll": spaces.Box(0, MAX_WEALTH, (1,), np.int64),
        "last_roll": spaces.Box(0, 6, (3,), np.int64),
        "rounds_left": spaces.Box(0, terms.rounds, (1,), np.int64),
    }
    if terms.game.facts.shooter:
        parts["shooter"] = spaces.Box(0, MAX_WEALTH, (2,), np.int64)
    return spaces.Dict(parts)


def observe(
    rounds: TableRounds, player: str, last_roll: tuple[int, int, int], rounds_left: int
) -> Observation:
    """Return a player's observation of the table between two rounds."""
    observation = {
        "bankroll": _array(rounds.stack(player)),
        "last_roll": _array(*last_roll),
        "rounds_left": _array(rounds_left),
    }
    if rounds.shooter_box:
        observation["shooter"] = _array(rounds.shooter_stake(player), rounds.throws)
    return observation


def _array(*numbers: int) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)
