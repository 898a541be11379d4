"""Refusals cite only clauses that forbid the command."""

from __future__ import annotations

import pytest

from tests.table.table_driver import Table


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ann bets 2005 on big", "bet/stack"),
        ("ann bets 52 on big", "bet/amount"),
        ("ann bets 50 on total:3", "bet/unknown-box"),
        ("ann bets 50 on big at left", "bet/unknown-area"),
        ("ann withdraws 50 from big", "bet/not-there"),
        ("zoe bets 50 on big", "player/unknown"),
        ("ann leaves with 2005", "chips/stack"),
        ("ann leaves with 3", "chips/amount"),
    ],
)
def test_refusal_that_follows_from_no_rule_cites_no_clause(line: str, code: str) -> None:
    table = Table()
    table.play("open betting")

    refused = table.expect_refusal(line)

    assert (refused.code, refused.clause) == (code, ())


@pytest.mark.clause("nz-tai-sai-2008 4.5")
def test_call_bet_without_the_chips_for_it_cites_the_clause_on_call_bets() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting")

    refused = table.expect_refusal("ann calls 2005 on big")

    assert (refused.code, refused.clause) == ("bet/stack", ("4.5",))


@pytest.mark.clause("sg-rws-tai-sai-v6 3.5", "sg-rws-tai-sai-v6 5.1")
def test_bet_over_the_maximum_does_not_cite_the_clause_on_unnoticed_excess() -> None:
    table = Table(mode="refuse")
    table.play("open betting")

    refused = table.expect_refusal("ann bets 1005 on big")

    assert (refused.code, refused.clause) == ("bet/over-maximum", ("3.5", "5.1"))


@pytest.mark.clause("sg-rws-tai-sai-v6 5.2")
def test_bet_under_the_minimum_does_not_cite_the_clause_on_unnoticed_bets() -> None:
    table = Table(mode="refuse")
    table.play("open betting")

    refused = table.expect_refusal("ann bets 45 on big")

    assert (refused.code, refused.clause) == ("bet/under-minimum", ("5.2",))


@pytest.mark.clause("triple-dice 7.1", "triple-dice 7.2", "triple-dice 7.8")
def test_refusals_about_the_shooter_cite_the_clause_that_forbids_the_command() -> None:
    table = Table("triple-dice", stacks={"ann": 500, "bob": 500})
    table.play("offer the dice to ann")
    cited = [table.expect_refusal("bob chooses dice 1 2 3").clause]
    table.play("ann chooses dice 1 2 3", "open betting")
    cited.append(table.expect_refusal("bob bets 50 on shooter").clause)
    cited.append(table.expect_refusal("close betting").clause)
    table.play("ann bets 50 on shooter")
    cited.append(table.expect_refusal("ann withdraws 50 from shooter").clause)

    assert cited == [("7", "7.8"), ("7.1",), ("7.1",), ("7.2",)]
