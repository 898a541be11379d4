"""The tables of a house file: set up once, and not changed by later starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.api.live_server import HOUSE_CONFIG, TABLE
from tests.house.house_driver import MANAGER, SUPERVISOR, People
from tests.house.intruder import Intruder
from threedice.api.config import HouseConfig, HousePolicies, TableLimitsConfig, configured_table
from threedice.api.server import CONSOLE_ACTOR, identity_policy, set_up_tables
from threedice.errors import InvariantBroken, OperatingFailure, TamperedData
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.house.events import Timing
from threedice.house.house import House
from threedice.identity.audit_trail import CONSOLE
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands, events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
async def handler() -> AsyncIterator[CommandHandler]:
    async with CommandHandler(MemoryStore()) as handler:
        yield handler


def change_table(**changes: object) -> HouseConfig:
    table = msgspec.structs.replace(HOUSE_CONFIG.tables[TABLE], **changes)
    return msgspec.structs.replace(HOUSE_CONFIG, tables={TABLE: table})


async def test_first_start_opens_the_tables_of_the_house_file(handler: CommandHandler) -> None:
    assert await set_up_tables(handler, HOUSE_CONFIG) == []
    house_table = await handler.table(TABLE)
    assert (house_table.game, house_table.table.open) == ("sg-rws-tai-sai-v6/a", True)
    assert (house_table.table.currency, house_table.table.float_amount) == ("SGD", 100_000_000)
    assert house_table.table.mode == "record"


async def test_second_start_leaves_tables_unchanged(handler: CommandHandler) -> None:
    await set_up_tables(handler, HOUSE_CONFIG)
    before = handler.store.head(f"table/{TABLE}")
    assert await set_up_tables(handler, HOUSE_CONFIG) == []
    assert handler.store.head(f"table/{TABLE}") == before


async def test_table_closed_by_staff_stays_closed_on_restart(handler: CommandHandler) -> None:
    await set_up_tables(handler, HOUSE_CONFIG)
    await People(handler, TABLE).send(commands.CloseTable(by=SUPERVISOR))
    (notice,) = await set_up_tables(handler, HOUSE_CONFIG)
    assert notice == f"table {TABLE} is closed; its staff can open it"
    assert not (await handler.table(TABLE)).table.open


async def test_changed_table_settings_are_reported_and_not_applied(handler: CommandHandler) -> None:
    await set_up_tables(handler, HOUSE_CONFIG)
    before = handler.store.head(f"table/{TABLE}")
    other = change_table(
        game="sg-rws-tai-sai-v6/c",
        chips=[5, 25],
        limits=TableLimitsConfig(minimum=10, maximum=100),
        dealt_by_house=Timing(),
    )
    notices = "\n".join(
        await set_up_tables(handler, msgspec.structs.replace(other, currency="NZD"))
    )
    for word in ("sg-rws-tai-sai-v6/a", "dealt by people", "chips", "limits", "plays in SGD"):
        assert word in notices
    assert handler.store.head(f"table/{TABLE}") == before


async def test_interrupted_first_start_is_completed(handler: CommandHandler) -> None:
    command = EstablishTable(by=CONSOLE_ACTOR, game="sg-rws-tai-sai-v6/a")
    key = f"house file: establish {TABLE}"
    await handler.handle(command, table=TABLE, account=CONSOLE, key=key)
    assert await set_up_tables(handler, HOUSE_CONFIG) == []
    assert (await handler.table(TABLE)).table.open


async def test_table_with_opening_checks_waits_for_staff(handler: CommandHandler) -> None:
    (notice,) = await set_up_tables(handler, change_table(game="nz-tai-sai-2008/2"))
    assert "waits for its opening checks: power" in notice


async def test_servers_with_different_house_files_are_refused(handler: CommandHandler) -> None:
    other = EstablishTable(by=CONSOLE_ACTOR, game="macau-sic-bo/main")
    key = f"house file: establish {TABLE}"
    await handler.handle(other, table="elsewhere", account=CONSOLE, key=key)
    with pytest.raises(OperatingFailure, match="same house file"):
        await set_up_tables(handler, HOUSE_CONFIG)


RACK = {"5": 100, "25": 40, "100": 20}
RACKED = change_table(chips=[5, 25, 100], rack=RACK, float=None)


async def test_table_with_a_rack_is_set_up_and_waits_for_two_people_to_count_it(
    handler: CommandHandler,
) -> None:
    for _ in range(2):
        (notice,) = await set_up_tables(handler, RACKED)
        assert notice == f"table {TABLE} waits for two people to count its rack and open it"
    house_table = await handler.table(TABLE)
    assert (house_table.game, house_table.table.open) == ("sg-rws-tai-sai-v6/a", False)


def first_opening(**changes: object) -> commands.OpenTable:
    """Open the table with its rack as the house file has it."""
    opening = configured_table(RACKED, TABLE, SUPERVISOR).opening
    return msgspec.structs.replace(opening, approved_by=MANAGER, issued=RACK, **changes)


async def test_open_table_keeps_its_rack_whatever_the_house_file_says_on_restart(
    handler: CommandHandler,
) -> None:
    await set_up_tables(handler, RACKED)
    await People(handler, TABLE).send(first_opening())
    before = handler.store.head(f"table/{TABLE}")
    assert await set_up_tables(handler, RACKED) == []
    other = change_table(chips=[5, 25, 100], rack={"5": 1}, float=None)
    assert await set_up_tables(handler, other) == []
    assert handler.store.head(f"table/{TABLE}") == before


async def test_notice_names_a_table_that_does_not_deal_as_the_house_file_says(
    handler: CommandHandler,
) -> None:
    amounts = change_table(chips=[5, 25, 100])
    await set_up_tables(handler, amounts)
    (notice,) = await set_up_tables(handler, RACKED)
    assert notice == f"table {TABLE} deals in amounts, unlike the house file"
    people = People(handler, TABLE)
    await people.send(commands.CloseTable(by=SUPERVISOR))
    await people.send(first_opening())
    (notice,) = await set_up_tables(handler, amounts)
    assert notice == f"table {TABLE} deals in chips, unlike the house file"


DAMAGES = {
    "an entry that the house has not written": "",
    "changed bytes": "UPDATE entries SET data = x'00' WHERE stream = 'table/first'",
    "an unknown kind": "UPDATE entries SET kind = 'Nothing' WHERE stream = 'table/first'",
    "no entries": "DELETE FROM entries WHERE stream = 'table/first'",
    "a missing last entry": "DELETE FROM entries WHERE stream = 'table/first' AND version = 2",
    "a changed head": "UPDATE streams SET hash = zeroblob(32) WHERE stream = 'table/first'",
    "a malformed head": "UPDATE streams SET hash = x'07' WHERE stream = 'table/first'",
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damaged_table_of_the_house_file_stands_still_and_the_others_are_served(
    damage: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'house.sqlite'}"
    table = HOUSE_CONFIG.tables[TABLE]
    config = msgspec.structs.replace(HOUSE_CONFIG, tables={"first": table})
    async with House(url) as house:
        await set_up_tables(house.command_handler, config)
    intruder = Intruder(url)
    if statement := DAMAGES[damage]:
        intruder.execute((statement, ()), ("DELETE FROM snapshots", ()))
    else:
        intruder.append(
            "table/first",
            events.TableClosed(by=SUPERVISOR, carried_away=[], float_amount=0, drop=0),
        )
    config = msgspec.structs.replace(config, tables={"first": table, "second": table})
    async with House(url) as house:
        assert list(house.damaged) == ["table/first"]
        assert await set_up_tables(house.command_handler, config, house.damaged) == []
        assert (await house.command_handler.table("second")).table.open
        with pytest.raises((InvariantBroken, TamperedData)):
            await house.command_handler.table("first")


async def test_policies_of_the_house_file_become_the_identity_policy() -> None:
    policies = HousePolicies(
        totp_for_staff=False,
        idle_minutes=1,
        player_idle_minutes=2,
        longest_hours=3,
        dealer_locks_after_minutes=4,
        requests_expire_after_minutes=5,
    )
    policy = identity_policy(policies, "Palace")
    assert (policy.second_factor, policy.issuer) == (False, "Palace")
    assert (policy.staff_idle_seconds, policy.player_idle_seconds) == (60, 120)
    assert (policy.session_seconds, policy.lock_seconds) == (3 * 3600, 240)
    assert policy.request_seconds == 300
