"""Run a case: play its lines at a table, and compare the result with what it expects."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from threedice.cases.language import SUPERVISOR, CaseContext, ExpectationFailed
from threedice.cases.phrases import parse_line
from threedice.errors import InvalidInput, RulebookError, ThreediceError
from threedice.money import Balances
from threedice.rulebook import Game, load
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.source import shipped_clause_numbers
from threedice.table import Refusal, TableState, commands, decide, evolve
from threedice.table.commands import Actor
from threedice.table.limits import LimitMode, StakeRange, uniform_limits
from threedice.table.money import table_postings
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent


class CaseLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for every box, a differential for every pair, exceptions by family or box."""

    minimum: int = 5
    maximum: int = 10_000
    differential: int | None = None
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
    players: dict[str, int] = {}
    checked: bool = True


class CaseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of cases."""

    case: list[Case]


@dataclass(slots=True)
class CaseOutcome:
    """The result of a case: its events, final stacks, and differences from the expected."""

    case: Case
    events: list[AnyEvent] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    stacks: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if there are no differences."""
        return not self.differences


def read_cases(file: Path) -> list[Case]:
    """Read a file of cases, refusing unknown keys."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        return msgspec.convert(data, CaseFile).case
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise InvalidInput(f"{file} is not a file of cases: {error}") from None


def shipped_cases() -> list[Path]:
    """Return the case files of the package."""
    return sorted(Path(__file__).parent.glob("shipped/*.toml"))


def run_case(case: Case) -> CaseOutcome:
    """Play a case and compare its result with what it expects."""
    outcome = CaseOutcome(case)
    for citation in clause_numbers(case.clause):
        book, _, number = citation.partition(" ")
        if number not in (shipped_clause_numbers(book) or ()):
            outcome.differences.append(f"there is no clause {citation!r} to illustrate")
    try:
        game = load(case.game, case.readings)
        table = _CaseTable(game)
        _open_table(case, game, table)
        for line in case.play:
            _play_line(line, table, outcome)
    except (ThreediceError, RulebookError) as error:
        outcome.differences.append(f"stopped: {error}")
        return outcome
    outcome.events = table.events
    outcome.stacks = {player: seat.stack for player, seat in table.state.seats.items()}
    owing = {**dict.fromkeys(case.expect, 0), **case.owing}
    outcome.differences += _compare_amounts("has", outcome.stacks, case.expect)
    outcome.differences += _compare_amounts("owes", table.state.owing, owing)
    return outcome


def narrate_case(outcome: CaseOutcome) -> str:
    """Describe a case in prose: its name, its events, and the final stacks."""
    game = load(outcome.case.game, outcome.case.readings)
    clauses = ", ".join(clause_numbers(outcome.case.clause))
    ends = [f"In the end {player} has {stack}." for player, stack in outcome.stacks.items()]
    lines = [f"{outcome.case.name} ({clauses})", "", *describe_events(game, outcome.events), *ends]
    return "\n".join(lines) + "\n"


class _CaseTable:
    """A table in play, with its ledger."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.state = TableState()
        self.events: list[AnyEvent] = []
        self.balances = Balances()

    def handle(self, command: AnyCommand) -> None:
        for event in decide(self.game, self.state, command):
            evolve(self.state, event)
            self.balances.post(table_postings(event))
            self.events.append(event)


def _open_table(case: Case, game: Game, table: _CaseTable) -> None:
    """Open the table, pass its checks and sell the players their chips."""
    limits = uniform_limits(
        game, case.limits.minimum, case.limits.maximum, case.limits.differential
    )
    for name, (minimum, maximum) in case.limits.only.items():
        ranges = limits.boxes if name in game.boxes and ":" in name else limits.families
        ranges[name] = StakeRange(minimum, maximum)
    table.handle(
        commands.OpenTable(
            by=SUPERVISOR,
            table="case",
            currency="SGD",
            mode=case.mode,
            chips=case.chips,
            float_amount=case.float,
            limits=limits,
        )
    )
    if case.checked:
        for check in game.facts.opening:
            table.handle(commands.PassCheck(by=SUPERVISOR, check=check))
    for player, amount in case.players.items():
        by = Actor(id=player, role="player")
        table.handle(commands.BuyIn(by=by, player=player, amount=amount, age_years=30))


def _play_line(line: str, table: _CaseTable, outcome: CaseOutcome) -> None:
    """Play a line; one that ends in "-> refused ..." must be refused for that reason."""
    command_text, arrow, expected = (part.strip() for part in line.partition("->"))
    try:
        for command in parse_line(command_text, CaseContext(table.game, table.state)):
            table.handle(command)
    except Refusal as refusal:
        if not arrow:
            raise
        _compare_refusal(command_text, expected, refusal, outcome)
        return
    except ExpectationFailed as difference:
        outcome.differences.append(str(difference))
        return
    if arrow:
        outcome.differences.append(f"{command_text!r} was accepted, expected {expected}")


def _compare_refusal(
    command_text: str, expected: str, refusal: Refusal, outcome: CaseOutcome
) -> None:
    keyword, *reasons = expected.split()
    if keyword != "refused":
        raise InvalidInput(f"'-> {expected}': write '-> refused' and a code or clauses")
    actual_reasons = {refusal.code, *refusal.clause}
    missing = [reason for reason in reasons if reason not in actual_reasons]
    if missing:
        outcome.differences.append(
            f"{command_text!r} was refused for {', '.join(sorted(actual_reasons))},"
            f" expected {' '.join(reasons)}"
        )


def _compare_amounts(
    verb: str, actual: Mapping[str, int], expected: Mapping[str, int]
) -> list[str]:
    """Return the differences of the players' final stacks or debts from the expected ones."""
    return [
        f"{player} {verb} {actual.get(player, 0)}, expected {amount}"
        for player, amount in expected.items()
        if actual.get(player, 0) != amount
    ]
