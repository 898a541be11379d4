"""The language of cases: phrases and their fields, actors, and limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from threedice.errors import InvalidInput, ThreediceError, UnknownName
from threedice.rulebook.conduct import IrregularityName, TableRole
from threedice.table.commands import Actor
from threedice.table.limits import StakeRange, TableLimits, uniform_limits
from threedice.table.usual_steps import DEALER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from threedice.rulebook import Game
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.state import TableState


@dataclass(frozen=True, slots=True)
class CaseContext:
    """The game and the current state of the table, as a line sees them.

    `opening` are the commands that opened the table, which a line can repeat, and `ages` the ages
    of people. Expectations about the past read `events`, all events so far, `last_events`, those of
    the last line that sent commands, and `called`, the last call of the dice. `players` are the
    names that the case has used for players.
    """

    game: Game
    state: TableState
    opening: Sequence[AnyCommand] = ()
    ages: Mapping[str, int] = field(default_factory=dict)
    events: Sequence[AnyEvent] = ()
    last_events: Sequence[AnyEvent] = ()
    called: tuple[int, int, int] | None = None
    players: frozenset[str] | set[str] = frozenset()


# --- phrases ------------------------------------------------------------------------------------


Fields = dict[str, Any]
"""The values that a line gives, by the names of its template."""

PhraseHandler = Callable[[CaseContext, Fields], "Iterable[AnyCommand] | None"]


class ExpectationFailed(ThreediceError):
    """An expectation about the table does not hold."""


class Phrase:
    """A kind of line: an example, a template, and the function that translates it into commands.

    A template is a regular expression with fields in braces: `{player}` is a name, `{amount:int}`
    has one of `FIELD_TYPES`, and `{source=cash}` is text with a pattern of its own. A phrase that
    `expects` something sends no command; one that `introduces` its player may name somebody new.
    """

    def __init__(
        self,
        example: str,
        template: str,
        handler: PhraseHandler,
        *,
        expects: bool = False,
        introduces: bool = False,
    ) -> None:
        self.example, self.handler = example, handler
        self.expects, self.introduces = expects, introduces
        self._types: dict[str, str] = {}
        field_pattern = r"{(?P<name>\w+)(:(?P<type>\w+)|=(?P<pattern>[^}]+))?}"
        self._pattern = re.compile(re.sub(field_pattern, self._add_field, template))

    def _add_field(self, match: re.Match[str]) -> str:
        field_type = "text" if match["pattern"] else match["type"] or "name"
        self._types[match["name"]] = field_type
        return f"(?P<{match['name']}>{match['pattern'] or FIELD_TYPES[field_type][0]})"

    def matches(self, line: str) -> bool:
        """Return whether a line has the form of this phrase."""
        return self._pattern.fullmatch(line) is not None

    def read(self, line: str, context: CaseContext) -> Fields | None:
        """Return the values that a line gives, or None if it is a line of another kind."""
        match = self._pattern.fullmatch(line)
        if match is None:
            return None
        return {
            name: FIELD_TYPES[field_type][1](match[name], context)
            for name, field_type in self._types.items()
            if match[name] is not None
        }


def send(command: Callable[..., AnyCommand], **defaults: Any) -> PhraseHandler:
    """Return the handler that sends one command with the values of the line.

    Values that the line does not give come from `defaults`.
    """

    def handle(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
        yield build(command, defaults | fields)

    return handle


def send_for_player(command: Callable[..., AnyCommand], **defaults: Any) -> PhraseHandler:
    """Return the handler that sends one command about a player.

    The sender is the player, unless the line says for whom the sender acts.
    """

    def handle(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
        yield build(command, {**defaults, "player": fields["by"].id, **fields})

    return handle


def send_by_dealer(command: Callable[..., AnyCommand]) -> PhraseHandler:
    """Return the handler that sends one command about a player by a member of staff.

    The dealer sends it, unless the line names somebody who acts for the player.
    """

    def handle(_context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
        by = fields["by"] if "player" in fields else DEALER
        yield build(command, {"player": fields["by"].id, **fields, "by": by})

    return handle


def build(command: Callable[..., AnyCommand], values: Fields) -> AnyCommand:
    """Build a command, refusing a second person where it has no field for one."""
    if "approved_by" in values and "approved_by" not in getattr(command, "__struct_fields__", ()):
        raise InvalidInput("this line takes no second person; remove 'with ...'")
    return command(**values)


# --- actors and fields --------------------------------------------------------------------------


STAFF_ROLES: Final = tuple(
    role for role in get_args(TableRole) if role not in ("player", "shooter")
)


def actor(name: str, context: CaseContext) -> Actor:
    """Return the actor of a name: a member of staff by role, the shooter, or a player.

    `supervisor` is a person of that name and role, `supervisor/bo` a supervisor whose name is bo.
    """
    role, slash, person = name.partition("/")
    if role in STAFF_ROLES:
        return Actor(id=person or role, role=cast("TableRole", role))
    if slash:
        raise UnknownName("role", role, STAFF_ROLES)
    shooter = context.state.shooter
    return Actor(id=name, role="shooter" if shooter and shooter.player == name else "player")


def _parse_irregularity(text: str, _context: CaseContext) -> str:
    """Return the name of an irregularity that some rulebook may provide for."""
    if text not in (names := get_args(IrregularityName)):
        raise UnknownName("irregularity", text, names)
    return text


def require_known_lamps(context: CaseContext, lamps: Iterable[str]) -> None:
    """Raise UnknownName for a lamp that the layout does not have."""
    game = context.game
    for lamp in lamps:
        if lamp not in game.lamps:
            raise UnknownName(f"lamp on {game.id}", lamp, game.lamps)


def _parse_differential(text: str, _context: CaseContext) -> int | dict[str, int]:
    if text.isdigit():
        return int(text)
    words = text.replace(",", "").split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def _parse_counts(text: str, _context: CaseContext) -> dict[str, int]:
    """Return counts of chips, such as those of "2x5 1x25 20xred"."""
    if text == "nothing":
        return {}
    counts: dict[str, int] = {}
    for each in text.split():
        count, name = each.split("x", 1)
        if name in counts:
            raise InvalidInput(f"{text!r} counts the chips {name} twice")
        counts[name] = int(count)
    return counts


FIELD_TYPES: Final[dict[str, tuple[str, Callable[[str, CaseContext], Any]]]] = {
    "name": (r"[a-z][a-z0-9-]*", lambda text, _: text),
    "actor": (r"[a-z][a-z0-9-]*(?:/[a-z][a-z0-9-]*)?", actor),
    "irregularity": (r"[a-z][a-z0-9-]*", _parse_irregularity),
    "box": (r"[a-z][a-z0-9:-]*", lambda text, _: text),
    "word": (r"\w+", lambda text, _: text),
    "colour": (r"[\w-]+", lambda text, _: text),
    "text": (r".*", lambda text, _: text),
    "int": (r"\d+", lambda text, _: int(text)),
    "amount": (r"\d+|nothing", lambda text, _: 0 if text == "nothing" else int(text)),
    "signed": (r"-?\d+", lambda text, _: int(text)),
    "ints": (r"[\d ]+?", lambda text, _: [int(each) for each in text.split()]),
    "roll": (r"[\w ]+?", lambda text, context: context.game.roll(text.split())),
    "faces": (r"[\w ]+?", lambda text, context: [*map(context.game.faces.number, text.split())]),
    "areas": (r"[a-z][a-z0-9:@, -]*?", lambda text, _: text.replace(",", " ").split()),
    "counts": (r"nothing|\d+x[\w-]+(?: \d+x[\w-]+)*", _parse_counts),
    "verdict": (r"accepts|rejects", lambda text, _: text == "accepts"),
    "differential": (r"\d+|[a-z-]+ \d+(?:,? [a-z-]+ \d+)*", _parse_differential),
}
"""The pattern of each type of field, and the function that reads its value."""


# --- limits -------------------------------------------------------------------------------------


def build_limits(
    game: Game,
    minimum: int,
    maximum: int,
    differential: int | Mapping[str, int] | None = None,
    only: Mapping[str, tuple[int, int]] | None = None,
) -> TableLimits:
    """Return limits for every box, with one differential for all pairs or one for each pair.

    A pair is named by one of its boxes or by both, as in `big-small`; a pair without a differential
    has the maximum. `only` are exceptions by family or box.
    """
    shared = differential if isinstance(differential, int) else None
    limits = uniform_limits(game, minimum, maximum, shared)
    policy = game.facts.limits.differential
    pairs = policy.pairs if policy else []
    if shared is not None and not pairs:
        raise InvalidInput(f"{game.id} has no maximum differential; leave it out")
    for name, amount in differential.items() if isinstance(differential, Mapping) else ():
        firsts = [a for a, b in pairs if name in (a, b, f"{a}-{b}", f"{b}-{a}")]
        if not firsts:
            known = [f"{a}-{b}" for a, b in pairs]
            raise UnknownName(f"pair with a differential on {game.id}", name, known)
        limits.differential[firsts[0]] = amount
    for name, (low, high) in (only or {}).items():
        ranges = limits.boxes if name in game.boxes and ":" in name else limits.families
        ranges[name] = StakeRange(low, high)
    return limits
