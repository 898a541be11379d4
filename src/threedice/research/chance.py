"""Rounds as a game tree with explicit chance nodes, in the manner of OpenSpiel.

Players place bets in turn, one action after another, then the dice are a chance node with the 216
rolls, each of probability 1/216. A shooter's bet leads through as many chance nodes as it takes
throws. OpenSpiel itself is not needed; the method names are those of its Python states.

>>> tree = BettingGame("triple-dice", stakes=(1,))
>>> state = tree.new_initial_state()
>>> state.apply_action(tree.bet_action("shooter", 1))
>>> state.apply_action(DONE)
>>> state.is_chance_node(), sum(chance for _, chance in state.chance_outcomes())
(True, Fraction(1, 1))
>>> (expected,) = expected_returns(state)
>>> str(-expected) == str(1 - 10 * Fraction(91, 216) ** 4)
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from threedice.dice import ROLLS
from threedice.errors import InvalidInput, Refusal
from threedice.research.table_rounds import TableRounds
from threedice.research.terms import table_terms
from threedice.table import commands, decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.rulebook import Game

CHANCE_PLAYER: Final = -1
TERMINAL_PLAYER: Final = -4
"""The players of chance nodes and of terminal states, numbered as in OpenSpiel."""
DONE: Final = 0
"""The action with which a player ends their turn."""
_CHANCE: Final = Fraction(1, len(ROLLS))

Policy = Callable[["BettingState"], Mapping[int, Fraction]]
"""A function from a player's decision to the probabilities of actions, which sum to 1."""


class BettingGame:
    """The game tree of some rounds at an electronic table.

    In a turn, a player bets one of the `stakes` on a box or passes it over, in the order of the
    layout, and ends the turn with the action `DONE`; so each set of bets is reached in one way.
    """

    def __init__(
        self,
        game: Game | str,
        players: int = 1,
        *,
        stakes: Sequence[int] = (),
        minimum: int | None = None,
        maximum: int | None = None,
        differential: int | None = None,
        bankroll: int | None = None,
        rounds: int = 1,
    ) -> None:
        """Set up the tree; `stakes` are the amounts of a bet in chips, by default the minimum."""
        self.terms = table_terms(
            game, minimum=minimum, maximum=maximum, differential=differential, bankroll=bankroll,
            rounds=rounds,
        )  # fmt: skip
        if players < 1:
            raise InvalidInput(f"{players} players; give at least one")
        self.players = tuple(f"player_{number}" for number in range(players))
        self.stakes = tuple(stakes) or (self.terms.minimum,)
        if min(self.stakes) < 1 or len(set(self.stakes)) < len(self.stakes):
            raise InvalidInput(f"stakes {self.stakes}; give different numbers of chips above zero")
        self.boxes = tuple(self.terms.game.boxes)

    def new_initial_state(self) -> BettingState:
        """Return the state before the first bet."""
        return BettingState(self)

    def num_players(self) -> int:
        """Return the number of players."""
        return len(self.players)

    def num_distinct_actions(self) -> int:
        """Return the number of actions of a player."""
        return 1 + len(self.boxes) * len(self.stakes)

    def max_chance_outcomes(self) -> int:
        """Return the number of outcomes of a chance node."""
        return len(ROLLS)

    def bet_action(self, box: str, stake: int) -> int:
        """Return the action that bets a stake on a box."""
        if stake not in self.stakes:
            raise InvalidInput(f"a stake of {stake}; choose from {self.stakes}")
        place = self.boxes.index(self.terms.game.box(box).id)
        return 1 + place * len(self.stakes) + self.stakes.index(stake)

    def bet_of(self, action: int) -> tuple[str, int]:
        """Return the box and the stake of an action other than `DONE`."""
        place, size = divmod(action - 1, len(self.stakes))
        return self.boxes[place], self.stakes[size]


class BettingState:
    """A node of the tree; `apply_action` changes it, `child` returns the next one."""

    def __init__(self, tree: BettingGame) -> None:
        self._tree = tree
        self._rounds = TableRounds(tree.terms, tree.players)
        self._rounds_played = 0
        self._history: list[int] = []
        self._begin_round()

    def get_game(self) -> BettingGame:
        """Return the game of this state."""
        return self._tree

    def clone(self) -> BettingState:
        """Return an independent copy."""
        twin = copy(self)
        twin._rounds, twin._history = self._rounds.clone(), list(self._history)
        return twin

    def history(self) -> list[int]:
        """Return the actions and the outcomes that led here."""
        return list(self._history)

    # --- whose turn it is -----------------------------------------------------------------------

    def current_player(self) -> int:
        """Return the number of the player to act, `CHANCE_PLAYER` or `TERMINAL_PLAYER`."""
        if self.is_terminal():
            return TERMINAL_PLAYER
        return CHANCE_PLAYER if self.is_chance_node() else self._turn

    def is_chance_node(self) -> bool:
        """Return whether the dice are rolled next."""
        return self._turn == len(self._tree.players)

    def is_terminal(self) -> bool:
        """Return whether all rounds are played and no player's bet is undecided."""
        return self._turn > len(self._tree.players)

    # --- actions --------------------------------------------------------------------------------

    def legal_actions(self) -> list[int]:
        """Return the actions of the player to act, or the outcomes of a chance node.

        A bet is legal if the table accepts it, by the same decision as in a house.
        """
        if self.is_terminal():
            return []
        if self.is_chance_node():
            return list(range(len(ROLLS)))
        sizes = len(self._tree.stakes)
        boxes_passed = -(-self._last_bet // sizes)  # those before the last bet, and its own
        bets = range(1 + boxes_passed * sizes, self._tree.num_distinct_actions())
        return [DONE, *(action for action in bets if self._is_accepted(action))]

    def _is_accepted(self, action: int) -> bool:
        box, stake = self._tree.bet_of(action)
        player, table = self._tree.players[self._turn], self._rounds.table
        shooter = table.state.shooter
        role: Any = "shooter" if shooter and shooter.player == player else "player"
        by = commands.Actor(id=player, role=role)
        try:
            decide(
                table.game,
                table.state,
                commands.PlaceBet(by=by, player=player, box=box, amount=stake),
            )
        except Refusal:
            return False
        return True

    def chance_outcomes(self) -> list[tuple[int, Fraction]]:
        """Return the outcomes of a chance node, indices of `ROLLS`, with exact probabilities."""
        if not self.is_chance_node():
            raise InvalidInput("this is not a chance node; apply an action of the player first")
        return [(outcome, _CHANCE) for outcome in range(len(ROLLS))]

    def apply_action(self, action: int) -> None:
        """Apply an action of the player to act, or an outcome of a chance node."""
        if action not in self._possible_actions():
            raise InvalidInput(f"{action} is not a legal action here; see legal_actions()")
        self._history.append(action)
        if self.is_chance_node():
            self._settle(action)
        elif action == DONE:
            self._end_turn()
        else:
            box, stake = self._tree.bet_of(action)
            self._rounds.table.bet(self._tree.players[self._turn], box, stake)
            self._last_bet = action

    def _possible_actions(self) -> Sequence[int]:
        """Return the legal actions; those of a chance node without building a list."""
        if self.is_chance_node():
            return range(len(ROLLS))
        return self.legal_actions()

    def child(self, action: int) -> BettingState:
        """Return the state after an action, and leave this one as it is."""
        child = self.clone()
        child.apply_action(action)
        return child

    def action_to_string(self, action: int) -> str:
        """Return an action, or an outcome, in words."""
        if self.is_chance_node():
            return self._tree.terms.game.call(ROLLS[action])
        if action == DONE:
            return "done"
        box, stake = self._tree.bet_of(action)
        return f"{stake} on {box}"

    def returns(self) -> list[int]:
        """Return each player's net result so far, in chips; undecided bets count as theirs."""
        bankroll = self._tree.terms.bankroll
        return [self._rounds.wealth(player) - bankroll for player in self._tree.players]

    def key(self) -> tuple[Any, ...]:
        """Return what the future depends on: states with equal keys have equal subtrees."""
        state = self._rounds.table.state
        shooter = state.shooter
        bets = tuple(
            (spot, player, bet.total)
            for spot, by_player in (state.round.bets if state.round else {}).items()
            for player, bet in by_player.items()
        )
        stacks = tuple(self._rounds.stack(player) for player in self._tree.players)
        throwing = (shooter.player, shooter.stake, shooter.throws) if shooter else ()
        return self._turn, self._rounds_played, self._last_bet, stacks, bets, throwing

    def __str__(self) -> str:
        game, bets = self._tree.terms.game, self._rounds.table.bets
        return f"{game.id}, {len(self._history)} actions, bets {bets}, returns {self.returns()}"

    # --- the round ------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        self._rounds.open(self._tree.players[0])
        self._turn, self._last_bet = 0, 0

    def _end_turn(self) -> None:
        """Pass the turn, and the dice if nobody has bet on them yet, to the next player."""
        self._turn, self._last_bet = self._turn + 1, 0
        is_free = self._rounds.shooter_box and not self._rounds.has_shooter_bet
        if is_free and self._turn < len(self._tree.players):
            self._rounds.offer_dice(self._tree.players[self._turn])

    def _settle(self, outcome: int) -> None:
        rounds, players = self._rounds, self._tree.players
        rounds.roll(outcome)
        self._rounds_played += 1
        if self._rounds_played < self._tree.terms.rounds:
            self._begin_round()
        elif any(rounds.shooter_stake(player) for player in players):
            rounds.open()
            self._turn = len(players)
        else:
            self._turn = len(players) + 1


def expected_returns(state: BettingState, policy: Policy | None = None) -> tuple[Fraction, ...]:
    """Return each player's exact expected return, under a policy for the players' decisions.

    Without a policy every player ends the turn. States with equal keys are computed once.
    """
    memo: dict[tuple[Any, ...], tuple[Fraction, ...]] = {}

    def value(node: BettingState) -> tuple[Fraction, ...]:
        key = node.key()
        if key not in memo:
            memo[key] = compute(node)
        return memo[key]

    def compute(node: BettingState) -> tuple[Fraction, ...]:
        if node.is_terminal():
            return tuple(map(Fraction, node.returns()))
        if node.is_chance_node():
            chances = node.chance_outcomes()
        else:
            chances = list((policy(node) if policy else {DONE: Fraction(1)}).items())
        if sum(chance for _, chance in chances) != 1:
            raise InvalidInput(f"the probabilities of {dict(chances)} do not sum to 1")
        totals = [Fraction(0)] * state.get_game().num_players()
        for action, chance in chances:
            for number, expected in enumerate(value(node.child(action))):
                totals[number] += chance * expected
        return tuple(totals)

    return value(state)
