"""Guessing at passwords: strangers are slowed down, and nobody else is."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import open_house_app, problem_code
from tests.identity.identity_cluster import PASSWORD, SteppedClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

OWNER, OTHER = "198.51.100.1", "198.51.100.2"
"""Addresses of the owner of an account and of somebody else."""

DEVICE_COOKIE = "threedice-device"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def house(anyio_backend: str, clock: SteppedClock) -> AsyncIterator[HouseApp]:  # noqa: ARG001
    async with open_house_app(behind_proxy=True, clock=clock) as opened:
        yield opened


async def attempt(
    client: httpx.AsyncClient,
    name: str = "dealer-name",
    password: str = "wrong and wrong",
    address: str = OTHER,
    **more: Any,
) -> httpx.Response:
    """Try to sign in from an address, with the cookies of a client."""
    return await client.post(
        "/api/session",
        json={"name": name, "password": password, **more},
        headers={"X-Forwarded-For": address},
    )


async def known_device(house: HouseApp, name: str = "dealer-name") -> httpx.AsyncClient:
    """Return a client whose cookies are those of a browser that signed in and out."""
    client = house.client()
    signed_in = await attempt(client, name, PASSWORD, OWNER)
    assert signed_in.status_code == 200, signed_in.text
    assert (await client.delete("/api/session")).status_code == 204
    assert DEVICE_COOKIE in client.cookies
    return client


async def guess_from(
    house: HouseApp, addresses: int, each: int, name: str = "dealer-name"
) -> Counter[str]:
    """Guess at an account from many addresses at once; return how often which problem came."""
    client = house.client()
    tries = [
        attempt(client, name, f"guess {number} of many", f"203.0.113.{number % addresses}")
        for number in range(addresses * each)
    ]
    return Counter(problem_code(response) for response in await asyncio.gather(*tries))


async def test_a_flood_of_guesses_keeps_no_owner_from_a_known_device_or_from_unlocking(
    house: HouseApp,
) -> None:
    terminal, device = house.client(), await known_device(house)
    await attempt(terminal, "dealer-name", PASSWORD, OWNER)
    looked_at = 0
    for _ in range(3):
        await terminal.post("/api/session/lock")
        flood = asyncio.create_task(guess_from(house, 40, 3))
        unlocked = await terminal.post("/api/session/unlock", json={"password": PASSWORD})
        signed_in = await attempt(device, "dealer-name", PASSWORD, "203.0.113.7")
        problems = await flood
        assert (unlocked.status_code, signed_in.status_code) == (200, 200)
        assert set(problems) <= {"sign-in/credentials", "sign-in/wait"}
        looked_at += problems["sign-in/credentials"]
    assert looked_at == 5


async def test_a_flood_under_many_names_keeps_no_owner_out(house: HouseApp) -> None:
    device = await known_device(house)
    client, unknown = house.client(), house.client()
    flood = [
        attempt(client, f"name{number}", address=f"203.0.113.{number % 16}")
        for number in range(16 * 30)
    ]
    tasks = asyncio.gather(*flood)
    signed_in = await attempt(device, "dealer-name", PASSWORD, OWNER)
    from_unknown = await attempt(unknown, "player-name", PASSWORD, OWNER)
    assert (signed_in.status_code, from_unknown.status_code) == (200, 200)
    assert {each.status_code for each in await tasks} <= {401, 429}


async def test_strangers_get_25_guesses_an_hour_at_an_account_whatever_its_owner_does(
    house: HouseApp, clock: SteppedClock
) -> None:
    """Neither the owner's successes nor many addresses give a stranger more guesses."""
    device, looked_at = await known_device(house), 0
    for minute in range(60):
        problems = await guess_from(house, 7, 1)
        looked_at += problems["sign-in/credentials"]
        signed_in = await attempt(device, "dealer-name", PASSWORD, OWNER)
        assert signed_in.status_code == 200, f"after {minute} minutes"
        unknown = await attempt(house.client(), "dealer-name", PASSWORD, OTHER)
        assert unknown.status_code in (200, 429)
        clock.move(60)
    assert 5 <= looked_at <= 25


async def test_a_stolen_device_and_its_locked_session_give_25_guesses_an_hour_in_all(
    house: HouseApp, clock: SteppedClock
) -> None:
    terminal = house.client()
    await attempt(terminal, "dealer-name", PASSWORD, OWNER)
    await terminal.post("/api/session/lock")
    thief = house.client()
    thief.cookies.set(DEVICE_COOKIE, terminal.cookies[DEVICE_COOKIE])
    looked_at, soonest = 0, [0, 0, 0, 0, 1, 4, 16, 64, 256, 900, 900, 900]
    for wait in soonest:
        clock.move(wait)
        tries = [
            await attempt(house.client()),
            await attempt(thief),
            await terminal.post("/api/session/unlock", json={"password": "wrong and wrong"}),
        ]
        looked_at += sum(problem_code(each) == "sign-in/credentials" for each in tries)
    assert 20 <= looked_at <= 25


async def test_an_owner_at_an_unknown_device_waits_and_reads_the_way_round(
    house: HouseApp,
) -> None:
    await guess_from(house, 40, 1)
    client = house.client()
    waits = await attempt(client, "dealer-name", PASSWORD, OWNER)
    assert (waits.status_code, problem_code(waits)) == (429, "sign-in/wait")
    assert int(waits.headers["retry-after"]) >= 1
    for language, words in {
        "en": ("device that signed in", "administrator"),
        "zh-Hant": ("裝置", "管理員"),
        "zh-Hans": ("设备", "管理员"),
    }.items():
        client.headers["Accept-Language"] = language
        detail = (await attempt(client, "dealer-name", PASSWORD, OWNER)).json()["detail"]
        assert all(word in detail for word in words)


async def test_a_first_password_from_an_administrator_is_a_way_round(house: HouseApp) -> None:
    await guess_from(house, 40, 1)
    reset = await house.client("administrator").post(f"/api/people/{house.id('dealer')}/password")
    await guess_from(house, 40, 1)
    password = reset.json()["password"]
    signed_in = await attempt(house.client(), "dealer-name", password, OWNER)
    assert signed_in.status_code == 200


async def test_unknown_names_are_refused_like_known_ones_during_a_flood(house: HouseApp) -> None:
    known, unknown = await guess_from(house, 40, 1), await guess_from(house, 40, 1, "nobody")
    assert known == unknown
    client = house.client()
    answers = [await attempt(client, name, PASSWORD, OWNER) for name in ("dealer-name", "nobody")]
    assert answers[0].content == answers[1].content


# --- addresses ------------------------------------------------------------------------------------


async def test_people_who_mistype_once_do_not_make_their_address_wait(house: HouseApp) -> None:
    client = house.client()
    for number in range(25):
        await attempt(client, f"guest{number}", address=OWNER)
    assert (await attempt(client, "player-name", PASSWORD, OWNER)).status_code == 200


async def test_an_address_that_fails_often_waits_and_is_forgiven_within_minutes(
    house: HouseApp, clock: SteppedClock
) -> None:
    client = house.client()
    codes = [problem_code(await attempt(client, f"name{n}")) for n in range(60)]
    assert codes == ["sign-in/credentials"] * 40 + ["sign-in/wait"] * 20
    waits = await attempt(client, "player-name", PASSWORD)
    assert int(waits.headers["retry-after"]) <= 6
    clock.move(60)
    codes = [problem_code(await attempt(client, f"again{n}")) for n in range(20)]
    assert codes == ["sign-in/credentials"] * 10 + ["sign-in/wait"] * 10


async def test_a_success_lowers_the_failures_of_its_address_once_an_hour(house: HouseApp) -> None:
    """Somebody with an account of their own cannot buy guesses with it."""
    client = house.client()
    for number in range(39):
        await attempt(client, f"name{number}")
    for _ in range(3):
        signed_in = await attempt(house.client(), "player-name", PASSWORD)
        assert signed_in.status_code == 200
    codes = [problem_code(await attempt(client, f"again{n}")) for n in range(10)]
    assert codes == ["sign-in/credentials"] * 6 + ["sign-in/wait"] * 4


# --- devices --------------------------------------------------------------------------------------


async def test_the_device_cookie_is_out_of_reach_of_scripts_and_other_sites() -> None:
    async with open_house_app(secure=True, origins=("https://house.test",)) as house:
        client = house.client(Origin="https://house.test")
        signed_in = await client.post(
            "https://house.test/api/session",
            json={"name": "player-name", "password": PASSWORD},
        )
    session, device = signed_in.headers.get_list("set-cookie")
    assert session.startswith("__Host-threedice=")
    assert device.startswith("__Host-threedice-device=")
    flags = {flag.strip().lower() for flag in device.split(";")[1:]}
    assert {"httponly", "secure", "path=/", "samesite=strict"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)
    assert any(flag.startswith("max-age=") for flag in flags)
    assert device.split(";")[0].partition("=")[2] not in signed_in.text


async def test_a_device_is_known_only_to_the_accounts_that_signed_in_with_it(
    house: HouseApp,
) -> None:
    device = await known_device(house, "player-name")
    await guess_from(house, 40, 1)
    assert (await attempt(device, "dealer-name", PASSWORD)).status_code == 429


async def test_a_shared_terminal_is_known_to_every_account_that_used_it(house: HouseApp) -> None:
    terminal = await known_device(house, "dealer-name")
    names = ("supervisor-name", "player-name")
    for name in names:
        assert (await attempt(terminal, name, PASSWORD, OWNER)).status_code == 200
    for name in ("dealer-name", *names):
        await guess_from(house, 40, 1, name)
        assert (await attempt(terminal, name, PASSWORD)).status_code == 200


@pytest.mark.parametrize("cookie", ["", "A" * 43, ".".join(["B" * 43] * 50), "x", "a b;c"])
async def test_a_made_up_device_cookie_gives_no_further_guesses(
    house: HouseApp, cookie: str
) -> None:
    client = house.client(Cookie=f"{DEVICE_COOKIE}={cookie}")
    codes = [problem_code(await attempt(client)) for _ in range(8)]
    assert codes == ["sign-in/credentials"] * 5 + ["sign-in/wait"] * 3


async def test_guesses_at_one_device_leave_the_other_devices_of_the_account_alone(
    house: HouseApp,
) -> None:
    stolen, other = await known_device(house), await known_device(house)
    codes = [problem_code(await attempt(stolen)) for _ in range(6)]
    assert codes == ["sign-in/credentials"] * 4 + ["sign-in/wait"] * 2
    assert (await attempt(other, "dealer-name", PASSWORD)).status_code == 200


@pytest.mark.parametrize("ending", ["reset", "change", "disable", "end-sessions"])
async def test_a_device_is_forgotten_with_the_password_or_the_sessions_of_its_account(
    house: HouseApp, ending: str
) -> None:
    device, admin = await known_device(house), house.client("administrator")
    path, password = f"/api/people/{house.id('dealer')}", PASSWORD
    match ending:
        case "reset":
            password = (await admin.post(f"{path}/password")).json()["password"]
        case "change":
            changed, password = house.client(), "another long and quiet river"
            await attempt(changed, "dealer-name", PASSWORD, OWNER)
            form = {"old": PASSWORD, "new": password}
            assert (await changed.put("/api/session/password", json=form)).is_success
        case "disable":
            assert (await admin.post(f"{path}/disable")).is_success
            house.identity.accounts.enable(house.id("dealer"))
        case _:
            assert (await admin.delete(f"{path}/sessions")).is_success
    await guess_from(house, 40, 1)
    wrong = await attempt(device, "dealer-name")
    assert problem_code(wrong) == "sign-in/wait"
    if ending == "change":
        assert (await attempt(changed, "dealer-name", password)).status_code == 200
