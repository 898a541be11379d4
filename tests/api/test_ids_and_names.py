"""Ids, names and texts: what could be mistaken for something else is refused at every entry."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.house_app import problem_code

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

DECEPTIVE = {
    "a trailing newline": "zed\n",
    "a zero-width space": "ze\u200bd",
    "a byte order mark": "\ufeffzed",
    "a right-to-left override": "\u202edez",
    "a private-use character": "zed\ue000",
    "an unassigned character": "zed\u0378",
    "a noncharacter": "zed\uffff",
    "a variation selector": "zed\ufe0f",
    "a Hangul filler": "zed\u3164",
    "a line separator": "zed\u2028",
    "a replacement character": "zed\ufffd",
    "a delete character": "zed\x7f",
    "a C1 control character": "zed\x85",
    "a decomposed letter": "ze\u0301d",
    "the parent of a path": "..",
    "a path in disguise": "..zed",
    "one dot": ".",
    "the house": "house",
    "the console": "console",
    "the console in capitals": "CONSOLE",
    "the house with a Cyrillic letter": "h\u043euse",
}
deceptive_ids = pytest.mark.parametrize("player", DECEPTIVE.values(), ids=DECEPTIVE)


SET_UP = {"type": "EstablishTable", "game": "sg-rws-tai-sai-v6/a"}


async def open_account(house: HouseApp, player: str) -> Any:
    return await house.client("supervisor").post(
        f"/api/accounts/{quote(player, safe='')}/commands",
        json={"type": "OpenAccount", "currency": "SGD"},
        headers={"Idempotency-Key": f"k{next(house.keys)}"},
    )


def buy_in(player: str) -> dict[str, Any]:
    return {"type": "BuyIn", "player": player, "amount": 100, "age_years": 30}


async def set_person(house: HouseApp, player: str, name: str) -> Any:
    path = f"/api/accounts/{quote(player, safe='')}/person"
    return await house.client("supervisor").put(path, json={"name": name})


async def add_person(house: HouseApp, name: str) -> Any:
    body = {"name": name, "roles": ["player"]}
    return await house.client("administrator").post("/api/people", json=body)


async def add_display(house: HouseApp, label: str) -> Any:
    body = {"table": "1", "label": label}
    return await house.client("pit-manager").post("/api/displays", json=body)


@deceptive_ids
async def test_deceptive_id_is_no_player(house_in_play: HouseApp, player: str) -> None:
    house = house_in_play
    head = house.store.head("table/1")

    answers = [
        await open_account(house, player),
        await set_person(house, player, "Zed"),
        await house.send("dealer", buy_in(player)),
    ]

    assert {answer.status_code for answer in answers} <= {404, 405, 422}
    assert house.store.head("table/1") == head
    assert not house.store.head(f"account/{player}").version


@pytest.mark.parametrize("invalid", ["zed%FF", "%C0%AE%C0%AE", "zed%ED%A0%80"])
async def test_path_with_invalid_utf_8_is_no_player(house_in_play: HouseApp, invalid: str) -> None:
    answer = await house_in_play.client("supervisor").post(
        f"/api/accounts/{invalid}/commands",
        json={"type": "OpenAccount", "currency": "SGD"},
        headers={"Idempotency-Key": "k"},
    )
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/api/tables/1%0A",
        "/api/tables/1%0A/results",
        "/api/commands/key%0A",
        "/api/requests/abc%0A",
        "/api/accounts/ann%0A",
        "/api/tables/1/room?player=ann%0A",
        "/api/requests?table=1%0A",
        "/api/rulebooks/sg-rws-tai-sai-v6%0A",
    ],
)
async def test_path_or_query_with_a_trailing_newline_is_refused(
    house_in_play: HouseApp, path: str
) -> None:
    answer = await house_in_play.client("supervisor").get(path)
    assert answer.status_code in (404, 422)
    assert problem_code(answer) != "unknown/name"


async def test_currency_with_a_trailing_newline_is_refused(house_in_play: HouseApp) -> None:
    answer = await house_in_play.client("supervisor").post(
        "/api/accounts/ann/commands",
        json={"type": "OpenAccount", "currency": "SGD\n"},
        headers={"Idempotency-Key": "k"},
    )
    assert answer.status_code == 422


@pytest.mark.parametrize("table", ["house", "Console", "a..b"])
async def test_table_is_not_set_up_under_a_name_of_the_house_or_a_path(
    house_in_play: HouseApp, table: str
) -> None:
    answer = await house_in_play.send("pit-manager", SET_UP, table=table)
    assert problem_code(answer) == "input/wrong"


@pytest.mark.parametrize("character", ["\n", "\u202e", "\u200b", "\ue000", "\x1b"])
async def test_free_text_with_a_deceptive_character_is_refused(
    house_in_play: HouseApp, character: str
) -> None:
    house, text = house_in_play, f"the dice{character}fell"
    release = {"type": "ReleaseTable", "reason": text}
    assert (await house.send("supervisor", release)).status_code == 422
    assert (await set_person(house, "ann", text)).status_code in (403, 422)
    assert (await add_person(house, text)).status_code == 422
    manager = house.client("shift-manager")
    assert (await manager.post("/api/house/release", json={"reason": text})).status_code == 422
    correction = {
        "type": "CorrectBet", "round": 1, "player": house.id("player"), "amount": 5, "reason": text,
    }  # fmt: skip
    request = {"command": correction, "reason": "as agreed"}
    answer = await manager.post("/api/tables/1/requests", json=request)
    assert answer.status_code == 422


async def test_name_of_a_person_is_stored_in_one_normal_form(house_in_play: HouseApp) -> None:
    assert (await set_person(house_in_play, "ann", "Zoe\u0308  Tan ")).status_code == 204
    stored = await house_in_play.get("supervisor", "/api/accounts/ann/person")
    assert stored["name"] == "Zo\u00eb Tan"


async def test_text_of_a_command_is_stored_in_one_normal_form(house_in_play: HouseApp) -> None:
    command = {"type": "AbandonRound", "reason": "Zoe\u0308 fell"}
    answer = await house_in_play.send("dealer", command)
    assert answer.status_code == 200, answer.text
    assert "Zo\u00eb fell" in answer.text


async def test_player_who_looks_like_another_at_the_table_is_refused(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    assert (await house.send("dealer", buy_in("ann1"))).status_code == 200

    for alike in ("\u0430nn1", "annl", "annI", "Ann1", "\uff41nn1"):
        answer = await house.send("dealer", buy_in(alike))
        assert problem_code(answer) == "player/looks-alike"
        assert answer.json()["facts"]["other"] == "ann1"

    assert (await house.send("dealer", buy_in("ann2"))).status_code == 200
    assert (await house.send("dealer", buy_in("ann1"))).status_code == 200


async def test_sign_in_name_that_looks_like_another_is_refused(house_in_play: HouseApp) -> None:
    assert (await add_person(house_in_play, "olga")).status_code == 201
    for alike in ("Olga", "0lga", "\u043elga", "o1ga", "oIga"):
        assert problem_code(await add_person(house_in_play, alike)) == "account/taken"


REFUSED_CATEGORIES: tuple[Any, ...] = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
ids = st.text(
    st.one_of(
        st.sampled_from("ann.-_1"),
        st.characters(),
        st.characters(categories=[*REFUSED_CATEGORIES, "Mn", "Zs"]),
    ),
    min_size=1,
    max_size=6,
).filter(lambda text: "/" not in text)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=ids)
async def test_accepted_ids_and_names_are_visible_and_normalised(
    house_in_play: HouseApp, text: str
) -> None:
    house = house_in_play
    visible = not any(unicodedata.category(each) in REFUSED_CATEGORIES for each in text)
    normalised = unicodedata.normalize("NFC", text) == text
    if any("\ud800" <= each <= "\udfff" for each in text):  # cannot be sent
        return

    ids_accepted = [
        (await open_account(house, text)).status_code == 200,
        (await house.send("dealer", buy_in(text))).status_code == 200,
        (await set_person(house, text, "Ann")).status_code == 204,
        (await house.send("pit-manager", SET_UP, table=quote(text))).status_code == 200,
    ]
    names_accepted = [
        (await set_person(house, "ann", text)).status_code == 204,
        (await add_person(house, text)).status_code == 201,
        (await add_display(house, text)).status_code == 201,
    ]

    assert (visible and normalised) or not any(ids_accepted)
    assert visible or not any(names_accepted)
    if names_accepted[0]:
        stored = (await house.get("supervisor", "/api/accounts/ann/person"))["name"]
        assert stored == unicodedata.normalize("NFC", stored)
