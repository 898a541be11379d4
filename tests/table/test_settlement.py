"""Settlement: its order, the float it needs, void rounds and reversals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR, Table
from threedice.table import Refusal, TableState, commands, decide, events
from threedice.table.limits import find_breaches
from threedice.table.voids import reverse_nets, reverse_rounds, stakes_on_layout, void_round

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.table.commands import AnyCommand

SHOOTER = ("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
           "ann bets 100 on shooter")  # fmt: skip
A_CROWN, NO_CROWN = "dice crown club club", "dice club club heart"


# --- collecting and paying ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [commands.CollectLosers(by=DEALER), commands.PayWinners(by=DEALER)], ids=type
)
def test_settlement_at_a_closed_table_is_refused(command: AnyCommand) -> None:
    with pytest.raises(Refusal) as refused:
        decide(Table().game, TableState(), command)

    assert refused.value.code == "table/not-open"


def test_excess_is_returned_before_losers_are_collected_and_winners_paid() -> None:
    table = Table()
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "cat bets 100 on odd",
               "ann bets 50 on small")  # fmt: skip
    settled = [each for each in table.play("dice 6 5 5") if hasattr(each, "bets")]

    assert settled == [
        events.BetsApportioned(bets=[("big", "ann", 900, 750), ("big", "bob", 300, 250)]),
        events.LosersCollected(bets=[("odd", "cat", 100), ("small", "ann", 50)]),
        events.WinnersPaid(
            round=1, dice=(6, 5, 5), bets=[("big", "ann", 750, 750), ("big", "bob", 250, 250)]
        ),
    ]


def test_apportioned_bet_loses_only_its_share() -> None:
    table = Table()
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "dice 1 1 2")

    assert events.LosersCollected(bets=[("big", "ann", 750), ("big", "bob", 250)]) in table.events
    assert (table.stack("ann"), table.stack("bob")) == (1250, 1750)


def test_a_box_exactly_at_its_limit_is_not_apportioned() -> None:
    table = Table()
    table.play("open betting", "ann bets 700 on big", "bob bets 300 on big", "dice 6 5 5")

    assert not [each for each in table.events if isinstance(each, events.BetsApportioned)]


def test_bets_over_a_players_own_maximum_are_not_apportioned(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "own"\ntitle = "Own maximum"\n'
        '[limits.maximum]\nscope = "player"\n',
        encoding="utf-8",
    )
    table = Table(f"{file}/a")
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "dice 6 5 5")

    assert (table.stack("ann"), table.stack("bob")) == (2900, 2300)


def test_excess_over_a_shared_maximum_stands_without_a_pro_rata_rule(tmp_path: Path) -> None:
    file = tmp_path / "stands.toml"
    file.write_text(
        'extends = "macau-sic-bo"\nid = "stands"\ntitle = "Shared, and stands"\n'
        '[limits.maximum]\nscope = "box"\n',
        encoding="utf-8",
    )
    table = Table(f"{file}/main")
    table.play("open betting", "ann bets 900 on big", "bob bets 300 on big", "dice 6 5 5")

    assert (table.stack("ann"), table.stack("bob")) == (2900, 2300)


@pytest.mark.parametrize(("amount", "enough"), [(180 * 50, True), (180 * 50 - 5, False)])
def test_payout_that_exceeds_the_float_is_refused(amount: int, enough: bool) -> None:
    table = Table(stacks={"ann": 1000}, float_amount=amount + 1000)
    table.play("open betting", "ann bets 50 on triple:4", "close betting", "tumbles 3 times",
               "uncover the dice", "call 4 4 4", "enters 4 4 4", "light the areas",
               "collect the losers")  # fmt: skip

    assert table.state.float_amount == amount
    if enough:
        table.play("pay the winners")
        assert (table.stack("ann"), table.state.float_amount) == (1000 + 9000, 0)
    else:
        refusal = table.expect_refusal("pay the winners")
        assert (refusal.code, refusal.facts) == ("float/short", {"short": 5})


# --- the shooter --------------------------------------------------------------------------------


@pytest.mark.parametrize(("amount", "enough"), [(900, True), (895, False)])
def test_shooter_winnings_that_exceed_the_float_are_refused(amount: int, enough: bool) -> None:
    table = Table("triple-dice", stacks={"ann": 1000}, float_amount=1000 + amount)
    table.play(*SHOOTER, A_CROWN, *["open betting", A_CROWN] * 2, "open betting")

    if enough:
        table.play(A_CROWN)
        assert (table.stack("ann"), table.state.float_amount) == (1900, 0)
    else:
        refusal = table.expect_refusal(A_CROWN)
        assert (refusal.code, refusal.facts) == ("float/short", {"short": 5})


def test_the_shooter_advances_throw_by_throw_and_wins_on_the_last() -> None:
    table = Table("triple-dice", stacks={"ann": 1000})
    table.play(*SHOOTER, A_CROWN, *["open betting", A_CROWN] * 3)
    shooter_events = [each for each in table.events if type(each).__name__.startswith("Shooter")]

    assert shooter_events == [
        *(events.ShooterAdvanced(player="ann", throws=throws) for throws in (1, 2, 3)),
        events.ShooterWon(player="ann", stake=100, winnings=900),
    ]
    assert table.state.shooter is None


def test_shooter_bet_is_lost_at_the_first_throw_without_a_crown() -> None:
    table = Table("triple-dice", stacks={"ann": 1000, "bob": 1000})
    table.play(*SHOOTER, A_CROWN, "open betting", "bob bets 50 on single:club")
    lost = [
        each for each in table.play(NO_CROWN) if hasattr(each, "bets") or hasattr(each, "stake")
    ]

    assert lost == [
        events.LosersCollected(bets=[]),
        events.ShooterLost(player="ann", stake=100),
        events.WinnersPaid(round=2, dice=(6, 6, 4), bets=[("single:club", "bob", 50, 50)]),
    ]
    assert table.state.shooter is None


NOBODY_SHOOTS = """
extends = "triple-dice"
removes = [
  "procedure.steps.offer-dice", "procedure.steps.choose-dice", "readings.players-without-device",
]
id = "nobody-shoots"
title = "Nobody shoots"
[procedure]
order = ["open-betting", "close-betting", "throw", "call-result", "collect-losers", "pay-winners"]
[procedure.steps.throw]
by = ["dealer"]
[shooter]
must_bet = false
"""


@pytest.mark.parametrize(("dice", "left"), [(A_CROWN, 950), (NO_CROWN, 1050)])
def test_throw_without_a_shooter_settles_the_other_bets(
    tmp_path: Path, dice: str, left: int
) -> None:
    file = tmp_path / "nobody-shoots.toml"
    file.write_text(NOBODY_SHOOTS, encoding="utf-8")
    table = Table(f"{file}/mat", stacks={"bob": 1000})
    table.play("open betting", "bob bets 50 on single:heart")
    assert list(find_breaches(table.game, table.state)) == []
    table.play(dice)

    assert table.stack("bob") == left


# --- voiding ------------------------------------------------------------------------------------


def test_void_round_returns_every_bet_except_the_shooter_bet() -> None:
    table = Table("triple-dice", readings={"no-throw": "return"}, stacks={"ann": 1000, "bob": 1000})
    table.play(*SHOOTER, "bob bets 50 on red", "ann bets 30 on red", "bob bets 5 on black")
    state, game = table.state, table.game
    back = [("red", "bob", 50), ("red", "ann", 30), ("black", "bob", 5)]

    assert stakes_on_layout(game, state) == back
    assert void_round(game, state, "a", "returned", DEALER) == [
        events.RoundVoided(round=1, cause="a", bets="returned", returned=back, by=DEALER)
    ]
    assert void_round(game, state, "a", "stand", DEALER) == [
        events.RoundVoided(round=1, cause="a", bets="stand", returned=[], by=DEALER)
    ]
    assert void_round(game, state, "a", "returned", DEALER, MANAGER, include_shooter_bet=True) == [
        events.RoundVoided(
            round=1,
            cause="a",
            bets="returned",
            returned=[*back, ("shooter", "ann", 100)],
            by=DEALER,
            approved_by=MANAGER,
        )
    ]


def test_void_round_returns_nothing_to_a_shooter_without_a_bet() -> None:
    table = Table("triple-dice", stacks={"ann": 1000})
    table.play(*SHOOTER[:3])

    assert void_round(
        table.game, table.state, "a", "returned", DEALER, include_shooter_bet=True
    ) == [events.RoundVoided(round=1, cause="a", bets="returned", returned=[], by=DEALER)]


def test_bets_left_standing_are_returned_when_the_table_closes() -> None:
    table = Table("nz-tai-sai-2008/1", readings={"no-spin": "stand"}, stacks={"ann": 1000})
    table.play("open betting", "ann bets 100 on big", "dealer reports tumbler-fault")
    assert (table.state.round, table.stack("ann")) == (None, 900)
    closed = table.play("close the table")

    assert closed[0] == events.RoundVoided(
        round=2,
        cause="the table closes",
        bets="returned",
        returned=[("big", "ann", 100)],
        by=SUPERVISOR,
    )


@pytest.mark.parametrize(
    ("nets", "stacks", "set_off", "transfers", "owing"),
    [
        ({"ann": 100}, {"ann": 100}, {}, [("ann", -100)], []),
        ({"ann": 100}, {"ann": 95}, {}, [("ann", -100)], [("ann", 5)]),
        ({"ann": 100}, {}, {"ann": 5}, [("ann", -100)], [("ann", 100)]),
        ({"ann": 100}, {"ann": 95}, {"ann": 5}, [("ann", -100)], [("ann", 5)]),
        ({"ann": 100}, {"ann": 95}, {"ann": 100}, [("ann", -100)], [("ann", 100)]),
        ({"ann": -100}, {}, {}, [("ann", 100)], []),
        ({"ann": -100}, {}, {"ann": 30}, [("ann", 100)], [("ann", 30)]),
        ({"ann": 0}, {}, {"ann": 30}, [("ann", 0)], [("ann", 30)]),
        ({"ann": 0, "bob": 1}, {"bob": 1}, {}, [("bob", -1)], []),
        ({"bob": -5, "ann": 5, "cat": 0}, {"ann": 5}, {}, [("ann", -5), ("bob", 5)], []),
    ],
)
def test_reversal_takes_from_the_stack_and_makes_winnings_that_were_set_off_owed_again(
    nets: dict[str, int],
    stacks: dict[str, int],
    set_off: dict[str, int],
    transfers: list[tuple[str, int]],
    owing: list[tuple[str, int]],
) -> None:
    assert reverse_nets(nets, stacks, set_off) == (transfers, owing)


def table_after_two_rounds() -> Table:
    """Return a table at which ann has won 100 and then lost 200, and bob won 50."""
    table = Table(stacks={"ann": 1000, "bob": 1000}, float_amount=10_000)
    table.play("open betting", "ann bets 100 on big", "dice 6 5 5")
    table.play("open betting", "ann bets 200 on big", "bob bets 50 on small", "dice 1 1 2")
    return table


def plan_reversal(table: Table, *rounds: int, returned: bool = False) -> list[object]:
    game, state = table.game, table.state
    stakes = stakes_on_layout(game, state) if returned else []
    return list(
        reverse_rounds(game, state, list(rounds), "dice-damaged", SUPERVISOR, MANAGER, stakes)
    )


def test_several_rounds_are_reversed_in_one_event() -> None:
    (event,) = plan_reversal(table_after_two_rounds(), 1, 2)

    assert event == events.RoundsReversed(
        rounds=[1, 2],
        cause="dice-damaged",
        transfers=[("bob", -50), ("ann", 100)],
        owing=[],
        by=SUPERVISOR,
        approved_by=MANAGER,
    )
    assert plan_reversal(table_after_two_rounds()) == []


def test_reversing_an_unsettled_or_already_reversed_round_is_refused() -> None:
    table = table_after_two_rounds()
    with pytest.raises(Refusal) as unknown:
        plan_reversal(table, 3)
    table.play("supervisor reports dice-damaged affecting 2 with shift-manager")
    with pytest.raises(Refusal) as again:
        plan_reversal(table, 1, 2)

    assert (unknown.value.code, unknown.value.facts) == (
        "round/unknown", {"unit": "round", "round": 3},
    )  # fmt: skip
    assert (again.value.code, again.value.facts) == (
        "round/reversed", {"unit": "round", "round": 2},
    )  # fmt: skip


def test_bets_returned_from_the_current_round_pay_for_a_reversal() -> None:
    table = table_after_two_rounds()
    table.play("bob leaves with 1000", "open betting", "bob bets 40 on big")

    assert table.stack("bob") == 10
    (alone,) = plan_reversal(table, 2)
    (with_bets,) = plan_reversal(table, 2, returned=True)
    assert isinstance(alone, events.RoundsReversed)
    assert isinstance(with_bets, events.RoundsReversed)
    assert (alone.owing, with_bets.owing) == ([("bob", 40)], [])


@pytest.mark.parametrize(("credit", "short"), [(10_150 - 200, None), (10_150 - 195, 5)])
def test_reversal_refund_that_exceeds_the_float_is_refused(credit: int, short: int | None) -> None:
    table = Table(stacks={"ann": 1000}, float_amount=10_950)
    table.play("open betting", "ann bets 200 on big", "dice 1 1 2", f"credit {credit}")

    assert table.state.float_amount == 10_150 - credit
    if short is None:
        assert plan_reversal(table, 1)
    else:
        with pytest.raises(Refusal) as refused:
            plan_reversal(table, 1)
        assert (refused.value.code, refused.value.facts) == ("float/short", {"short": short})


@pytest.mark.parametrize(("float_amount", "short"), [(200, None), (195, 5)])
def test_new_debt_of_one_player_does_not_fund_refunds_to_others(
    float_amount: int, short: int | None
) -> None:
    table = Table(stacks={"ann": 1000, "bob": 1000}, float_amount=10_000)
    table.play("open betting", "ann bets 100 on big", "bob bets 200 on small", "dice 6 5 5",
               "ann leaves with 1100", f"credit {8100 - float_amount}")  # fmt: skip

    assert table.state.float_amount == float_amount
    if short is None:
        assert plan_reversal(table, 1)
    else:
        with pytest.raises(Refusal) as refused:
            plan_reversal(table, 1)
        assert refused.value.facts == {"short": short}


def test_refused_reversal_succeeds_after_a_fill() -> None:
    table = Table("sg-rws-tai-sai-v6/a", stacks={"ann": 1000}, float_amount=1000)
    table.play("open betting", "ann bets 500 on big", "dice 1 1 2", "credit 500")
    refusal = table.expect_refusal("supervisor reports dice-damaged affecting 1 with shift-manager")

    assert (refusal.code, refusal.facts) == ("float/short", {"short": 500})
    table.play("fill 500", "supervisor reports dice-damaged affecting 1 with shift-manager")
    assert table.stack("ann") == 1000


def test_losers_and_winners_are_listed_in_layout_order() -> None:
    table = Table("sg-rws-tai-sai-v6/a")
    table.play("open betting", "ann bets 50 on single:6", "ann bets 50 on total:17",
               "ann bets 50 on small", "ann bets 50 on big", "ann bets 50 on domino:5-6",
               "dice 6 6 5")  # fmt: skip
    (losers,) = (each for each in table.events if isinstance(each, events.LosersCollected))
    (winners,) = (each for each in table.events if isinstance(each, events.WinnersPaid))

    assert [spot for spot, *_ in losers.bets] == ["small"]
    assert [spot for spot, *_ in winners.bets] == ["big", "total:17", "domino:5-6", "single:6"]
