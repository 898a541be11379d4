"""The language of cases: phrases and their fields, actors, and the usual steps of a round."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from threedice.errors import ThreediceError
from threedice.rulebook.conduct import TableRole
from threedice.table import commands
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from threedice.rulebook import Game
    from threedice.rulebook.conduct import StepName
    from threedice.table.commands import AnyCommand
    from threedice.table.state import TableState


@dataclass(frozen=True, slots=True)
class CaseContext:
    """The game and the current state of the table, as a line sees them."""

    game: Game
    state: TableState


# --- phrases ------------------------------------------------------------------------------------


Fields = dict[str, Any]
"""The values that a line gives, by the names of its template."""

PhraseHandler = Callable[[CaseContext, Fields], "Iterable[AnyCommand] | None"]


class ExpectationFailed(ThreediceError):
    """An expectation about the table does not hold."""


class Phrase:
    """A kind of line: an example, a template, and the function that translates it into commands.

    A template is a regular expression with fields in braces: `{player}` is a name, `{amount:int}`
    has one of `FIELD_TYPES`, and `{source=cash}` is text with a pattern of its own.
    """

    def __init__(self, example: str, template: str, handler: PhraseHandler) -> None:
        self.example, self.handler = example, handler
        self._types: dict[str, str] = {}
        field = r"{(?P<name>\w+)(:(?P<type>\w+)|=(?P<pattern>[^}]+))?}"
        self._pattern = re.compile(re.sub(field, self._add_field, template))

    def _add_field(self, field: re.Match[str]) -> str:
        field_type = "text" if field["pattern"] else field["type"] or "name"
        self._types[field["name"]] = field_type
        return f"(?P<{field['name']}>{field['pattern'] or FIELD_TYPES[field_type][0]})"

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
    """Return the handler that sends one command; the player acts if the line names nobody else."""

    def handle(context: CaseContext, fields: Fields) -> Iterator[AnyCommand]:
        values = defaults | fields
        if "by" not in values:
            values["by"] = actor(fields["player"], context)
        yield command(**values)

    return handle


# --- actors and steps ---------------------------------------------------------------------------


STAFF_ROLES: Final = tuple(
    role for role in get_args(TableRole) if role not in ("player", "shooter")
)
DEALER, SUPERVISOR = Actor(id="dealer", role="dealer"), Actor(id="supervisor", role="supervisor")


def actor(name: str, context: CaseContext) -> Actor:
    """Return the actor of a name: a member of staff by role, the shooter, or a player."""
    if name in STAFF_ROLES:
        return Actor(id=name, role=cast("TableRole", name))
    shooter = context.state.shooter
    return Actor(id=name, role="shooter" if shooter and shooter.player == name else "player")


FIELD_TYPES: Final[dict[str, tuple[str, Callable[[str, CaseContext], Any]]]] = {
    "name": (r"[a-z][a-z0-9-]*", lambda text, _: text),
    "actor": (r"[a-z][a-z0-9-]*", actor),
    "box": (r"[a-z][a-z0-9:-]*", lambda text, _: text),
    "word": (r"\w+", lambda text, _: text),
    "text": (r".*", lambda text, _: text),
    "int": (r"\d+", lambda text, _: int(text)),
    "signed": (r"-?\d+", lambda text, _: int(text)),
    "ints": (r"[\d ]+?", lambda text, _: [int(each) for each in text.split()]),
    "roll": (r"[\w ]+?", lambda text, context: context.game.roll(text.split())),
    "faces": (r"[\w ]+?", lambda text, context: [*map(context.game.faces.number, text.split())]),
    "verdict": (r"accepts|rejects", lambda text, _: text == "accepts"),
}
"""The pattern of each type of field, and the function that reads its value."""


def commands_before(context: CaseContext, step: StepName) -> Iterator[AnyCommand]:
    """Yield the usual commands for the pending steps of the round before a step."""
    order = context.game.facts.procedure.order
    steps = context.game.facts.procedure.steps
    for each in order[: order.index(step)]:
        done = context.state.round is not None and each in context.state.round.done
        if not done and steps[each].per == "round":
            yield from step_commands(context, each, None)


def step_commands(
    context: CaseContext, step: StepName, dice: tuple[int, int, int] | None
) -> Iterator[AnyCommand]:
    """Yield the usual commands for a step."""
    shooter = context.state.shooter
    thrower = Actor(id=shooter.player, role="shooter") if shooter and not shooter.absent else DEALER
    at_least = context.game.facts.procedure.steps[step].at_least
    match step:
        case "tumble":
            yield commands.Tumble(by=DEALER, times=at_least)
        case "throw":
            yield commands.Throw(by=thrower)
        case "call-result" if dice:
            yield commands.CallResult(by=DEALER, dice=dice)
        case "enter-result" if dice:
            for key in dice:
                yield commands.PressKey(by=DEALER, key=key)
            yield commands.PressEnter(by=DEALER)
        case _ if step in commands.PLAIN_STEP_COMMANDS:
            yield commands.PLAIN_STEP_COMMANDS[step](by=DEALER)
