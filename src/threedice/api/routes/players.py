"""Names and card numbers of players, at a table and in a search.

A player's name is the one that the house has recorded, or the sign-in name of their account. A
guest has no account: the house knows them by a number at one table only. Names are stored outside
the log, so an erased name is gone from these answers too.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from litestar import get
from litestar.params import QueryParameter

from threedice.api.context import Context, CurrentCaller
from threedice.api.http.requests import PlayerId, TableId
from threedice.api.routes.tables import load_table, require_audience
from threedice.house.persons import load_names
from threedice.identity.accounts import fold_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.table.state import TableState

MAX_FOUND: Final = 8
"""Maximum number of players that a search returns."""

MIN_CARD_CHARACTERS: Final = 4
"""Minimum number of characters of a card number that a search finds."""

_GUEST_ID: Final = re.compile(r"guest-([1-9][0-9]{0,5})-[0-9a-f]{12}")
_RANDOM_ID: Final = re.compile(r"[0-9a-f]{20}")

SearchText = Annotated[str, QueryParameter(pattern=r"^\S.{0,62}\S\Z")]
"""2 to 64 characters, without spaces at the ends."""

OptionalRound = Annotated[int | None, QueryParameter(ge=1, le=2**53)]


class PlayerLine(msgspec.Struct, frozen=True):
    """A player as staff know them.

    `name` and `card` are empty for a player without an account and without a recorded name; `guest`
    is the number of a guest, `seat` the number of the player's seat at the table. Both may be 0.
    """

    player: str
    name: str = ""
    card: str = ""
    guest: int = 0
    seat: int = 0


class TablePlayers(msgspec.Struct, frozen=True):
    """The players of a table, by seat; those without a seat come last.

    `next_guest` is a new guest with the lowest number that no guest at the table has. It is None
    for players, who see themselves only, and if the players of a round are listed.
    """

    players: list[PlayerLine]
    next_guest: PlayerLine | None = None


@get("/api/tables/{table:str}/players", name="list-players")
async def list_players(
    context: Context, caller: CurrentCaller, table: TableId, of_round: OptionalRound = None
) -> TablePlayers:
    """List the players with a seat or a debt at a table, or those with bets in a settled round."""
    audience, player = require_audience(caller, table)
    house_table, _, _ = await load_table(context, table)
    state, is_staff = house_table.table, audience == "staff"
    ids = [each for each in _players_at(state, of_round) if is_staff or each == player]
    people = await context.run_blocking(_load_people, context, ids)
    seats = {each: state.seats[each].number if each in state.seats else 0 for each in ids}
    lines = [msgspec.structs.replace(people.line(each), seat=seats[each]) for each in ids]
    lines.sort(key=lambda line: (not line.seat, line.seat))
    return TablePlayers(
        lines, _next_guest(context, lines) if is_staff and of_round is None else None
    )


@get("/api/players", name="find-players")
async def find_players(
    context: Context, caller: CurrentCaller, search: SearchText
) -> list[PlayerLine]:
    """Find players who may sign in by a part of their name or by their card number, at most 8."""
    return await context.queries.run(caller.account.id, _search, context, search)


@get("/api/players/{player:str}", name="show-player")
async def show_player(context: Context, player: PlayerId) -> PlayerLine:
    """Show the name and card number of a player; both are empty if nothing is known."""
    return (await context.run_blocking(_load_people, context, [player])).line(player)


def card_number(account: str) -> str:
    """Return the card number of an account: the first eight digits of its id.

    >>> card_number("4f2a91c7d0331b5e6a78"), card_number("ann")
    ('4F2A-91C7', 'ann')
    """
    return f"{account[:4]}-{account[4:8]}".upper() if _RANDOM_ID.fullmatch(account) else account


def guest_number(player: str) -> int:
    """Return the number of a guest, or 0 for any other player.

    >>> guest_number("guest-7-0123456789ab"), guest_number("guest")
    (7, 0)
    """
    matched = _GUEST_ID.fullmatch(player)
    return int(matched[1]) if matched else 0


class _People(msgspec.Struct, frozen=True):
    """The accounts of players by id, and the names that the house has recorded."""

    accounts: dict[str, str]
    recorded: dict[str, str]

    def line(self, player: str) -> PlayerLine:
        name = self.recorded.get(player) or self.accounts.get(player, "")
        card = card_number(player) if player in self.accounts else ""
        return PlayerLine(player, name, card, 0 if name else guest_number(player))


def _load_people(context: Context, players: Sequence[str]) -> _People:
    accounts = context.identity.accounts.player_names(players)
    return _People(accounts, load_names(context.house.command_handler.store, players))


def _players_at(state: TableState, round_number: int | None) -> list[str]:
    if round_number is not None:
        return list(state.settled.get(round_number, ()))
    in_debt = (player for player, amount in state.owing.items() if amount)
    return list(dict.fromkeys([*state.seats, *in_debt]))


def _next_guest(context: Context, lines: Iterable[PlayerLine]) -> PlayerLine:
    taken = {guest_number(line.player) for line in lines}
    number = next(number for number in count(1) if number not in taken)
    distinction = context.house.runtime.random_bytes(6).hex()
    return PlayerLine(f"guest-{number}-{distinction}", guest=number)


def _search(context: Context, text: str) -> list[PlayerLine]:
    words = fold_name(text).split()
    card = re.sub(r"[\s-]", "", text).casefold()
    accounts = context.identity.accounts.enabled_players()
    people = _People(accounts, load_names(context.house.command_handler.store))
    found = []
    for account in accounts:
        line = people.line(account)
        name = fold_name(line.name)
        is_card = len(card) >= MIN_CARD_CHARACTERS and account.casefold().startswith(card)
        if is_card or all(word in name for word in words):
            found.append((not (is_card or name.startswith(words[0])), name, account, line))
    return [line for *_, line in sorted(found, key=lambda each: each[:3])[:MAX_FOUND]]
