"""Void and abandoned rounds: whether bets are returned or stand, and who may void."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.table.table_driver import DEALER, SUPERVISOR, Table, replace_facts, table_on_changed_game
from threedice import load
from threedice.table import BetRef, Refusal, commands, events, explain
from threedice.table.money import table_postings
from threedice.table.prose import describe_events
from threedice.table.state import RoundStop
from threedice.table.voids import reverse_nets

if TYPE_CHECKING:
    from threedice.rulebook import Game


def replace_void_rules(game: Game, fate: Any, **irregularities: Any) -> Game:
    """Return a copy of a game with another void rule and these irregularities."""
    procedure = game.facts.procedure
    void = msgspec.structs.replace(procedure.void, bets=fate)
    return replace_facts(
        game,
        procedure=msgspec.structs.replace(procedure, void=void),
        irregularities=irregularities,
    )


@pytest.mark.parametrize(
    ("usual", "stated", "stack"),
    [
        ("stand", "returned", 2000),
        ("returned", "stand", 1950),
        ("returned", "locked", 1950),
        ("returned", None, 2000),
        ("stand", None, 1950),
    ],
)
def test_bets_rule_of_an_irregularity_overrides_the_procedures_rule(
    usual: str, stated: Any, stack: int
) -> None:
    game = Table().game
    rule = msgspec.structs.replace(game.facts.irregularities["dice-not-flat"], bets=stated)
    table = table_on_changed_game(replace_void_rules(game, usual, **{"dice-not-flat": rule}))

    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "dealer reports dice-not-flat")  # fmt: skip

    assert table.stack("ann") == stack


@pytest.mark.parametrize(("usual", "stack"), [("returned", 2000), ("stand", 1950)])
def test_abandoned_round_without_an_interruption_rule_follows_the_void_rule(
    usual: str, stack: int
) -> None:
    table = table_on_changed_game(replace_void_rules(Table().game, usual))
    table.play("open betting", "ann bets 50 on big")

    table.send(commands.AbandonRound(by=DEALER, reason="the lights went out"))

    assert table.state.round is None
    assert table.stack("ann") == stack


def test_abandoned_round_is_recorded_with_the_reason_that_was_given() -> None:
    table = Table()
    table.play("open betting")

    voided, *_ = table.play("dealer abandons the round: the lights went out")

    assert isinstance(voided, events.RoundVoided)
    assert voided.cause == "the lights went out"


def test_reversal_is_paid_from_the_stack_before_it_becomes_debt() -> None:
    assert reverse_nets({"ann": 100}, {"ann": 60}, {}) == ([("ann", -100)], [("ann", 40)])
    assert reverse_nets({"ann": 100}, {"ann": 160}, {}) == ([("ann", -100)], [])
    assert reverse_nets({"ann": -100}, {"ann": 160}, {}) == ([("ann", 100)], [])


@pytest.mark.parametrize(
    ("lines", "reason", "code"),
    [
        (["open betting"], " ", "reason/missing"),
        ([], "the lights went out", "round/none"),
        (
            ["open betting", "close betting", "tumbles 3 times", "uncover the dice", "call 6 5 4"],
            "the lights went out",
            "irregularity/not-now",
        ),
        (
            [
                "open betting",
                "close betting",
                "tumbles 3 times",
                "uncover the dice",
                "dealer reports interruption knowing 6 5 4",
            ],
            "the dice are bad for us",
            "irregularity/not-now",
        ),
    ],
)
def test_abandoning_a_round_without_reason_or_with_known_dice_is_refused(
    lines: list[str], reason: str, code: str
) -> None:
    table = Table()
    table.play(*lines)

    with pytest.raises(Refusal) as refused:
        table.send(commands.AbandonRound(by=DEALER, reason=reason))

    assert refused.value.code == code


CONFIRMED = ("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
             "uncover the dice", "dealer reports interruption knowing 6 5 4")  # fmt: skip


def test_table_with_confirmed_dice_cannot_be_closed() -> None:
    table = Table()
    table.play(*CONFIRMED)

    assert table.expect_refusal("close the table").code == "table/round-open"


def test_voiding_confirmed_dice_needs_a_second_person() -> None:
    table = Table()
    table.play(*CONFIRMED)

    table.play("dealer reports dice-not-flat")
    assert table.state.current.stopped == RoundStop("dice-not-flat", DEALER)
    assert table.stack("ann") == 1950


def test_throwing_confirmed_dice_again_needs_a_second_person() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 5 on shooter", "close betting", "ann throws",
               "dealer reports interruption knowing crown club heart")  # fmt: skip

    table.play("dealer reports dice-not-flat")
    assert table.state.current.known == [1, 6, 4]
    table.play("dealer reports dice-not-flat with supervisor")
    assert table.state.current.known == []
    assert table.state.current.stopped is None


def test_round_with_one_unknowable_die_can_be_abandoned() -> None:
    table = Table()
    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "uncover the dice", "dealer reports interruption knowing 6 5")  # fmt: skip
    assert table.state.round is not None

    (voided,) = table.play("dealer abandons the round with supervisor: the third die is gone")

    assert isinstance(voided, events.RoundVoided)
    assert voided.approved_by is not None
    assert table.stack("ann") == 2000


@pytest.mark.parametrize(
    ("game", "lines"),
    [
        ("sg-rws-tai-sai-v6/a", ["open betting", "dealer abandons the round: no dice"]),
        (
            "sg-rws-tai-sai-v6/a",
            ["open betting", "tumbles 3 times", "dealer abandons the round: no power"],
        ),
        (
            "nz-tai-sai-2008/1",
            ["open betting", "close betting", "dealer abandons the spin: no power"],
        ),
    ],
)
def test_round_without_visible_dice_is_abandoned_by_one_person(game: str, lines: list[str]) -> None:
    table = Table(game)

    (voided,) = [each for each in table.play(*lines) if isinstance(each, events.RoundVoided)]

    assert voided.approved_by is None


def test_person_who_approves_abandoning_a_round_without_visible_dice_is_recorded() -> None:
    table = Table()

    (*_, voided) = table.play("open betting", "dealer abandons the round with supervisor: no dice")

    assert isinstance(voided, events.RoundVoided)
    assert voided.approved_by is not None
    assert voided.approved_by.role == "supervisor"


def test_abandoning_a_round_locks_the_table_where_an_interruption_does() -> None:
    table = Table("nz-tai-sai-2008/1")
    table.play("open betting", "ann bets 50 on big")

    table.send(commands.AbandonRound(by=DEALER, reason="the lights went out"))

    assert table.state.locked == ["interruption"]
    assert table.stack("ann") == 2000


def test_throw_voided_by_closing_the_table_keeps_its_number() -> None:
    table = Table("triple-dice")
    table.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting",
               "ann bets 50 on shooter", "dice crown crown heart")  # fmt: skip
    void, _ = table.play("close the table")
    assert isinstance(void, events.RoundVoided)
    assert void.round == 2

    assert table.state.rounds == 2


@pytest.mark.parametrize("fate", ["returned", "stand"])
def test_void_by_an_irregularity_without_a_bets_rule_uses_the_procedures_rule(fate: Any) -> None:
    game = Table().game
    procedure = msgspec.structs.replace(
        game.facts.procedure, void=msgspec.structs.replace(game.facts.procedure.void, bets=fate)
    )
    silent = {
        name: msgspec.structs.replace(rule, bets=None)
        for name, rule in game.facts.irregularities.items()
    }
    table = table_on_changed_game(replace_facts(game, procedure=procedure, irregularities=silent))

    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "dealer reports dice-not-flat")  # fmt: skip

    assert table.stack("ann") == (2000 if fate == "returned" else 1950)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.6", "sg-rws-tai-sai-v6 5.12")
def test_damaged_dice_found_during_payout_void_the_round_for_winners_and_losers() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "bob bets 300 on small", "close betting")
    table.play(
        "tumbles 3 times", "uncover the dice", "call 6 5 4", "enters 6 5 4", "light the areas"
    )
    table.play("collect the losers")

    table.play("supervisor reports dice-damaged with shift-manager")

    assert (table.stack("ann"), table.stack("bob")) == (2000, 2000)
    assert table.state.round is None
    assert table.state.float_amount == 1_000_000 - 6000
    assert (
        table.expect_refusal("supervisor reports dice-damaged affecting 1 with shift-manager").code
        == "round/reversed"
    )


def test_damaged_dice_void_the_current_and_an_earlier_round_together() -> None:
    table = Table()
    table.play("open betting", "ann bets 100 on big", "dice 6 5 4")
    table.play(
        "open betting",
        "ann bets 400 on small",
        "close betting",
        "tumbles 3 times",
        "uncover the dice",
    )
    table.play("call 6 5 4", "enters 6 5 4", "light the areas", "collect the losers")

    table.play("supervisor reports dice-damaged affecting 1 2 with shift-manager")

    assert table.stack("ann") == 2000
    assert table.state.reversed == {1, 2}


def test_void_after_the_call_records_a_second_person() -> None:
    table = Table()
    table.play("open betting", "ann bets 50 on big", "close betting", "tumbles 3 times",
               "uncover the dice", "call 6 6 5")  # fmt: skip

    (stopped,) = table.play("dealer reports dice-not-flat")
    assert stopped == events.RoundStopped(round=1, cause="dice-not-flat", by=DEALER)
    (void,) = table.play("dealer reports dice-not-flat with supervisor")
    assert isinstance(void, events.RoundVoided)
    assert void.approved_by is not None
    assert (void.by.id, void.approved_by.id) == ("dealer", "supervisor")


# --- bets that stand after they were collected ----------------------------------------------------

COLLECTED = ("open betting", "ann bets 100 on small", "bob bets 50 on big", "close betting",
             "uncover the dice", "call 6 5 4", "enter 6 5 4", "light the areas",
             "collect the losers")  # fmt: skip


def table_where_bets_stand(**options: Any) -> Table:
    return Table("nz-tai-sai-2008/1", readings={"no-spin": "stand"}, **options)


@pytest.mark.clause("nz-tai-sai-2008 7.1")
def test_collected_bets_that_stand_are_recorded_as_put_back() -> None:
    table = table_where_bets_stand()
    table.play(*COLLECTED)

    voided = table.play("dealer reports dice-not-flat with supervisor")

    assert voided == [
        events.RoundVoided(
            round=1,
            cause="dice-not-flat",
            bets="stand",
            returned=[],
            by=DEALER,
            approved_by=SUPERVISOR,
            restored=[("small", "ann", 100)],
        )
    ]
    assert [posting[:3] for posting in table_postings(voided[0])] == [("float", "layout", 100)]
    assert "bets stand, put back: ann's 100 on small." in describe_events(table.game, voided)[0]
    text = " ".join(explain(table.game, table.events, BetRef(1, "ann", "small")))
    assert text.endswith("100 was taken and put back, and stays for the next.")
    table.play("open betting", "close the table")
    text = " ".join(explain(table.game, table.events, BetRef(2, "ann", "small")))
    assert text.endswith("100 is returned.")


@pytest.mark.clause("nz-tai-sai-2008 7.1")
def test_void_that_puts_nothing_back_is_recorded_as_before() -> None:
    table = table_where_bets_stand()
    table.play("open betting", "bob bets 50 on big", *COLLECTED[3:])

    (voided,) = table.play("dealer reports dice-not-flat with supervisor")

    assert isinstance(voided, events.RoundVoided)
    assert b"restored" not in msgspec.json.encode(voided)
    assert table.state.reversed == set()


def test_bets_do_not_stand_if_the_float_cannot_put_them_back() -> None:
    table = table_where_bets_stand(float_amount=10_000)
    table.play(*COLLECTED)
    table.play(f"credit {table.state.float_amount - 95}")

    refusal = table.expect_refusal("dealer reports dice-not-flat with supervisor")

    assert (refusal.code, refusal.facts) == ("float/short", {"short": 5})


def test_float_must_put_collected_bets_back_and_pay_a_reversal() -> None:
    table = table_where_bets_stand(float_amount=10_000)
    table.play("open betting", "ann bets 40 on small", "dice 6 5 4", *COLLECTED)
    table.play(f"credit {table.state.float_amount - 135}")
    report = "dealer reports dice-not-flat affecting 1 2 with supervisor"

    assert table.expect_refusal(report).facts == {"short": 5}
    table.play("fill 5", report)
    assert table.state.float_amount == 0


def test_lost_shooter_bet_that_stands_lies_on_the_layout_again() -> None:
    game = Table("triple-dice").game
    rule = msgspec.structs.replace(
        game.facts.irregularities["dice-not-flat"], consequence="void-round", bets="stand"
    )
    table = table_on_changed_game(replace_void_rules(game, "stand", **{"dice-not-flat": rule}))
    table.play("offer the dice to ann", "ann chooses dice 1 2 5", "open betting",
               "ann bets 100 on shooter", "bob bets 50 on red", "close betting", "ann throws",
               "call club club spade", "collect the losers")  # fmt: skip

    voided, restored = table.play("dealer reports dice-not-flat with supervisor")

    assert isinstance(voided, events.RoundVoided)
    assert voided.restored == [("red", "bob", 50), ("shooter", "ann", 100)]
    assert isinstance(restored, events.ShooterRestored)
    assert (restored.stake, restored.laid) == (100, 0)
    assert [table.state.seats[player].at_risk for player in ("ann", "bob")] == [100, 50]


@pytest.mark.clause("sg-rws-tai-sai-v6 5.5.1", "sg-rws-tai-sai-v6 5.5.2")
@pytest.mark.parametrize("irregularity", ["dice-not-flat", "too-few-tumbles"])
@pytest.mark.parametrize("rounds", [(), ("dice 6 5 4", "open betting")], ids=["first", "second"])
@pytest.mark.parametrize("affecting", ["", "affecting current"], ids=["implied", "named"])
def test_dice_that_were_not_tumbled_void_no_round(
    irregularity: str, rounds: tuple[str, ...], affecting: str
) -> None:
    table = Table()
    table.play("open betting", *rounds, "ann bets 50 on big", "close betting")
    named = affecting.replace("current", str(table.state.current.number))

    refusal = table.expect_refusal(f"dealer reports {irregularity} {named}".strip())

    assert refusal.code == "irregularity/not-now"


# --- a rulebook in which nobody calls the dice --------------------------------------------------


def table_without_calls() -> Table:
    """Return a table at which losers were collected and an area was paid by the entry alone."""
    game = load("sg-rws-tai-sai-v6/a")
    procedure = game.facts.procedure
    procedure = msgspec.structs.replace(
        procedure,
        order=[step for step in procedure.order if step != "call-result"],
        steps={name: step for name, step in procedure.steps.items() if name != "call-result"},
    )
    table = table_on_changed_game(replace_facts(game, procedure=procedure))
    table.play("open betting", "ann bets 50 on big", "bob bets 50 on small", "close betting",
               "tumbles 3 times", "uncover the dice", "enter 6 5 4", "collect the losers",
               "pay the winners on big")  # fmt: skip
    return table


def test_round_that_is_being_settled_without_a_call_is_not_abandoned() -> None:
    refusal = table_without_calls().expect_refusal("dealer abandons the round with supervisor: -")

    assert refusal.code == "irregularity/not-now"


def test_void_of_a_round_that_is_being_settled_without_a_call_undoes_its_payments() -> None:
    table = table_without_calls()
    table.play("dealer reports dice-not-flat")
    assert table.expect_refusal("pay the winners").code == "round/stopped"

    table.play("dealer reports dice-not-flat with supervisor")

    assert [table.stack(player) for player in ("ann", "bob")] == [2000, 2000]
