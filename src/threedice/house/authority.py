"""Authority over commands: alone, with a second person, and up to which amount.

One table, derived from the facts next to each command and the amounts that the house sets. The API
shows it and decides by it; a test compares the whole table with a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import msgspec

from threedice.errors import Refusal, ThreediceError
from threedice.facts import AloneRule
from threedice.house.allowances import PER_PLAYER, HouseAmounts, amount_moved
from threedice.house.codec import tag_of
from threedice.house.commands import AnyStreamCommand, EstablishTable
from threedice.house.stream_state import HouseTable
from threedice.identity.roles import ROLES, Role
from threedice.rulebook import Game
from threedice.rulebook import load as load_game
from threedice.rulebook.conduct import TableRole
from threedice.table.chip_counts.counts import without_zeros
from threedice.table.commands import OpenTable, Report
from threedice.table.irregularities import round_in_question
from threedice.table.rules import approver_roles

if TYPE_CHECKING:
    from threedice.account import PlayerAccount
    from threedice.facts import CommandFacts
    from threedice.table.chip_counts.counts import ChipCounts

AUTHORITY_REFUSAL_TEXTS: Final[dict[str, str]] = {
    "door/second-person": "this needs the approval of a second person ({allowed}); open a request",
    "door/ceiling": "{amount} is above the ceiling of {ceiling}; nobody may do this",
    "door/self": "you cannot do this for yourself; somebody else has to",
    "door/plays-here": "{person} has chips at this table, so somebody else has to do this",
    "door/staff-player": "{player} works for the house and may not play here",
    "request/other-round": "the table has gone on since this request was made, and it would now"
    " affect another round; withdraw it and make a new one",
    "request/other-rack": "chips of the rack have moved since this request was made; withdraw it,"
    " and count again",
}
"""The text of every refusal code; the facts of a refusal fill the placeholders."""

TableKind = Literal["staffed", "automatic"]
"""The dealer of a table: people or the house. A player's account counts as staffed."""

TABLE_KINDS: Final[tuple[TableKind, ...]] = get_args(TableKind)


class AuthorityRow(msgspec.Struct, frozen=True, kw_only=True):
    """The rule for a command, sent by these roles at these tables.

    `alone` says when one person suffices: `always`, `never`, `up-to-amount` (`up_to` in 24 hours,
    per player or table), `approved-terms` (those that two people approved last, or of the house
    file), `by-rulebook`, `if-empty` (no player has chips at the table). Otherwise one of the
    `approvers` must approve. Above the `ceiling` nobody may send it.
    """

    command: str
    roles: tuple[Role, ...] = ()
    tables: tuple[TableKind, ...] = ()
    permitted: bool = False
    alone: AloneRule | Literal["if-empty"] = "never"
    up_to: int | None = None
    per: Literal["player", "table"] | None = None
    approvers: tuple[TableRole, ...] = ()
    ceiling: int | None = None


class ConfiguredTable(NamedTuple):
    """A table as the house file has it, as commands of the same sender, and its game."""

    setup: EstablishTable
    opening: OpenTable
    game: Game


class Authority:
    """The table of a house: how every command may be sent, by role and kind of table."""

    def __init__(self, amounts: HouseAmounts) -> None:
        self._rows = {
            (command, role, kind): _derive_row(command, role, kind, amounts)
            for command in get_args(AnyStreamCommand)
            for role in ROLES
            for kind in TABLE_KINDS
        }

    def rows(self) -> list[AuthorityRow]:
        """Return the whole table; roles and tables with the same rule share a row."""
        groups: dict[tuple[AuthorityRow, tuple[TableKind, ...]], tuple[Role, ...]] = {}
        for command in get_args(AnyStreamCommand):
            for role in ROLES:
                tables: dict[AuthorityRow, tuple[TableKind, ...]] = {}
                for kind in TABLE_KINDS:
                    row = self._rows[command, role, kind]
                    tables[row] = (*tables.get(row, ()), kind)
                for group in tables.items():
                    groups[group] = (*groups.get(group, ()), role)
        return [
            msgspec.structs.replace(row, roles=roles, tables=tables)
            for (row, tables), roles in groups.items()
        ]

    def check(
        self,
        command: Any,
        role: Role,
        state: HouseTable | PlayerAccount,
        now: int,
        configured: ConfiguredTable | None = None,
    ) -> None:
        """Refuse a command above its ceiling, for its sender, or without a second person it needs.

        `role` is the sender's; `state` is that of the table or the account; `configured` is the
        table in the house file. A command that is not permitted at all is refused elsewhere: by
        its roles, or by the table that the house deals.
        """
        facts: CommandFacts = command.facts
        second = getattr(command, facts.second_person) if facts.second_person else None
        _refuse_participants(command, [command.by, second], state)
        is_automatic = isinstance(state, HouseTable) and state.dealt_by_house is not None
        row = self._rows[type(command), role, "automatic" if is_automatic else "staffed"]
        amount = abs(getattr(command, "amount", 0))
        if row.ceiling is not None and amount > row.ceiling:
            raise refuse("door/ceiling", amount=amount, ceiling=row.ceiling)
        if second or not row.permitted:
            return
        match row.alone:
            case "always" | "by-rulebook":  # the table itself applies the rulebook
                suffices = True
            case "up-to-amount":
                player = getattr(command, "player", "")
                moved = amount_moved(state.moved_alone, facts.alone_up_to, player, now)
                suffices = moved + amount <= (row.up_to or 0)
            case "approved-terms":
                suffices = has_approved_terms(command, state, configured)
            case "if-empty":
                suffices = isinstance(state, HouseTable) and not state.table.seats
            case "never":
                suffices = False
        if not suffices:
            raise refuse("door/second-person", allowed=", ".join(row.approvers))


def _derive_row(
    command: type[AnyStreamCommand], role: Role, kind: TableKind, amounts: HouseAmounts
) -> AuthorityRow:
    """Derive a row from the facts of a command; players use only their own money, and alone."""
    facts: CommandFacts = command.facts
    row = AuthorityRow(command=tag_of(command))
    reserved = ("house",) if role == "player" else ("house", "player")
    if role not in facts.roles or (kind == "automatic" and facts.automatic in reserved):
        return row
    if role == "player" or not facts.second_person:
        return msgspec.structs.replace(row, permitted=True, alone="always")
    alone = _ALONE_AT_AUTOMATIC.get(facts.automatic) if kind == "automatic" else None
    row = msgspec.structs.replace(
        row,
        permitted=True,
        alone=alone or facts.alone,
        approvers=facts.approvers,
        ceiling=getattr(amounts, facts.ceiling) if facts.ceiling else None,
    )
    if row.alone != "up-to-amount":
        return row
    per = "player" if facts.alone_up_to in PER_PLAYER else "table"
    return msgspec.structs.replace(row, up_to=getattr(amounts, facts.alone_up_to), per=per)


_ALONE_AT_AUTOMATIC: Final = {"second-person": "never", "alone-if-empty": "if-empty"}
"""When one person suffices at an automatic table, where that differs from other tables."""


def has_approved_terms(
    command: EstablishTable | OpenTable, table: Any, configured: ConfiguredTable | None
) -> bool:
    """Return whether a command sets up or opens a table as two people have approved it.

    The terms in the table's own stream count, or those of the house file for a table that has none:
    limits that were changed since are not taken back by closing and opening the table. A table that
    has dealt in chips opens in amounts, where nobody counts its rack, by two people only.
    """
    if isinstance(command, EstablishTable):
        return _has_approved_setup(command, table, configured)
    state = table.table
    if state.last_closer is not None and command.rack is msgspec.UNSET:
        return False
    if state.game_hash != table.game_hash:  # not opened yet on this game
        return (
            configured is not None
            and configured.game.hash == table.game_hash
            and configured.opening == command
        )
    floats = {table.opening_float, table.closing_float}
    if configured is not None:
        floats.add(configured.opening.float_amount)
    approved = state.currency, state.mode, state.chips, table.approved_limits
    terms = command.currency, command.mode, command.chips, command.limits
    return terms == approved and command.float_amount in floats


def _has_approved_setup(
    command: EstablishTable, table: HouseTable, configured: ConfiguredTable | None
) -> bool:
    if not table.game_hash:
        return configured is not None and configured.setup == command
    try:
        game = load_game(command.game, command.readings)
    except ThreediceError:
        return True  # the command handler refuses a game that cannot be loaded
    return (game.hash, command.dealt_by_house) == (table.game_hash, table.dealt_by_house)


def roles_to_approve(facts: CommandFacts, game: Game | None) -> tuple[TableRole, ...]:
    """Return the roles that may approve a command; the game's rules may name fewer."""
    if game is None:
        return facts.approvers
    name = facts.approval_rule
    rule = game.facts.irregularities.get(name) if name else None
    return tuple(approver_roles(game, facts.approvers, rule))


def round_concerned(command: Any, game: Game | None, state: HouseTable) -> int | None:
    """Return the round that a command acts on without naming it, 0 if there is none now.

    None if the command acts on no round, or names its rounds.
    """
    if game is None or not command.facts.concerns_round:
        return None
    current = state.table.round
    if isinstance(command, Report):
        rule = game.facts.irregularities.get(command.irregularity)
        # an interruption always concerns the current round
        if rule is not None and rule.consequence != "continue-if-conclusive":
            return None if command.rounds else max(round_in_question(state.table, rule), default=0)
    return current.number if current else 0


def rack_concerned(command: Any, state: HouseTable) -> ChipCounts | None:
    """Return the chips of the rack that a command counts, None if it counts none.

    An opener counts the rack of the last closer.
    """
    if isinstance(command, OpenTable):
        return None if command.rack is msgspec.UNSET else state.table.last_closer
    holders = state.table.holders
    if not command.facts.counts_rack or holders is None:
        return None
    return without_zeros(holders.get("float", {}))


def _refuse_participants(
    command: Any, people: list[Any], state: HouseTable | PlayerAccount
) -> None:
    """Refuse people who act for themselves, or who have chips at the table: staff do not play."""
    seats = state.table.seats if isinstance(state, HouseTable) else {}
    for person in filter(None, people):
        person_id = getattr(person, "id", person)
        if person_id == getattr(command, "player", ""):
            raise refuse("door/self")
        if person_id in seats:
            raise refuse("door/plays-here", person=person_id)


def refuse(code: str, **facts: Any) -> Refusal:
    """Return a refusal for the caller to raise."""
    return Refusal(code, AUTHORITY_REFUSAL_TEXTS[code], (), facts)
