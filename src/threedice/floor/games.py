"""The games that tables are played on: those installed, and those that some round has pinned."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from threedice.errors import InvariantBroken, Tampered, ThreediceError
from threedice.rulebook import Game
from threedice.rulebook import load as load_game
from threedice.rulebook.game import from_canonical

if TYPE_CHECKING:
    from threedice.log.store import Store


class Games:
    """Finds a game by its hash: as it is installed if it is still the same, else as it was stored.

    An installed game knows labels and the felt besides; what decides is in both alike.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Game] = {}

    def get(self, game_hash: str) -> Game | None:
        """Return a game that has been asked for before."""
        return self._known.get(game_hash)

    def installed(self, name: str, readings: dict[str, str]) -> Game:
        """Return a game as it is installed, under some readings."""
        game = load_game(name, readings)
        return self._known.setdefault(game.hash, game)

    def pinned(self, game_hash: str) -> Game:
        """Return the game that a hash stands for, from its stored bytes if need be."""
        if game_hash not in self._known:
            canonical = self.store.game(game_hash)
            if canonical is None:
                raise InvariantBroken(f"the store has no game {game_hash}")
            if sha256(canonical).hexdigest() != game_hash:
                raise Tampered(f"game {game_hash}", "its bytes do not have that hash")
            self._known[game_hash] = _with_labels(from_canonical(canonical))
        return self._known[game_hash]


def _with_labels(stored: Game) -> Game:
    """Return the installed game that a stored one is the same as, or the stored one."""
    try:
        game = load_game(stored.id, stored.readings)
    except ThreediceError:
        return stored
    return game if game.hash == stored.hash else stored
