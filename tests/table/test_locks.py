"""Malfunctions that lock a table, and its release."""

from __future__ import annotations

import msgspec
import pytest

from tests.table.table_driver import SUPERVISOR, Table
from threedice.table import Refusal, commands, events
from threedice.table.prose import describe_events

NZ = "nz-tai-sai-2008/1"
SUBSTITUTE = "supervisor releases the table under a substitute procedure: display switched off"


@pytest.mark.clause("nz-tai-sai-2008 7.1(b)", "nz-tai-sai-2008 7.4")
def test_tumbler_fault_voids_the_spin_and_locks_the_table() -> None:
    table = Table(NZ)
    table.play("open betting", "ann bets 50 on big")
    voided, locked = table.play("dealer reports tumbler-fault")

    assert isinstance(voided, events.RoundVoided)
    assert locked == events.TableLocked(cause="tumbler-fault")
    assert table.expect_refusal("tumbles 3 times").code == "table/locked"


@pytest.mark.clause("nz-tai-sai-2008 7.1(b)", "nz-tai-sai-2008 7.4")
def test_tumbler_fault_between_spins_is_noted_and_locks_the_table() -> None:
    table = Table(NZ)
    noted, locked = table.play("dealer reports tumbler-fault: it hums")

    assert isinstance(noted, events.IrregularityNoted)
    assert noted.note == "it hums"
    assert locked == events.TableLocked(cause="tumbler-fault")


def test_release_without_a_reason_is_refused() -> None:
    table = Table(NZ)
    table.play("dealer reports tumbler-fault")
    with pytest.raises(Refusal) as refused:
        table.send(commands.ReleaseTable(by=SUPERVISOR, reason=" "))

    assert refused.value.code == "reason/missing"
    assert table.state.locked


@pytest.mark.clause("nz-tai-sai-2008 7.1(a)")
def test_cause_of_a_void_that_locks_nothing_needs_a_round() -> None:
    table = Table(NZ)
    assert table.expect_refusal("dealer reports dice-not-flat").code == "irregularity/not-now"


@pytest.mark.clause("nz-tai-sai-2008 7.4", "nz-tai-sai-2008 7.5", "nz-tai-sai-2008 3.4(g)")
@pytest.mark.parametrize(("reading", "locks"), [("equipment", True), ("information", False)])
def test_display_fault_locks_the_table_if_the_display_is_equipment(
    reading: str, locks: bool
) -> None:
    table = Table(NZ, readings={"display-fault": reading})
    table.play("dealer reports display-wrong")
    assert bool(table.state.locked) == locks


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_lock_outlasts_the_closing_and_reopening_of_the_table() -> None:
    table = Table(NZ)
    table.play("dealer reports display-wrong", "close the table")
    opening = next(each for each in table.events if isinstance(each, events.TableOpened))
    table.send(
        commands.OpenTable(
            by=SUPERVISOR,
            table=opening.table,
            currency=opening.currency,
            mode=opening.mode,
            chips=opening.chips,
            float_amount=opening.float_amount,
            limits=opening.limits,
        )
    )
    for check in table.game.facts.opening:
        table.play(f"supervisor checks {check}")

    assert table.expect_refusal("tumbles 3 times").code == "table/locked"


def _lock_twice() -> Table:
    table = Table(NZ)
    table.play("dealer reports display-wrong", "dealer reports tumbler-fault: it hums")
    return table


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_every_fault_locks_the_table_and_a_fault_known_already_does_so_once() -> None:
    table = _lock_twice()
    table.play("dealer reports display-wrong")

    assert table.state.locked == ["display-wrong", "tumbler-fault"]
    assert [each.cause for each in table.events if isinstance(each, events.TableLocked)] == [
        "display-wrong",
        "tumbler-fault",
    ]
    refusal = table.expect_refusal("tumbles 3 times")
    assert refusal.facts["cause"] == "display-wrong, tumbler-fault"
    assert {"3.4(g)", "7.1(b)", "7.4"} <= set(refusal.clause)


@pytest.mark.clause("nz-tai-sai-2008 7.3", "nz-tai-sai-2008 7.4")
def test_lights_that_fail_at_a_locked_table_are_a_further_cause() -> None:
    table = Table(NZ)
    table.play("open betting", "close betting", "dealer reports display-wrong", "uncover the dice",
               "call 6 5 4", "enter 6 5 4", "the lights fail")  # fmt: skip
    assert table.state.locked == ["display-wrong", "illumination-failed"]


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_release_from_one_cause_leaves_the_table_locked_by_the_others() -> None:
    table = _lock_twice()
    (released,) = table.play(
        "supervisor releases the table from display-wrong under a substitute procedure: it is off"
    )

    assert table.state.locked == ["tumbler-fault"]
    assert table.expect_refusal("tumbles 3 times").facts["cause"] == "tumbler-fault"
    assert describe_events(table.game, [released]) == [
        "  The supervisor releases the table from display-wrong under a substitute procedure:"
        " it is off."
    ]


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_release_without_a_cause_is_from_all_causes() -> None:
    table = _lock_twice()
    table.play("supervisor releases the table: all is mended")
    assert not table.state.locked


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_release_from_a_cause_that_does_not_lock_the_table_is_refused() -> None:
    table = _lock_twice()
    refusal = table.expect_refusal("supervisor releases the table from interruption: power is back")

    assert refusal.code == "table/other-cause"
    assert str(refusal).startswith(
        "the table is not locked by interruption, but by display-wrong, tumbler-fault"
    )


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_lock_of_a_closed_table_can_be_released() -> None:
    table = Table(NZ)
    table.play("dealer reports display-wrong", "close the table",
               "supervisor releases the table: mended")  # fmt: skip

    assert not table.state.locked
    assert table.expect_refusal("supervisor releases the table: again").code == "table/not-open"


@pytest.mark.clause("nz-tai-sai-2008 7.4")
def test_release_says_whether_the_fault_is_rectified() -> None:
    table = Table(NZ)
    table.play("dealer reports display-wrong")
    (substitute,) = table.play(SUBSTITUTE)
    table.play("dealer reports display-wrong")
    (rectified,) = table.play("supervisor releases the table: mended")

    assert describe_events(table.game, [substitute, rectified]) == [
        "  The supervisor releases the table under a substitute procedure: display switched off.",
        "  The supervisor releases the table: mended.",
    ]


def test_release_of_a_rectified_fault_is_written_as_before_there_were_remedies() -> None:
    command = commands.ReleaseTable(by=SUPERVISOR, reason="mended")
    event = events.TableReleased(by=SUPERVISOR, reason="mended")

    assert not {"remedy", "cause"} & set(msgspec.to_builtins(command))
    assert not {"remedy", "cause"} & set(msgspec.to_builtins(event))
    assert msgspec.to_builtins(event, str_keys=True)["reason"] == "mended"
