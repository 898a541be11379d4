"""Run a case: play its lines at a table, and compare the result with what it expects."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.cases.citations import check_citations, is_part
from threedice.cases.language import (
    STAFF_ROLES,
    CaseContext,
    ExpectationFailed,
    build_limits,
)
from threedice.cases.phrases import read_line
from threedice.cases.slips import check_names
from threedice.errors import InvalidInput, ThreediceError, UnknownName
from threedice.money import Balances
from threedice.rulebook import Game, load
from threedice.rulebook.conduct import clause_numbers
from threedice.table import Refusal, TableState, commands, decide, evolve
from threedice.table.chip_counts.counts import face_value
from threedice.table.commands import Actor
from threedice.table.limits import LimitMode
from threedice.table.money import table_postings
from threedice.table.prose import describe_events
from threedice.table.usual_steps import ADULT_YEARS, SUPERVISOR
from threedice.toml_files import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from threedice.cases.language import Fields, Phrase
    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent


class CaseLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for every box, differentials for all pairs or by pair, exceptions by family or box."""

    minimum: int = 5
    maximum: int = 10_000
    differential: int | dict[str, int] | None = None
    only: dict[str, tuple[int, int]] = {}


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One case of a file."""

    name: str
    clause: str | list[str]
    game: str
    play: list[str]
    expect: dict[str, int] = {}
    owing: dict[str, int] = {}
    readings: dict[str, str] = {}
    mode: LimitMode = "record"
    chips: list[int] = msgspec.field(default_factory=lambda: [5, 25, 100])
    limits: CaseLimits = CaseLimits()
    float: int = 1_000_000
    rack: dict[str, int] = {}
    players: dict[str, int] = {}
    ages: dict[str, int] = {}
    checked: bool = True


@dataclass(slots=True)
class CaseOutcome:
    """The result of a case: its events, final stacks, and differences from the expected."""

    case: Case
    events: list[AnyEvent] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    stacks: dict[str, int] = field(default_factory=dict)
    stopped_by: BaseException | None = None

    @property
    def passed(self) -> bool:
        """True if there are no differences."""
        return not self.differences


def read_cases(file: Path) -> list[Case]:
    """Read a file of cases, refusing unknown keys."""
    data = read_toml(file)
    tables = data.pop("case", None)
    if data or not isinstance(tables, list):
        named = f"{next(iter(data))!r} is not a key of it" if data else "it has no case"
        raise InvalidInput(f"{file} is not a file of cases: {named}; begin each with [[case]]")
    return [_convert_case(file, number, table) for number, table in enumerate(tables, 1)]


def _convert_case(file: Path, number: int, table: Any) -> Case:
    try:
        return msgspec.convert(table, Case)
    except msgspec.ValidationError as error:
        name = table.get("name", "without a name") if isinstance(table, dict) else "not a table"
        keys = ", ".join(Case.__struct_fields__)
        raise InvalidInput(
            f"{file} is not a file of cases: case {number} ({name}): {error}; the keys are {keys}"
        ) from None


def shipped_cases() -> list[Path]:
    """Return the case files of the package."""
    return sorted(Path(__file__).parent.glob("shipped/*.toml"))


def run_case(case: Case, game: Game | None = None) -> CaseOutcome:
    """Play a case and compare its result with what it expects.

    The case is played at the game that it names, or at another form of it.
    """
    outcome = CaseOutcome(case)
    try:
        game = game or load(case.game, case.readings)
        outcome.differences += check_citations(case.game, clause_numbers(case.clause))
        table = _CaseTable(game, case)
        _open_table(case, table)
    except ThreediceError as error:
        outcome.stopped_by = error.__cause__ or error
        outcome.differences.append(f"stopped: {error}")
        return outcome
    outcome.events = table.events
    for number, line in enumerate(case.play, 1):
        try:
            difference = _play_line(line, table)
        except ThreediceError as error:
            outcome.stopped_by = error.__cause__ or error
            outcome.differences.append(f"line {number}, {line!r}, stopped: {error}")
            return outcome
        if difference:
            outcome.differences.append(f"line {number}, {line!r}: {difference}")
    outcome.stacks = {player: seat.stack for player, seat in table.state.seats.items()}
    outcome.differences += _compare_end(case, table)
    return outcome


def narrate_case(outcome: CaseOutcome) -> str:
    """Describe a case in prose: its name, its events, and the final stacks."""
    game = load(outcome.case.game, outcome.case.readings)
    clauses = ", ".join(clause_numbers(outcome.case.clause))
    ends = [f"In the end {player} has {stack}." for player, stack in outcome.stacks.items()]
    lines = [f"{outcome.case.name} ({clauses})", "", *describe_events(game, outcome.events), *ends]
    return "\n".join(lines) + "\n"


class _CaseTable:
    """A table in play, with its ledger and the people who have taken part."""

    def __init__(self, game: Game, case: Case) -> None:
        self.game = game
        self.state = TableState()
        self.events: list[AnyEvent] = []
        self.balances = Balances()
        self.ages = {name.rpartition("/")[2]: years for name, years in case.ages.items()}
        self.opening: list[AnyCommand] = []
        self.called: tuple[int, int, int] | None = None
        self.line_start = 0
        self.players = set(case.players)
        self.staff: set[str] = set()
        with_chips = (name for each in (case.expect, case.owing) for name in each if each[name])
        self.introduced = {*self.ages, *with_chips}
        self.has_expectation = bool(case.expect or case.owing)

    @property
    def context(self) -> CaseContext:
        return CaseContext(
            self.game,
            self.state,
            opening=self.opening,
            ages=self.ages,
            events=self.events,
            last_events=self.events[self.line_start :],
            called=self.called,
            players=self.players,
        )

    def handle(self, command: AnyCommand) -> None:
        people = list(_people(command))
        staff = [each for each in people if each.role in STAFF_ROLES]
        self.staff.update(each.id for each in staff)
        self.staff.update(f"{each.role}/{each.id}" for each in staff if each.id != each.role)
        ages: dict[str, int | None]
        ages = {each.id: self.ages.get(each.id, ADULT_YEARS) for each in people}
        if isinstance(command, commands.BuyIn):
            ages[command.player] = command.age_years
        for event in decide(self.game, self.state, command, ages):
            evolve(self.state, event)
            self.balances.post(table_postings(event))
            self.events.append(event)
            if self.state.round:
                self.called = self.state.round.called


def _people(values: Iterable[Any] | AnyCommand) -> Iterator[Actor]:
    """Yield the people among the fields of a command."""
    fields = (
        msgspec.structs.asdict(values).values() if isinstance(values, msgspec.Struct) else values
    )
    yield from (each for each in fields if isinstance(each, Actor))


PIT_MANAGER: Final = Actor(id="pit-manager", role="pit-manager")
"""The person who signs the opener of a table that deals in chips."""


def _open_table(case: Case, table: _CaseTable) -> None:
    """Open the table, pass its checks and sell the players their chips."""
    limits, game = case.limits, table.game
    table.opening.append(
        commands.OpenTable(
            by=SUPERVISOR,
            table="case",
            currency="SGD",
            mode=case.mode,
            chips=case.chips,
            float_amount=face_value(case.rack) if case.rack else case.float,
            approved_by=PIT_MANAGER if case.rack else msgspec.UNSET,
            rack=case.rack or msgspec.UNSET,
            limits=build_limits(
                game, limits.minimum, limits.maximum, limits.differential, limits.only
            ),
        )
    )
    if case.checked:
        checks = game.facts.opening
        table.opening += [commands.PassCheck(by=SUPERVISOR, check=check) for check in checks]
    try:
        for command in table.opening:
            table.handle(command)
    except Refusal as refusal:
        if refusal.code != "role/age":
            raise
        raise InvalidInput(
            f"the table cannot be opened: {refusal}; to expect this, write a line such as"
            " 'supervisor/bo opens the table -> refused role/age' after 'close the table'"
        ) from refusal
    for player, amount in case.players.items():
        _sell_chips(case, table, player, amount)


def _sell_chips(case: Case, table: _CaseTable, player: str, amount: int) -> None:
    if player in STAFF_ROLES:
        raise InvalidInput(f"players: {_role_as_player(player)}")
    by, age = Actor(id=player, role="player"), case.ages.get(player, ADULT_YEARS)
    try:
        table.handle(commands.BuyIn(by=by, player=player, amount=amount, age_years=age))
    except Refusal as refusal:
        raise InvalidInput(
            f"players: {refusal}; to expect this, leave {player} out of players and begin with"
            f" the line '{player} buys {amount} -> refused {refusal.code}'"
        ) from refusal


# --- lines --------------------------------------------------------------------------------------


def _play_line(line: str, table: _CaseTable) -> str:
    """Play a line, and return its difference from the expected or an empty text.

    A line that ends in "-> refused ..." must be refused for that reason. An error stops the case.
    """
    command_text, arrow, expected = (part.strip() for part in line.partition("->"))
    keyword, *reasons = expected.split() or [""]
    if arrow and keyword != "refused":
        raise InvalidInput(f"'-> {expected}': write '-> refused' and a code or clauses")
    context = table.context
    phrase, fields = read_line(command_text, context)
    table.has_expectation |= bool(arrow) or phrase.expects
    if phrase.expects:
        if arrow:
            raise InvalidInput("an expectation holds or fails, never refused; remove '->'")
        return _check_expectation(phrase, fields, context)
    table.line_start = len(table.events)
    new_names = sorted(set(_players(fields)) - table.players)
    if not arrow:
        _check_roles(phrase, fields)
    else:
        check_names(fields, reasons, table.game)
        if not phrase.introduces and "player/unknown" not in reasons:
            _check_spelling(new_names, table)
    table.players.update(new_names)
    try:
        for command in phrase.handler(context, fields) or ():
            table.handle(command)
    except Refusal as refusal:
        if arrow:
            return _compare_refusal(reasons, refusal)
        raise InvalidInput(f"{refusal}; {_remedy(refusal, new_names, table)}") from refusal
    if not phrase.introduces:
        _check_spelling(new_names, table)
    return f"was accepted, expected {expected}" if arrow else ""


def _check_roles(phrase: Phrase, fields: Fields) -> None:
    """Raise an error for a second person who is a player, and for a buy-in of a member of staff."""
    second = fields.get("approved_by")
    if second and second.role not in STAFF_ROLES:
        raise UnknownName("member of staff", second.id, STAFF_ROLES)
    if phrase.introduces:
        player = fields.get("player", fields["by"].role)
        if player in STAFF_ROLES:
            raise InvalidInput(_role_as_player(player))


def _role_as_player(role: str) -> str:
    return f"{role!r} is a role, not the name of a player"


def _check_spelling(new_names: list[str], table: _CaseTable) -> None:
    """Raise UnknownName for a new name that is nearly the name of somebody in the case.

    The table would refuse it, but not for the reason that the case is about, or take note of it.
    """
    known = [*sorted(table.players.difference(new_names)), *STAFF_ROLES]
    for name in set(new_names).difference(table.introduced, STAFF_ROLES):
        if similar := get_close_matches(name, known, cutoff=0.65):
            raise UnknownName("player or role in this case", name, known, similar)


def _check_expectation(phrase: Phrase, fields: Fields, context: CaseContext) -> str:
    try:
        phrase.handler(context, fields)
    except ExpectationFailed as difference:
        return str(difference)
    return ""


def _remedy(refusal: Refusal, new_names: list[str], table: _CaseTable) -> str:
    """Return what to do about a refusal that a case does not expect."""
    if new_names:
        known = sorted({*table.players.difference(new_names), *STAFF_ROLES})
        return str(UnknownName("player or role in this case", new_names[0], known))
    return f"if the table must refuse this line, add '-> refused {refusal.code}'"


def _players(fields: Fields) -> Iterator[str]:
    """Yield the names that a line uses for players."""
    if fields.get("player"):
        yield fields["player"]
    yield from (each.id for each in _people(fields.values()) if each.role not in STAFF_ROLES)


def _compare_refusal(reasons: list[str], refusal: Refusal) -> str:
    actual_reasons = {refusal.code, *refusal.clause}
    if all(any(is_part(actual, reason) for actual in actual_reasons) for reason in reasons):
        return ""
    return f"was refused for {', '.join(sorted(actual_reasons))}, expected {' '.join(reasons)}"


# --- the end ------------------------------------------------------------------------------------


def _compare_end(case: Case, table: _CaseTable) -> Iterator[str]:
    """Yield the differences of the end of a case from what it expects."""
    stacks = {player: seat.stack for player, seat in table.state.seats.items()}
    owing = {**dict.fromkeys(case.expect, 0), **case.owing}
    players = table.players | stacks.keys()
    yield from _check_names("expect", case.expect, "player", players)
    yield from _check_names("owing", case.owing, "player", players)
    yield from _check_names("ages", case.ages, "person", players | table.staff)
    yield from _compare_amounts("has", stacks, case.expect)
    yield from _compare_amounts("owes", table.state.owing, owing)
    if not table.has_expectation:
        yield (
            "the case expects nothing; add expect, owing, an expectation such as 'ann has 300',"
            " or '-> refused' to a line"
        )


def _check_names(key: str, names: Iterable[str], kind: str, known: set[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{key}: {UnknownName(f'{kind} in this case', name, sorted(known))}"


def _compare_amounts(
    verb: str, actual: Mapping[str, int], expected: Mapping[str, int]
) -> Iterator[str]:
    """Yield the differences of the players' final stacks or debts from the expected ones."""
    for player, amount in expected.items():
        if actual.get(player, 0) != amount:
            yield f"{player} {verb} {actual.get(player, 0)}, expected {amount}"
