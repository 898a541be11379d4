"""Load and validate `house.toml`, the configuration of a house.

The whole file is checked before anything is opened; errors name the line, the key and what to write
instead.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import time
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from threedice.api.config_file import ConfigFile, read_config_file
from threedice.errors import InvalidInput, Refusal, RulebookError, UnknownName
from threedice.house.allowances import HouseAmounts
from threedice.house.authority import ConfiguredTable
from threedice.house.commands import EstablishTable
from threedice.house.decisions import require_betting_time
from threedice.house.events import Timing
from threedice.house.variances import CountPolicy
from threedice.money import Currency
from threedice.names import check_texts, is_reserved
from threedice.rulebook import load
from threedice.rulebook.library import split_game_name
from threedice.rulebook.source import RulebookSource, read_rulebook
from threedice.rulebook.validation import find_misfit
from threedice.table.chip_counts.counts import (
    RequestedCounts,
    face_value,
    find_unclear_colour,
    is_colour,
    is_value_chip,
)
from threedice.table.commands import Actor, OpenTable
from threedice.table.limits import (
    LimitMode,
    StakeRange,
    TableLimits,
    check_chips,
    check_limits,
    uniform_limits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from threedice.rulebook import Game


MANUAL: Final = "docs/how-to/house-file.md"

Minutes = Annotated[int, msgspec.Meta(ge=1, le=1440)]
"""A duration of up to a day."""


class ConfigSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections of the file; unknown keys are errors."""


class TableLimitsConfig(ConfigSection, frozen=True, kw_only=True):
    """Limits of every box, differential of every pair, and exceptions by family or box (`only`)."""

    minimum: int
    maximum: int
    differential: int | None = None
    only: dict[str, tuple[int, int]] = {}


class TableConfig(ConfigSection, frozen=True, kw_only=True):
    """A table: game, chips, limits, float or rack, and timing if the house deals it.

    A table with a `rack` deals in chips: two people open it by counting the rack, which the cage
    issues as the file says.
    """

    game: str
    chips: list[int]
    limits: TableLimitsConfig
    readings: dict[str, str] = {}
    mode: LimitMode = "refuse"
    dealt_by_house: Timing | None = None
    rack: RequestedCounts = {}
    float: int | None = None

    @property
    def float_amount(self) -> int:
        """The value of the house's chips when the table opens."""
        return face_value(self.rack) if self.rack else self.float or 0


class HousePolicies(ConfigSection, frozen=True, kw_only=True):
    """Policies for sessions, second factors, requests, rates and play by staff."""

    totp_for_staff: bool = True
    idle_minutes: Minutes = 30
    player_idle_minutes: Minutes = 120
    longest_hours: Annotated[int, msgspec.Meta(ge=1, le=168)] = 12
    dealer_locks_after_minutes: Minutes = 5
    requests_expire_after_minutes: Minutes = 10
    approver_after_hours: Annotated[int, msgspec.Meta(ge=1, le=720)] = 24
    commands_per_second: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 20
    queries_per_second: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 50
    shortest_betting_seconds: Annotated[float, msgspec.Meta(ge=0.05, le=3600)] = 15.0
    staff_may_play: bool = False


TableName = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,39}\Z",
        extra={"form": "up to 40 small letters, digits and hyphens"},
    ),
]


class HouseConfig(ConfigSection, frozen=True, kw_only=True):
    """A house: name, currency, time zone, policies, amounts, counts and tables."""

    name: str
    currency: Currency
    time_zone: str
    gaming_day_starts: time = time(6)
    policies: HousePolicies = HousePolicies()
    authority: HouseAmounts = HouseAmounts()
    counts: CountPolicy = CountPolicy()
    tables: dict[TableName, TableConfig]


def load_config(file: Path) -> HouseConfig:
    """Load and validate a house file."""
    source = read_config_file(file)
    try:
        check_texts(source.data)
        config = msgspec.convert(source.data, HouseConfig)
    except InvalidInput as error:
        raise InvalidInput(f"{file.name}: {error}") from None
    except msgspec.ValidationError as error:
        misfit = find_misfit(source.data, HouseConfig, ())
        raise source.error(*(misfit or ((), str(error), f"see {MANUAL}"))) from None
    _check_config(config, source)
    return config


def _check_config(config: HouseConfig, source: ConfigFile) -> None:
    try:
        ZoneInfo(config.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        problem = f"there is no time zone {config.time_zone!r}"
        raise source.error(("time_zone",), problem, "use a name such as Asia/Singapore") from None
    if not config.tables:
        raise source.error(("tables",), "the house has no tables", "add [tables.NAME]")
    for name, table in config.tables.items():
        where = ("tables", name)
        if is_reserved(name):
            raise source.error(where, f"{name!r} is reserved for the house", "choose another name")
        try:
            check_table(table)
            require_betting_time(table.dealt_by_house, config.policies.shortest_betting_seconds)
        except TableMisfit as misfit:
            raise source.error((*where, misfit.key), misfit.problem, misfit.remedy) from None
        except Refusal as refusal:
            raise source.error(
                (*where, "dealt_by_house", "betting_seconds"),
                str(refusal),
                "write betting_seconds = {shortest} or more, or permit less by"
                " shortest_betting_seconds = {seconds} under [policies]".format_map(refusal.facts),
            ) from None
    _check_rulebook_ids(config, source)


def _check_rulebook_ids(config: HouseConfig, source: ConfigFile) -> None:
    """Refuse two rulebooks with the same id and different rules; logs name them by it."""
    first_uses = dict[str, tuple[str, RulebookSource]]()
    for name, table in config.tables.items():
        book = read_rulebook(split_game_name(table.game)[0])
        first_table, first = first_uses.setdefault(book.book.id, (name, book))
        if book.data != first.data:
            raise source.error(
                ("tables", name, "game"),
                f"{book.file} has the id {book.book.id!r} of {first.file}, which the table "
                f"{first_table} plays, and differs from it",
                "give one of them an id of its own",
            )


class TableMisfit(InvalidInput):
    """A setting of a table is not valid: its key, the problem and what to write instead."""

    def __init__(self, key: str, problem: str, remedy: str) -> None:
        self.key, self.problem, self.remedy = key, problem, remedy
        super().__init__(f"{key}: {problem}; {remedy}")


@contextmanager
def _setting(key: str, remedy: str) -> Iterator[None]:
    """Let errors name a key of a table, and what to write instead."""
    try:
        yield
    except (InvalidInput, UnknownName, RulebookError) as error:
        raise TableMisfit(key, str(error), remedy) from None


def check_table(table: TableConfig) -> Game:
    """Check that chips, limits and float fit a table's game; return the game."""
    with _setting("game", "threedice rulebooks lists the games"):
        load(table.game)
    with _setting("readings", "threedice rulebooks show lists the readings of a rulebook"):
        game = load(table.game, table.readings)
    with _setting("chips", "write them as in chips = [5, 25, 100]"):
        check_chips(table.chips)
    with _setting("limits", "change the limits, or give a box or family its own with `only`"):
        check_limits(configured_limits(table, game), game, table.chips)
    if table.rack:
        with _setting("rack", f"see {MANUAL}"):
            _check_rack(table, game)
    elif table.float is None:
        raise TableMisfit(
            "float",
            "the table has neither a `float` nor a `rack`",
            "give the value of its chips as `float`",
        )
    elif table.float < 0 or table.float % table.chips[0]:
        raise TableMisfit(
            "float",
            f"{table.float} is negative or not a multiple of the smallest chip, {table.chips[0]}",
            f"write for example float = {table.chips[0] * 1000}",
        )
    return game


def _check_rack(table: TableConfig, game: Game) -> None:
    """Check that a rack belongs to staff, has chips of the table, and is worth its float."""
    if table.dealt_by_house:
        raise InvalidInput("the house deals this table, in amounts: give `float` instead of `rack`")
    known = [str(chip) for chip in table.chips]
    has_colours = "non-value" in game.facts.chips.kinds
    for name in table.rack:
        if is_value_chip(name) and name not in known:
            raise InvalidInput(f"`rack` has chips of {name}, but `chips` are {', '.join(known)}")
        if not is_value_chip(name) and not has_colours:
            raise InvalidInput(
                f"`rack` has chips {name!r}, but this game has no chips without a value"
            )
        if not is_value_chip(name) and not is_colour(name):
            raise InvalidInput(
                f"`rack`: {name!r} cannot be the name of a colour; use letters a to z, with "
                "hyphens between them, such as light-blue"
            )
    unclear = find_unclear_colour(table.rack, known)
    if unclear is not None:
        raise InvalidInput(f"`rack`: {unclear!r} looks like another chip; choose another name")
    if table.float not in (None, table.float_amount):
        raise InvalidInput(
            f"the float {table.float} is not the value of `rack`, {table.float_amount}; "
            "leave `float` out"
        )


def configured_table(config: HouseConfig, name: str, by: Actor) -> ConfiguredTable:
    """Return the commands that set up and open a table of the house file."""
    table = config.tables[name]
    game = check_table(table)
    setup = EstablishTable(
        by=by, game=table.game, readings=table.readings, dealt_by_house=table.dealt_by_house
    )
    opening = OpenTable(
        by=by,
        table=name,
        currency=config.currency,
        mode=table.mode,
        chips=table.chips,
        float_amount=table.float_amount,
        limits=configured_limits(table, game),
        rack=table.rack or msgspec.UNSET,
    )
    return ConfiguredTable(setup, opening, game)


def is_configured_game(table: TableConfig, game: Game) -> bool:
    """Return whether a game is the one that the house file names for a table."""
    return load(table.game, table.readings).hash == game.hash


def configured_limits(table: TableConfig, game: Game) -> TableLimits:
    """Convert the configured limits of a table to limits of its game."""
    configured = table.limits
    limits = uniform_limits(game, configured.minimum, configured.maximum, configured.differential)
    families = {box.family for box in game.boxes.values()}
    for name, (minimum, maximum) in configured.only.items():
        ranges = limits.families if name in families else limits.boxes
        ranges[name] = StakeRange(minimum, maximum)
    return limits
