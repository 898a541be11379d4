"""Rounds dealt over the API, step by step as the rulebook of the table has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.screens.house import House

Roll = tuple[int, int, int]


def deal(
    house: House,
    table: str,
    dice: Roll,
    bets: Mapping[str, int],
    who: str = "player",
    upto: str = "pay-winners",
) -> int:
    """Deal a round up to a step, with a player's bets; return its number."""
    conduct = house.get(f"/api/tables/{table}/game")["conduct"]
    for step in conduct["procedure"]["order"]:
        if step not in (_round(house, table) or {}).get("done", []):
            take(house, table, step, dice, conduct["procedure"]["steps"][step])
        if step == "open-betting":
            for box, amount in bets.items():
                house.send(who, table, "PlaceBet", player=house.id(who), box=box, amount=amount)
        if step == upto:
            break
    number: int = house.get(f"/api/tables/{table}")["rounds"]
    return number


def take(house: House, table: str, step: str, dice: Roll, rule: Mapping[str, Any]) -> None:
    """Take one step of a round as the dealer."""
    match step:
        case "tumble":
            house.send("dealer", table, "Tumble", times=rule.get("at_least", 1))
        case "call-result":
            house.send("dealer", table, "CallResult", dice=dice)
        case "enter-result":
            for key in dice:
                house.send("dealer", table, "PressKey", key=key)
            house.send("dealer", table, "PressEnter")
        case _:
            house.send("dealer", table, "".join(word.capitalize() for word in step.split("-")))


def _round(house: House, table: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = house.get(f"/api/tables/{table}")["round"]
    return found
