"""Names and card numbers of players: at a table, and in a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import problem_code
from tests.identity.identity_cluster import add_account
from threedice.api.routes.players import MAX_FOUND, card_number

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


def _by_player(answer: Any) -> dict[str, dict[str, Any]]:
    return {line["player"]: line for line in answer["players"]}


async def _record_name(house: HouseApp, who: str, name: str) -> None:
    path = f"/api/accounts/{house.id(who)}/person"
    assert (await house.client("shift-manager").put(path, json={"name": name})).is_success


async def test_staff_see_the_name_card_and_seat_of_every_player(house_in_play: HouseApp) -> None:
    house, first, second = (
        house_in_play,
        house_in_play.id("player"),
        house_in_play.id("other player"),
    )
    await _record_name(house, "player", "Ann Tan")

    answer = await house.get("dealer", "/api/tables/1/players")

    assert _by_player(answer) == {
        first: {
            "player": first,
            "name": "Ann Tan",
            "card": card_number(first),
            "guest": 0,
            "seat": 1,
        },
        second: {
            "player": second,
            "name": house.accounts["other player"].name,
            "card": card_number(second),
            "guest": 0,
            "seat": 2,
        },
    }
    own = await house.get("other player", "/api/tables/1/players")
    assert own == {"players": [_by_player(answer)[second]], "next_guest": None}


async def test_a_guest_gets_the_lowest_number_that_is_free_at_the_table(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    guests = []
    for _ in range(2):
        guest = (await house.get("dealer", "/api/tables/1/players"))["next_guest"]
        guests.append(guest["player"])
        bought = {"type": "BuyIn", "player": guest["player"], "amount": 100, "source": "cash"}
        assert (await house.send("dealer", bought)).is_success
    answer = await house.get("dealer", "/api/tables/1/players")
    lines = _by_player(answer)
    assert [(lines[each]["guest"], lines[each]["seat"]) for each in guests] == [(1, 3), (2, 4)]
    assert all(not lines[each]["name"] and not lines[each]["card"] for each in guests)

    left = {"type": "CashOut", "player": guests[0], "amount": 100, "to": "outside"}
    assert (await house.send("dealer", left)).is_success

    answer = await house.get("dealer", "/api/tables/1/players")
    assert answer["next_guest"]["guest"] == 1
    assert answer["next_guest"]["player"] != guests[0]
    assert _by_player(answer)[guests[1]]["seat"] == 4, "the others keep their seats"


async def test_players_of_a_settled_round_are_listed_after_they_left(
    house_in_play: HouseApp,
) -> None:
    house, player = house_in_play, house_in_play.id("player")
    assert (await house.bet("player", 5)).is_success
    await house.finish_round()
    stack = (await house.get("dealer", "/api/tables/1"))["seats"][player]["stack"]
    left = {"type": "CashOut", "player": player, "amount": stack, "to": "outside"}
    assert (await house.send("dealer", left)).is_success

    assert player not in _by_player(await house.get("dealer", "/api/tables/1/players"))
    listed = _by_player(await house.get("dealer", "/api/tables/1/players?of_round=1"))
    assert list(listed) == [player]
    assert (await house.get("dealer", "/api/tables/1/players?of_round=2"))["players"] == []
    assert (listed[player]["seat"], listed[player]["card"]) == (0, card_number(player))


async def test_search_finds_players_by_name_and_card_number_only(house_in_play: HouseApp) -> None:
    house, player = house_in_play, house_in_play.id("player")
    await _record_name(house, "player", "Ann Tan")

    async def find(text: str) -> list[str]:
        client = house.client("dealer")
        found = (await client.get("/api/players", params={"search": text})).json()
        assert all(set(line) == {"player", "name", "card", "guest", "seat"} for line in found)
        return [line["player"] for line in found]

    for text in ("ann", "TAN", "ta an", card_number(player), player[:5]):
        assert await find(text) == [player], text
    assert await find("supervisor") == [], "staff are not players"
    assert await find("nobody") == []
    house.identity.accounts.disable(player)
    assert await find("ann") == []


async def test_search_is_limited(house_in_play: HouseApp) -> None:
    house = house_in_play
    for number in range(MAX_FOUND + 1):
        add_account(house.identity, f"crowd{number}", "player")
    found = await house.get("dealer", "/api/players?search=crowd")
    assert [line["name"] for line in found] == [f"crowd{number}" for number in range(MAX_FOUND)]
    for query in ("", "?search=a", "?search=%20%20%20", f"?search={'a' * 65}"):
        refused = await house.client("dealer").get(f"/api/players{query}")
        assert (refused.status_code, problem_code(refused)) == (422, "door/form"), query


async def test_search_is_for_staff_on_duty(house: HouseApp) -> None:
    for who in ("player", "dealer", "administrator"):
        refused = await house.client(who).get("/api/players?search=name")
        assert refused.status_code == 403, who
    house.assign("dealer")
    assert await house.get("dealer", "/api/players?search=name")


async def test_nothing_is_known_of_an_erased_or_unknown_player(house_in_play: HouseApp) -> None:
    house, player = house_in_play, house_in_play.id("player")
    forgotten = await house.client("administrator").post(f"/api/people/{player}/forget")
    assert forgotten.is_success
    for each in (player, "stranger"):
        line = await house.get("dealer", f"/api/players/{each}")
        assert line == {"player": each, "name": "", "card": "", "guest": 0, "seat": 0}
