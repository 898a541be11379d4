"""The tables of a house file: set up once, and afterwards left as people have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.floor.setting import SUPERVISOR
from tests.floor.setting import People as Asking
from tests.web.live_house import DESCRIBED, TABLE
from threedice.errors import OperatingFailure
from threedice.floor import Floor
from threedice.floor.commands import EstablishTable
from threedice.floor.events import Timing
from threedice.log.memory import MemoryStore
from threedice.people.names import CONSOLE
from threedice.table import commands as asked
from threedice.web.house_file import HouseFile, Limits, Policies
from threedice.web.serving import policy_of
from threedice.web.setting_up import AT_THE_CONSOLE, set_up_tables

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio


@pytest.fixture
async def floor() -> AsyncIterator[Floor]:
    async with Floor(MemoryStore()) as floor:
        yield floor


def changed(**changes: object) -> HouseFile:
    table = msgspec.structs.replace(DESCRIBED.tables[TABLE], **changes)
    return msgspec.structs.replace(DESCRIBED, tables={TABLE: table})


async def test_a_table_is_set_up_and_opened_as_the_file_says(floor: Floor) -> None:
    assert await set_up_tables(floor, DESCRIBED) == []
    tended = await floor.tended(TABLE)
    assert (tended.game, tended.table.open) == ("sg-rws-tai-sai-v6/a", True)
    assert (tended.table.currency, tended.table.float_amount) == ("SGD", 100_000_000)
    assert tended.table.mode == "record"


async def test_a_second_start_changes_nothing(floor: Floor) -> None:
    await set_up_tables(floor, DESCRIBED)
    before = floor.store.head(f"table/{TABLE}")
    assert await set_up_tables(floor, DESCRIBED) == []
    assert floor.store.head(f"table/{TABLE}") == before


async def test_a_table_that_people_closed_stays_closed(floor: Floor) -> None:
    await set_up_tables(floor, DESCRIBED)
    await Asking(floor, TABLE).ask(asked.CloseTable(by=SUPERVISOR))
    (notice,) = await set_up_tables(floor, DESCRIBED)
    assert notice == f"table {TABLE} is closed; its people open it"
    assert not (await floor.tended(TABLE)).table.open


async def test_what_the_file_says_otherwise_is_told_and_not_done(floor: Floor) -> None:
    await set_up_tables(floor, DESCRIBED)
    before = floor.store.head(f"table/{TABLE}")
    other = changed(
        game="sg-rws-tai-sai-v6/c",
        chips=[5, 25],
        limits=Limits(minimum=10, maximum=100),
        dealt_by_house=Timing(),
    )
    told = "\n".join(await set_up_tables(floor, msgspec.structs.replace(other, currency="NZD")))
    for word in ("sg-rws-tai-sai-v6/a", "dealt by people", "chips", "limits", "plays in SGD"):
        assert word in told
    assert floor.store.head(f"table/{TABLE}") == before


async def test_a_start_that_was_cut_short_is_finished(floor: Floor) -> None:
    command = EstablishTable(by=AT_THE_CONSOLE, game="sg-rws-tai-sai-v6/a")
    key = f"house file: establish {TABLE}"
    await floor.handle(command, table=TABLE, account=CONSOLE, key=key)
    assert await set_up_tables(floor, DESCRIBED) == []
    assert (await floor.tended(TABLE)).table.open


async def test_a_table_with_opening_checks_waits_for_its_people(floor: Floor) -> None:
    (notice,) = await set_up_tables(floor, changed(game="nz-tai-sai-2008/2"))
    assert "waits for its opening checks: power" in notice


async def test_servers_with_different_files_are_told_so(floor: Floor) -> None:
    other = EstablishTable(by=AT_THE_CONSOLE, game="macau-sic-bo/main")
    key = f"house file: establish {TABLE}"
    await floor.handle(other, table="elsewhere", account=CONSOLE, key=key)
    with pytest.raises(OperatingFailure, match="same house file"):
        await set_up_tables(floor, DESCRIBED)


async def test_policies_of_the_file_are_those_of_the_people() -> None:
    policies = Policies(
        totp_for_staff=False,
        idle_minutes=1,
        player_idle_minutes=2,
        longest_hours=3,
        dealer_locks_after_minutes=4,
        requests_expire_after_minutes=5,
    )
    policy = policy_of(policies, "Palace")
    assert (policy.second_factor, policy.issuer) == (False, "Palace")
    assert (policy.staff_idle_seconds, policy.player_idle_seconds) == (60, 120)
    assert (policy.session_seconds, policy.lock_seconds) == (3 * 3600, 240)
    assert policy.request_seconds == 300
