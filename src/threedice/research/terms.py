"""Terms of an environment: limits, bankroll and length, in chips of one value.

The table has one kind of chip, and every amount of an environment is a number of these chips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.rulebook import Game, load
from threedice.table.limits import check_limits, uniform_limits

if TYPE_CHECKING:
    from threedice.table.limits import TableLimits

CHIP: Final = 1
"""The value of the only chip."""
MAX_BANKROLL: Final = 10**9
"""The largest initial bankroll, in chips."""
MAX_STAKE: Final = 10**7
"""The largest maximum of a box, in chips."""
MAX_ROUNDS: Final = 10**9
MAX_WEALTH: Final = 2**62
"""An upper bound of what a player can hold, for the observation spaces."""


@dataclass(frozen=True, slots=True)
class TableTerms:
    """A game, the limits of its table, the initial bankroll of a player, and the rounds to play."""

    game: Game
    limits: TableLimits
    minimum: int
    maximum: int
    differential: int
    bankroll: int
    rounds: int


def table_terms(
    game: Game | str,
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    differential: int | None = None,
    bankroll: int | None = None,
    rounds: int = 200,
) -> TableTerms:
    """Return checked terms; the defaults are limits of 1 to 100 and a bankroll of 1,000 chips.

    A game with odds such as 19 to 20 is paid exactly only in multiples of its unit, so its defaults
    are multiples of that. `game` is a Game, the name of a shipped one, or a user's file.
    """
    loaded = load(game) if isinstance(game, str) else game
    lowest = loaded.unit if minimum is None else minimum
    highest = max(100 * loaded.unit, lowest) if maximum is None else maximum
    chips = 1000 * loaded.unit if bankroll is None else bankroll
    if differential is not None and loaded.facts.limits.differential is None:
        raise InvalidInput(f"{loaded.id} has no differential; leave it out")
    limits = uniform_limits(loaded, lowest, highest, differential)
    check_limits(limits, loaded, [CHIP])
    if not lowest <= chips <= MAX_BANKROLL:
        raise InvalidInput(
            f"a bankroll of {chips}; give at least the minimum of {lowest}, and 10^9 at most"
        )
    if highest > MAX_STAKE:
        raise InvalidInput(f"a maximum of {highest}; give 10^7 at most")
    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInput(f"{rounds} rounds; give a whole number from 1 to 10^9")
    permitted_difference = highest if differential is None else differential
    return TableTerms(loaded, limits, lowest, highest, permitted_difference, chips, rounds)
