"""`house.toml`: a real house in one file, checked strictly before anything is opened."""

from __future__ import annotations

import tomllib
from datetime import time
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from threedice.errors import InvalidInput, RulebookError, UnknownName
from threedice.house.events import Timing
from threedice.rulebook import load
from threedice.rulebook.validation import convert
from threedice.table.limits import (
    LimitMode,
    StakeRange,
    TableLimits,
    check_chips,
    check_limits,
    uniform_limits,
)

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook import Game


Minutes = Annotated[int, msgspec.Meta(ge=1, le=1440)]
"""Something that lasts a while, and not for days."""


class ConfigSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: unknown keys are refused."""


class TableLimitsConfig(ConfigSection, frozen=True, kw_only=True):
    """Limits for every box, a differential for every pair, and exceptions by family or box."""

    minimum: int
    maximum: int
    differential: int | None = None
    only: dict[str, tuple[int, int]] = {}


class TableConfig(ConfigSection, frozen=True, kw_only=True):
    """A table: its game, its chips, its limits, and who deals it."""

    game: str
    chips: list[int]
    float: int
    limits: TableLimitsConfig
    readings: dict[str, str] = {}
    mode: LimitMode = "refuse"
    dealt_by_house: Timing | None = None


class HousePolicies(ConfigSection, frozen=True, kw_only=True):
    """How long people stay signed in, and what they need to sign in."""

    totp_for_staff: bool = True
    idle_minutes: Minutes = 30
    player_idle_minutes: Minutes = 120
    longest_hours: Annotated[int, msgspec.Meta(ge=1, le=168)] = 12
    dealer_locks_after_minutes: Minutes = 5
    requests_expire_after_minutes: Minutes = 10
    commands_per_second: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 20


class HouseConfig(ConfigSection, frozen=True, kw_only=True):
    """A house."""

    name: str
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    time_zone: str
    gaming_day_starts: time = time(6)
    policies: HousePolicies = HousePolicies()
    tables: dict[Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9-]{0,39}$")], TableConfig]


def load_config(file: Path) -> HouseConfig:
    """Read and check a file; whatever is wrong is named with its key and what to do."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InvalidInput(f"{file} is no TOML: {error}") from None
    house = convert(data, HouseConfig, file.name)
    _check_config(house, file.name)
    return house


def _check_config(house: HouseConfig, file: str) -> None:
    try:
        ZoneInfo(house.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        problem = f"there is no time zone {house.time_zone!r}"
        raise RulebookError(file, "time_zone", problem, "write it like Asia/Singapore") from None
    if not house.tables:
        raise RulebookError(file, "tables", "the house has no table", "add [tables.NAME]")
    for name, table in house.tables.items():
        try:
            check_table(table)
        except (InvalidInput, UnknownName, RulebookError) as error:
            remedy = "see threedice rulebooks show, and docs/how-to/house-file.md"
            raise RulebookError(file, f"tables.{name}", str(error), remedy) from None


def check_table(table: TableConfig) -> Game:
    """Return the game of a table whose chips, limits and float fit it."""
    game = load(table.game, table.readings)
    check_chips(table.chips)
    check_limits(configured_limits(table, game), game, table.chips)
    if table.float < 0 or table.float % table.chips[0]:
        raise InvalidInput(f"a float of {table.float} cannot be made in chips of {table.chips[0]}")
    return game


def configured_limits(table: TableConfig, game: Game) -> TableLimits:
    """Return the limits of a table as its game takes them."""
    configured = table.limits
    limits = uniform_limits(game, configured.minimum, configured.maximum, configured.differential)
    families = {box.family for box in game.boxes.values()}
    for name, (least, most) in configured.only.items():
        kind = limits.families if name in families else limits.boxes
        kind[name] = StakeRange(least, most)
    return limits
