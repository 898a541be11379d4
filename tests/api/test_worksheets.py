"""Worksheets of a table: areas of chips, room under the limits, and the sheet of the dealer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.house_app import problem_code
from tests.table.chip_table import ChipTable
from tests.table.table_driver import Table
from threedice.api.routes.worksheets import (
    ApportionedBet,
    LosingBet,
    WinningBet,
    table_room,
    working_sheet,
)
from threedice.api.views import build_table_view
from threedice.house.stream_state import HouseTable
from threedice.table import events as table_events
from threedice.table.limits import uniform_limits
from threedice.table.usual_steps import step_commands

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp
    from threedice.api.routes.worksheets import SpotRoom, TableRoom, WorkingSheet
    from threedice.api.views import SeatView, TableView
    from threedice.rulebook.conduct import StepName

C = "sg-rws-tai-sai-v6/c"
E = "sg-rws-tai-sai-v6/e"
NZ = "nz-tai-sai-2008/1"
TRIPLE_DICE = "triple-dice/mat"
HOUSE_DICE = (4, 5, 6)


def view(table: Table, player: str = "") -> TableView:
    """Return the view of a table for a player, or for its staff."""
    house_table = HouseTable(table.state, id="t", game=table.game.id, game_hash=table.game.hash)
    return build_table_view(table.game, house_table, 1, "player" if player else "staff", player)


def chips_of(table: Table, player: str) -> SeatView:
    return view(table, player).seats[player]


def room(table: Table, player: str = "ann") -> TableRoom:
    return table_room(table.game, table.state, 1, player)


def spot(table: Table, name: str, player: str = "ann") -> SpotRoom:
    return room(table, player).spots[name]


def sheet(table: Table) -> WorkingSheet:
    return working_sheet(table.game, table.state, 1)


def play_until(table: Table, step: StepName, dice: tuple[int, int, int] = HOUSE_DICE) -> None:
    """Play a round until just before a step."""
    order = table.game.facts.procedure.order
    for each in order[: order.index(step)]:
        if each not in table.state.current.done:
            for command in step_commands(table.game, table.state, each, dice):
                table.send(command)


# --- areas of chips -----------------------------------------------------------------------------


def test_chips_are_listed_by_area_of_the_felt() -> None:
    table = Table(E)
    table.play("open betting", "ann bets 100 on big at left", "ann bets 50 on big at right")
    table.play("ann bets 25 on big", "ann bets 100 on single:1")
    mine = chips_of(table, "ann")
    assert mine.bets == {"big": 175, "single:1": 100}
    assert mine.areas == {"big@left": 125, "big@right": 50, "single:1": 100}
    assert mine.placements == {
        "big": [("left", 1, 100), ("right", 2, 50), ("", 3, 25)],
        "single:1": [("", 4, 100)],
    }


def test_reduced_bet_keeps_the_chips_placed_first() -> None:
    table = Table(E, limits=uniform_limits(Table(E).game, 50, 200, 1000))
    table.play("open betting", "ann bets 150 on big at right", "ann bets 150 on big at left")
    play_until(table, "pay-winners")
    assert chips_of(table, "ann").bets == {"big": 200}
    assert chips_of(table, "ann").areas == {"big@right": 150, "big@left": 50}


def test_standing_bets_of_a_void_round_are_shown_until_the_next_round() -> None:
    table = Table(NZ, readings={"no-spin": "stand"})
    table.play("open betting", "ann bets 100 on big", "bob bets 50 on big")
    table.play("dealer reports dice-not-flat")
    mine = view(table, "ann")
    assert (mine.round, mine.standing) == (None, {"big": 150})
    assert mine.seats["ann"].bets == mine.seats["ann"].areas == {"big": 100}
    assert spot(table, "big").room == 900  # of the player's own maximum
    table.play("open betting")
    mine = view(table, "ann")
    assert mine.round
    assert (mine.standing, mine.round.totals) == ({}, {"big": 150})


def test_debt_of_a_player_who_left_is_shown() -> None:
    table = Table(stacks={"ann": 500, "bob": 500})
    table.play("open betting", "ann bets 100 on big", "dice 4 5 6", "ann leaves with 600")
    table.play("supervisor reports dice-damaged affecting 1 with shift-manager")
    table.play("open betting")
    assert view(table, "ann").owing == {"ann": 100}
    assert view(table, "bob").owing == {}
    assert view(table).owing == {"ann": 100}


# --- room under the limits ----------------------------------------------------------------------


def test_room_under_a_shared_maximum_excludes_bets_of_others() -> None:
    table = Table(C)
    table.play("open betting", "ann bets 100 on big", "bob bets 600 on big")
    on_big = spot(table, "big")
    assert (on_big.minimum, on_big.maximum, on_big.step) == (50, 1000, 5)
    assert (on_big.own, on_big.total, on_big.room) == (100, 700, 300)
    assert set(room(table).spots) == set(table.game.boxes)


def test_the_differential_leaves_room_on_the_lighter_side() -> None:
    table = Table(C, limits=uniform_limits(Table(C).game, 50, 1000, 300))
    table.play("open betting", "ann bets 200 on big", "bob bets 100 on small")
    pair = next(each for each in room(table).differential if "big" in each.boxes)
    held = dict(zip(pair.boxes, pair.totals, strict=True))
    left = dict(zip(pair.boxes, pair.room, strict=True))
    assert (pair.limit, held) == (300, {"big": 200, "small": 100})
    assert left == {"big": 200, "small": 400}


def test_per_area_limits_give_each_end_its_own_room() -> None:
    table = Table(E, readings={"areas": "per-area"})
    table.play("open betting", "ann bets 200 on big at left")
    assert (spot(table, "big@left").room, spot(table, "big@right").room) == (800, 1000)
    pairs = [each.boxes for each in room(table).differential]
    assert sorted(sorted(each) for each in pairs) == [
        ["big@left", "small@left"],
        ["big@right", "small@right"],
    ]


def test_shooter_box_has_room_for_the_shooter_only() -> None:
    table = Table(TRIPLE_DICE)
    table.play("offer the dice to ann")
    assert spot(table, "shooter").room == 0
    table.play("ann chooses dice 1 2 3", "open betting")
    assert (spot(table, "shooter").own, spot(table, "shooter").room) == (0, 1000)
    table.play("ann bets 100 on shooter")
    assert (spot(table, "shooter").own, spot(table, "shooter").room) == (100, 0)
    assert (spot(table, "shooter", "bob").own, spot(table, "shooter", "bob").room) == (0, 0)
    mine, others = view(table, "ann").shooter, view(table, "bob").shooter
    assert mine
    assert others
    assert (mine.stake, mine.dice, others.stake) == (100, [1, 2, 3], 0)


def test_a_table_that_was_never_opened_has_no_room() -> None:
    table = Table(C)
    table.state.limits = None
    assert room(table).spots == {}


# --- the dealer's sheet -------------------------------------------------------------------------


def test_bets_over_and_under_limits_are_flagged_in_working_order() -> None:
    table = Table(C, limits=uniform_limits(Table(C).game, 50, 500, 300))
    table.play("open betting", "ann bets 5 on single:1", "bob bets 600 on any-triple")
    table.play("bob bets 400 on small")
    flags = [(each.spot, each.player, each.limit, each.allowed) for each in sheet(table).flags]
    assert flags == [
        ("any-triple", "", "maximum", 500),
        ("small", "", "differential", 300),
        ("single:1", "ann", "minimum", 50),
    ]
    assert all(each.clause for each in sheet(table).flags)


@pytest.mark.parametrize("game", [C, E, NZ, "macau-sic-bo/main", TRIPLE_DICE])
@pytest.mark.parametrize("dice", [(4, 5, 6), (1, 1, 1), (1, 1, 4)])
def test_sheet_predicts_collection_and_payment(game: str, dice: tuple[int, int, int]) -> None:
    table = Table(game, limits=uniform_limits(Table(game).game, 50, 200, 300))
    if game == TRIPLE_DICE:
        table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
        table.play("ann bets 100 on shooter")
    else:
        table.play("open betting")
    boxes = [box for box in table.game.boxes if box != "shooter"]
    for player, box in zip(["bob", "cat"] * 10, boxes[:20], strict=False):
        table.play(f"{player} bets 150 on {box}")
    play_until(table, "collect-losers", dice)
    before = repr(table.state)
    predicted = sheet(table)
    assert repr(table.state) == before
    assert predicted.lit == list(table.game.winning(dice))
    events = table.play("collect the losers")
    assert sheet(table).pay == predicted.pay
    assert (sheet(table).collect, sheet(table).flags) == ([], [])
    events += table.play("pay the winners")
    collected: list[LosingBet] = []
    paid: list[WinningBet] = []
    for event in events:
        match event:
            case table_events.LosersCollected():
                collected += [LosingBet(*bet) for bet in event.bets]
            case table_events.ShooterLost():
                collected.append(LosingBet("shooter", event.player, event.stake))
            case table_events.WinnersPaid():
                paid += [WinningBet(*bet) for bet in event.bets]
            case table_events.ShooterWon():
                paid.append(WinningBet("shooter", event.player, event.stake, event.winnings))
            case _:
                pass
    assert (predicted.collect, predicted.pay) == (collected, paid)
    assert collected or paid


def test_a_bet_over_an_unnoticed_limit_is_apportioned_on_the_sheet() -> None:
    table = Table(C, limits=uniform_limits(Table(C).game, 50, 200, 1000))
    table.play("open betting", "ann bets 300 on big")
    play_until(table, "collect-losers")
    (part,) = sheet(table).apportion
    assert (part.spot, part.player, part.stake, part.plays) == ("big", "ann", 300, 200)
    assert sheet(table).pay == [WinningBet("big", "ann", 200, 200)]


@pytest.mark.parametrize("dice", [(6, 5, 4), (1, 2, 3)])
def test_sheet_shows_a_rejection_that_waits_for_change(dice: tuple[int, int, int]) -> None:
    table = ChipTable({"5": 2, "100": 100}, chips=[5, 100], limits=(50, 1000, 2000))
    table.buy_in("ann", 910)
    table.buy_in("bob", 100)
    table.play("open betting", "ann bets 910 on big", "bob bets 100 on big",
               "dealer rejects the excess on big")  # fmt: skip

    waiting = [ApportionedBet("big", "bob", 100, 90)]
    assert sheet(table).apportion == waiting
    assert (chips_of(table, "bob").bets, chips_of(table, "bob").excess) == (
        {"big": 90},
        {"big": 10},
    )
    play_until(table, "collect-losers", dice)
    assert sheet(table).apportion == waiting
    if dice == (6, 5, 4):  # all of it is handed back, and the rack cannot pay 910
        paid = [WinningBet("big", "ann", 910, 910), WinningBet("big", "bob", 100, 90)]
        assert sheet(table).pay == paid
    else:
        lost = [LosingBet("big", "ann", 910), LosingBet("big", "bob", 90)]
        assert sheet(table).collect == lost


def test_sheet_lists_payouts_when_the_float_is_short() -> None:
    table = Table(C, stacks={"ann": 2000}, float_amount=2500)
    table.play("open betting", "ann bets 600 on big")
    play_until(table, "pay-winners")
    assert table.expect_refusal("pay the winners").code == "float/short"
    assert sheet(table).pay == [WinningBet("big", "ann", 600, 600)]


def test_sheet_is_empty_between_rounds() -> None:
    table = Table(C)
    predicted = sheet(table)
    assert (predicted.flags, predicted.lit, predicted.collect, predicted.pay) == ([], [], [], [])


# --- over the API -------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_room_is_shown_to_its_player_and_to_staff(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 25)
    mine = await house_in_play.get("player", "/api/tables/1/room")
    assert mine["spots"]["big"]["own"] == 25
    head = house_in_play.store.head("table/1")
    assert mine["version"] == head.version
    path = f"/api/tables/1/room?player={house_in_play.id('player')}"
    assert await house_in_play.get("dealer", path) == mine
    assert (await house_in_play.get("dealer", "/api/tables/1/room"))["spots"]["big"]["own"] == 0
    assert problem_code(await house_in_play.client("other player").get(path)) == "door/own"
    house_in_play.add_account("elsewhere", "dealer")
    assert problem_code(await house_in_play.client("elsewhere").get(path)) == "door/role"


@pytest.mark.anyio
async def test_sheet_is_shown_only_to_staff_at_the_table(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 25)
    response = await house_in_play.get("dealer", "/api/tables/1/sheet")
    assert response == {
        "version": house_in_play.store.head("table/1").version,
        "flags": [],
        "lit": [],
        "apportion": [],
        "collect": [],
        "pay": [],
    }
    assert (
        problem_code(await house_in_play.client("player").get("/api/tables/1/sheet")) == "door/role"
    )
    house_in_play.add_account("elsewhere", "dealer")
    response = await house_in_play.client("elsewhere").get("/api/tables/1/sheet")
    assert problem_code(response) == "door/role"
    missing = await house_in_play.client("auditor").get("/api/tables/nowhere/sheet")
    assert missing.status_code == 404
