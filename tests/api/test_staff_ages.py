"""Birth dates of staff, and tables whose rulebook has a minimum age for them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.api.house_app import problem_code, seat_players

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

YEAR = datetime.now(UTC).year
CHILD, ADULT = f"{YEAR - 17}-01-01", f"{YEAR - 19}-01-01"
FILL = {"type": "FillFloat", "amount": 100}


@pytest.fixture
async def two_games(house_in_play: HouseApp) -> HouseApp:
    """Open a table of Triple Dice, where nobody under 18 deals, beside the one of Tai Sai."""
    await seat_players(house_in_play, betting=False, game_id="triple-dice/mat", table="t")
    house_in_play.assign("dealer", "t")
    house_in_play.assign("supervisor", "t")
    return house_in_play


async def record(house: HouseApp, who: str, born: str) -> None:
    path = f"/api/people/{house.id(who)}/birth-date"
    kept = await house.client("administrator").put(path, json={"born": born})
    assert kept.status_code == 204, kept.text


@pytest.mark.clause("triple-dice 10")
async def test_dealer_under_age_is_refused_where_the_rulebook_has_a_minimum_age(
    two_games: HouseApp,
) -> None:
    offer = {"type": "OfferDice", "player": two_games.id("player")}
    await record(two_games, "dealer", CHILD)
    refused = await two_games.send("dealer", offer, table="t")
    assert (problem_code(refused), refused.json()["clause"]) == ("role/age", ["10"])
    assert (await two_games.send("dealer", {"type": "CloseBetting"})).is_success

    await record(two_games, "dealer", ADULT)
    assert (await two_games.send("dealer", offer, table="t")).is_success


@pytest.mark.clause("triple-dice 10")
async def test_request_approved_by_a_person_under_age_is_refused(two_games: HouseApp) -> None:
    fill = {**FILL, "amount": 10_000_000}
    await record(two_games, "pit-manager", CHILD)
    request = await two_games.request("supervisor", fill, place="tables/t")
    assert problem_code(await two_games.approve("pit-manager", request)) == "role/age"
    request = await two_games.request("supervisor", fill, place="tables/t")
    assert (await two_games.approve("shift-manager", request)).is_success


async def test_only_administrators_record_and_see_birth_dates_of_staff(house: HouseApp) -> None:
    dealer, own = house.id("dealer"), house.id("administrator")
    admin = house.client("administrator")
    body = {"born": ADULT}
    for who in ("dealer", "supervisor", "shift-manager", "auditor"):
        refused = await house.client(who).put(f"/api/people/{dealer}/birth-date", json=body)
        assert problem_code(refused) == "door/role"
    own_date = await admin.put(f"/api/people/{own}/birth-date", json=body)
    assert problem_code(own_date) == "door/self"
    assert (await admin.get(f"/api/people/{dealer}/birth-date")).json() == {"born": None}
    await record(house, "dealer", ADULT)
    assert (await admin.get(f"/api/people/{dealer}/birth-date")).json() == body
    unknown = await admin.put("/api/people/nobody/birth-date", json=body)
    assert unknown.status_code == 404


async def test_personal_data_of_staff_is_not_changed_as_that_of_a_player(house: HouseApp) -> None:
    house.assign("supervisor")
    path = f"/api/accounts/{house.id('supervisor')}/person"
    person = {"name": "Sue", "born": ADULT}
    assert problem_code(await house.client("supervisor").put(path, json=person)) == "door/role"
    assert problem_code(await house.client("shift-manager").delete(path)) == "door/role"


@pytest.mark.parametrize("end", ["forget", "decline"])
async def test_new_account_has_its_birth_date_until_it_is_erased(house: HouseApp, end: str) -> None:
    house.add_account("second administrator", "administrator")
    admin, other = house.client("administrator"), house.client("second administrator")
    body = {"name": "dora", "roles": ["dealer"], "born": ADULT}
    response = await admin.post("/api/people", json=body)
    assert response.is_success, response.text
    added = response.json()["account"]["id"]
    assert (await admin.get(f"/api/people/{added}/birth-date")).json() == {"born": ADULT}

    (enrolment,) = (await other.get("/api/enrolments")).json()
    decline = f"enrolments/{enrolment['id']}/decline"
    path = decline if end == "decline" else f"people/{added}/forget"
    assert (await other.post(f"/api/{path}")).is_success
    assert (await admin.get(f"/api/people/{added}/birth-date")).json() == {"born": None}


async def birth_date_events(house: HouseApp) -> list[tuple[str, str, str]]:
    trail = await house.get("administrator", "/api/trail")
    kind = "birth-date-changed"
    return [(each["account"], each["by"], each["detail"]) for each in trail if each["kind"] == kind]


async def test_changes_of_a_birth_date_are_in_the_security_trail_without_the_date(
    house: HouseApp,
) -> None:
    admin, dealer = house.id("administrator"), house.id("dealer")
    await record(house, "dealer", ADULT)
    path = f"/api/people/{dealer}/birth-date"
    await house.client("administrator").put(path, json={"born": None})
    assert await birth_date_events(house) == [(dealer, admin, ""), (dealer, admin, "removed")]
    body = {"name": "dora", "roles": ["player"], "born": ADULT}
    added = (await house.client("administrator").post("/api/people", json=body)).json()
    assert (await birth_date_events(house))[2:] == [(added["account"]["id"], admin, "")]


async def test_changes_of_a_players_birth_date_are_in_the_security_trail(house: HouseApp) -> None:
    house.assign("supervisor")
    supervisor, manager = house.id("supervisor"), house.id("shift-manager")
    path = "/api/accounts/ann/person"
    for name in ("Ann", "Anne"):
        person = {"name": name, "born": ADULT}
        assert (await house.client("supervisor").put(path, json=person)).status_code == 204
    assert await birth_date_events(house) == [("ann", supervisor, "")]
    assert (await house.client("shift-manager").delete(path)).status_code == 204
    assert (await birth_date_events(house))[1:] == [("ann", manager, "removed")]


@pytest.mark.parametrize("born", ["1066-10-14", "2099-01-01", f"{YEAR - 122}-01-01"])
async def test_implausible_birth_date_is_refused(house: HouseApp, born: str) -> None:
    house.assign("supervisor")
    admin, path = house.client("administrator"), f"/api/people/{house.id('dealer')}/birth-date"
    body = {"name": "dora", "roles": ["player"], "born": born}
    for refused in (
        await admin.put(path, json={"born": born}),
        await admin.post("/api/people", json=body),
        await house.client("supervisor").put(
            "/api/accounts/ann/person", json={"name": "Ann", "born": born}
        ),
    ):
        assert (refused.status_code, problem_code(refused)) == (422, "input/wrong")
    assert (await admin.get(path)).json() == {"born": None}
    assert house.identity.accounts.find_by_name("dora") is None
    assert await birth_date_events(house) == []


async def test_forgotten_account_gets_no_birth_date_or_name_again(house: HouseApp) -> None:
    house.assign("supervisor")
    admin = house.client("administrator")
    for who in ("dealer", "player"):
        path = f"/api/people/{house.id(who)}"
        assert (await admin.post(f"{path}/forget")).status_code == 204
        refused = await admin.put(f"{path}/birth-date", json={"born": ADULT})
        assert (refused.status_code, problem_code(refused)) == (409, "account/forgotten")
    person = f"/api/accounts/{house.id('player')}/person"
    for body in ({"name": "Ann", "born": ADULT}, {"name": "Ann"}):
        refused = await house.client("supervisor").put(person, json=body)
        assert (refused.status_code, problem_code(refused)) == (409, "account/forgotten")
    assert await birth_date_events(house) == []
