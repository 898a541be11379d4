"""A dealer who plays a table's rounds over the API, in the order of its own procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.screens.house import House

Roll = tuple[int, int, int]
PLAIN = {
    "open-betting": "OpenBetting",
    "close-betting": "CloseBetting",
    "throw": "Throw",
    "uncover": "Uncover",
    "illuminate": "Illuminate",
    "collect-losers": "CollectLosers",
    "pay-winners": "PayWinners",
}
"""Steps that say everything by being taken."""


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
    if step in PLAIN:
        house.send("dealer", table, PLAIN[step])
    elif step == "offer-dice":
        house.send("dealer", table, "OfferDice", player=house.id(shooter))
    elif step == "choose-dice":
        house.send(shooter, table, "ChooseDice", dice=[1, 2, 3])
    elif step == "tumble":
        house.send("dealer", table, "Tumble", times=3)
    elif step == "call-result":
        house.send("dealer", table, "CallResult", dice=roll)
    elif step == "enter-result":
        for face in roll:
            house.send("dealer", table, "PressKey", key=face)
        house.send("dealer", table, "PressEnter")
