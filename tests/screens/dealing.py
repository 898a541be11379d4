"""A dealer who plays a table's rounds over the API, in the order of its own procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.screens.house import House

Roll = tuple[int, int, int]


def deal(house: House, table: str, roll: Roll, *, until: str = "", shooter: str = "player") -> None:
    """Play a round that shows a roll, or only as far as before one of its steps."""
    procedure = house.get(f"/api/tables/{table}/game")["conduct"]["procedure"]
    current = house.get(f"/api/tables/{table}")["round"]
    done = current["done"] if current else []
    for step in procedure["order"]:
        if step == until:
            return
        if step not in done:
            _take(house, table, step, roll, shooter)


def _take(house: House, table: str, step: str, roll: Roll, shooter: str) -> None:
    match step:
        case "offer-dice":
            view = house.get(f"/api/tables/{table}")
            if not view["shooter"]:  # he keeps the dice while he shows crowns
                house.send("dealer", table, "OfferDice", player=house.id(shooter))
        case "choose-dice":
            shooting = house.get(f"/api/tables/{table}")["round"]
            if not shooting or "choose-dice" not in shooting["done"]:
                house.try_to(shooter, table, "ChooseDice", dice=[1, 2, 3])
        case "open-betting":
            house.send("dealer", table, "OpenBetting")
        case "close-betting":
            house.send("dealer", table, "CloseBetting")
        case "tumble":
            house.send("dealer", table, "Tumble", times=3)
        case "throw":
            house.send("dealer", table, "Throw")
        case "uncover":
            house.send("dealer", table, "Uncover")
        case "call-result":
            house.send("dealer", table, "CallResult", dice=roll)
        case "enter-result":
            for face in roll:
                house.send("dealer", table, "PressKey", key=face)
            house.send("dealer", table, "PressEnter")
        case "illuminate":
            house.send("dealer", table, "Illuminate", correct=True)
        case "collect-losers":
            house.send("dealer", table, "CollectLosers")
        case "pay-winners":
            house.send("dealer", table, "PayWinners")
