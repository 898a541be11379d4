"""The tables of a house file: set up once, and not changed by later starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.api.live_server import HOUSE_CONFIG, TABLE
from tests.house.house_driver import SUPERVISOR, People
from threedice.api.config import HouseConfig, HousePolicies, TableLimitsConfig
from threedice.api.server import CONSOLE_ACTOR, identity_policy, set_up_tables
from threedice.errors import OperatingFailure
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.house.events import Timing
from threedice.identity.audit_trail import CONSOLE
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
