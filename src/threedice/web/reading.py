"""Commands as they come in: read once, in the name of whoever sends them.

`by` is set here and nowhere else. A body may state it, and is refused where it states another.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.floor.commands import AnyAccountCommand, AnyTableCommand, EstablishTable
from threedice.people.names import RESERVED
from threedice.rulebook import shipped_games
from threedice.table import commands as asked
from threedice.table.commands import Actor
from threedice.tags import tag_of
from threedice.web.addresses import PlayerId
from threedice.web.answering import read
from threedice.web.authorisation import (
    COMMANDS,
    OWN,
    PLAYERS_WORDS,
    SECOND_PERSON,
    STAFFS_WORDS,
    role_for,
)
from threedice.web.problems import Turned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.web.house_file import HouseFile
    from threedice.web.visiting import Visitor

_TABLE: Final[msgspec.json.Decoder[AnyTableCommand]] = msgspec.json.Decoder(AnyTableCommand)


def read_table_command(visitor: Visitor, table: str, body: bytes) -> AnyTableCommand:
    """Return the command of a body, in the name of whoever sends it and allowed to."""
    if visitor.account.roles == ("player",):
        command = _players(visitor, body)
        if command is not None:
            return command
    return table_command(visitor, table, read(dict[str, Any], body))


def _players(visitor: Visitor, body: bytes) -> AnyTableCommand | None:
    """Read a player's command at once, or leave it to be looked at more closely.

    His name is put in front of what he says; where he says another, the later word counts, and it
    is seen that it is not his.
    """
    if body[:1] != b"{":
        return None
    me, opening = _players_name(visitor.account.id)
    try:
        command = _TABLE.decode(opening + body[1:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(command, asked.PlaceBet) or command.by != me:  # by far the commonest
        return None
    if visitor.scopes is not None and "play" not in visitor.scopes:
        return None
    if command.player != me.id:
        raise Turned(403, "door/own")
    return command if command.manner != "behalf" else None


@lru_cache(10_000)
def _players_name(account: str) -> tuple[Actor, bytes]:
    me = Actor(id=account, role="player")
    return me, b'{"by":' + msgspec.json.encode(me) + b","


def table_command(
    visitor: Visitor, table: str, said: dict[str, Any], second: Actor | None = None
) -> AnyTableCommand:
    """Return a command from what was said, in the name of whoever sends it and allowed to.

    `second` is somebody who has approved it; nobody else's word counts for him.
    """
    kind = _kind(said)
    said["by"] = msgspec.to_builtins(_actor(visitor, kind, table, said.get("by")))
    _set_second(kind, said, second)
    command: AnyTableCommand = _converted(said, AnyTableCommand)
    check_words(visitor, command)
    return command


def _kind(said: Mapping[str, Any]) -> str:
    kind = said.get("type")
    if not isinstance(kind, str) or kind not in COMMANDS:
        raise Turned(422, "door/form", problem="`type` names no command - at `$.type`")
    return kind


def _actor(visitor: Visitor, kind: str, table: str, stated: Any) -> Actor:
    """Return who sends a command, in the role that he states or the lowest that may."""
    role = role_for(visitor, kind, table)
    if role is None:
        scoped = visitor.scopes is not None and COMMANDS[kind].scope not in visitor.scopes
        raise Turned(403, "door/scope" if scoped else "door/role")
    if stated is None:
        return Actor(id=visitor.account.id, role=role)
    named: Actor = _converted(stated, Actor)
    own = role_for(visitor, kind, table, named.role) if named.id == visitor.account.id else None
    if own is None:
        raise Turned(403, "door/by")
    return named


def _set_second(kind: str, said: dict[str, Any], second: Actor | None) -> None:
    """Put in the second person who has agreed; refuse one who is only named."""
    field = SECOND_PERSON.get(kind)
    if field is None:
        return
    if second is None and (kind != "Report" or said.get(field) is not None):
        raise Turned(403, "door/second-person")
    said[field] = msgspec.to_builtins(second)


def _converted(said: Any, form: Any) -> Any:
    try:
        return msgspec.convert(said, form)
    except msgspec.ValidationError as error:
        raise Turned(422, "door/form", problem=str(error)) from None


def check_words(visitor: Visitor, command: AnyTableCommand) -> None:
    """Refuse what a player or the staff may not say in a command that they may send."""
    kind = tag_of(command)
    is_player = "player" in visitor.account.roles
    player = getattr(command, "player", None)
    if player is not None and (player or not isinstance(command, asked.Report)):
        check_player(player)
    if is_player and kind in OWN and getattr(command, "player", "") != visitor.account.id:
        raise Turned(403, "door/own")
    words = (PLAYERS_WORDS if is_player else STAFFS_WORDS).get(kind, {})
    for field, allowed in words.items():
        if (value := getattr(command, field)) not in allowed:
            raise Turned(
                403, "door/words", field=field, allowed=" or ".join(allowed), said=str(value)
            )
    if is_player and isinstance(command, asked.BuyIn) and command.age_years is not None:
        raise Turned(403, "door/age")


def check_player(player: str) -> None:
    """Refuse an id that nobody can have: what is in the log once stays there for ever."""
    try:
        msgspec.convert(player, PlayerId)
    except msgspec.ValidationError as error:
        raise Turned(422, "door/form", problem=f"{error} - at `$.player`") from None
    if player in RESERVED:
        raise InvalidInput(f"{player!r} is no player; it stands for the house's own")


def account_command(visitor: Visitor, player: str, said: dict[str, Any]) -> AnyAccountCommand:
    """Return a command about a player's account, in the name of whoever sends it."""
    kind = _kind(said)
    if role_for(visitor, kind, None) is None:
        raise Turned(403, "door/role")
    if said.setdefault("by", visitor.account.id) != visitor.account.id:
        raise Turned(403, "door/by")
    if said.setdefault("player", player) != player:
        raise Turned(422, "door/mismatch", address=player, body=str(said["player"])[:100])
    command: AnyAccountCommand = _converted(said, AnyAccountCommand)
    return command


def check_game(command: AnyTableCommand, house: HouseFile) -> None:
    """Refuse to set a table up from a file: over the wire only games that are known have names."""
    if isinstance(command, EstablishTable):
        known = {*shipped_games(), *(table.game for table in house.tables.values())}
        if command.game not in known:
            raise Turned(404, "unknown/name", kind="game", name=command.game, nearest="")
