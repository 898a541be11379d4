"""Figures of boxes and layouts, compared with the printed edges and brute force."""

from __future__ import annotations

from fractions import Fraction
from math import isclose, sqrt

import pytest

from tests.oracle import brute_force as oracle
from tests.oracle import documents
from threedice import load, odds_sheet
from threedice.odds import box_figures, percent

DOCUMENTS = [game for game in oracle.GAMES if game.rpartition("/")[0] in documents.KINDS]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_edge_equals_the_printed_one(name: str) -> None:
    for each in odds_sheet(load(name)).boxes:
        if each.box.id != "shooter":
            assert each.figures.edge == documents.printed_edge(name, each.box.id), each.box.id


@pytest.mark.parametrize(("name", "shown"), documents.LAYOUT_PERCENT.items())
def test_layout_edge_equals_the_printed_percentage(name: str, shown: str) -> None:
    edge = odds_sheet(load(name)).layout_edge

    assert percent(edge) == f"{shown} %"
    assert edge == oracle.layout_edge(name)


def test_layout_edge_of_triple_dice_leaves_the_shooter_bet_out() -> None:
    assert odds_sheet(load("triple-dice")).layout_edge == Fraction(5, 17)


@pytest.mark.clause("triple-dice 7.3", "triple-dice 7.5", "triple-dice odds:shooter")
def test_edge_of_the_shooter_bet_is_exact_over_four_throws() -> None:
    figures = box_figures(load("triple-dice").box("shooter"))

    assert (figures.ways, figures.total_ways) == (91**4, 216**4)
    assert figures.edge == 1 - 10 * Fraction(91, 216) ** 4 == oracle.shooter_edge()


@pytest.mark.no_cover
@pytest.mark.parametrize("name", oracle.GAMES)
def test_mean_variance_and_ways_equal_plain_counting(name: str) -> None:
    for each in odds_sheet(load(name)).boxes:
        if each.box.id == "shooter":
            continue
        nets = [oracle.net(name, each.box.id, roll) for roll in oracle.rolls()]
        mean = Fraction(sum(nets), 216)
        variance = sum(((net - mean) ** 2 for net in nets), Fraction(0)) / 216
        assert each.figures.ways == sum(net > 0 for net in nets)
        assert each.figures.mean == mean
        assert each.figures.variance == variance
        assert each.figures.return_to_player == 1 - each.figures.edge


@pytest.mark.parametrize(
    ("reading", "family", "edge"),
    [
        ({"outside": "per-die"}, "single", Fraction(17, 216)),
        ({"double": "exact-pair"}, "double", Fraction(3, 8)),
    ],
)
def test_readings_change_the_edge_to_the_printed_value(
    reading: dict[str, str], family: str, edge: Fraction
) -> None:
    sheet = odds_sheet(load("triple-dice", reading))

    assert {each.figures.edge for each in sheet.boxes if each.box.family == family} == {edge}


def test_volatility_and_stakes_to_lead_of_a_bet_on_big() -> None:
    big = box_figures(load("sg-rws-tai-sai-v6/a").box("big"))

    assert big.return_to_player == 1 - big.edge == Fraction(35, 36)
    assert isclose(big.sd, sqrt(1 - (1 / 36) ** 2))
    assert isclose(big.volatility, 1.645 * big.sd)
    stakes = big.stakes_to_lead
    assert stakes is not None
    assert stakes - 1 < (1.645 * big.sd * 36) ** 2 <= stakes


def test_fair_bet_has_no_number_of_stakes_to_lead() -> None:
    fair = box_figures(load("triple-dice").box("any-triple"))

    assert fair.edge == 0
    assert fair.stakes_to_lead is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(1, 36), "2.778 %"),
        (Fraction(-1, 1000), "-0.100 %"),
        (Fraction(0), "0.000 %"),
        (Fraction(1), "100.000 %"),
        (Fraction(1, 200000), "0.000 %"),
        (Fraction(3, 200000), "0.002 %"),
    ],
)
def test_percentages_are_rounded_from_the_exact_value(value: Fraction, shown: str) -> None:
    assert percent(value) == shown


def test_families_of_a_sheet_are_in_pay_table_order_and_contain_all_boxes() -> None:
    sheet = odds_sheet(load("sg-rws-tai-sai-v6/c"))
    families = list(sheet.families())

    assert [name for name, _ in families][:3] == ["Small", "Big", "Odd"]
    assert sum(len(boxes) for _, boxes in families) == 104
