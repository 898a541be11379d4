"""Register an environment for every shipped game with Gymnasium.

An id is made from the rulebook: the words of its title, its version and the layout, as in
`Threedice/TaiSai-v6-a-v0`. The last part is the version of the environment.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final
from unicodedata import normalize

import gymnasium

from threedice.rulebook import load_rulebook, shipped_games
from threedice.rulebook.library import split_game_name

ENVIRONMENT_VERSION: Final = 0
_SINGLE: Final = "threedice.research.single:BettingEnv"
_VECTOR: Final = "threedice.research.vector:BettingVectorEnv"


def environment_id(title: str, version: str, layout: str) -> str:
    """Return the id of the environment of a rulebook's layout.

    Accents are left out, so that it can be typed on any keyboard.

    >>> environment_id("Tai Sai", "6", "a"), environment_id("Bầu Cua (Hue)", "1", "board")
    ('Threedice/TaiSai-v6-a-v0', 'Threedice/BauCuaHue-v1-board-v0')
    """
    ascii_title = normalize("NFKD", title).encode("ascii", "ignore").decode()
    name = "".join(word[0].upper() + word[1:] for word in re.findall(r"\w+", ascii_title))
    parts = (re.sub(r"[^\w.]+", "-", part) for part in (f"v{version}", layout))
    return f"Threedice/{'-'.join((name, *parts))}-v{ENVIRONMENT_VERSION}"


@cache
def environment_ids() -> dict[str, str]:
    """Return the id of the environment of every shipped game, by the game's name."""
    ids = {}
    for name in shipped_games():
        book_id, layout = split_game_name(name)
        book = load_rulebook(book_id).book
        ids[name] = environment_id(book.title, book.version, layout or "")
    return ids


def register_environments() -> None:
    """Register the environments of all shipped games; a second call changes nothing."""
    for game, env_id in environment_ids().items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, _SINGLE, vector_entry_point=_VECTOR, kwargs={"game": game})
