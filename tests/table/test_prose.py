"""Events in prose: the sentence that people read for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR
from threedice import load
from threedice.table import events
from threedice.table.limits import uniform_limits
from threedice.table.prose import describe_events

if TYPE_CHECKING:
    from threedice.table.events import AnyEvent

GAME = load("sg-rws-tai-sai-v6/a")


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (
            events.DebtRepaid(player="ann", amount=50, source="cash", by=DEALER),
            "ann repays 50 (from cash).",
        ),
        (events.ColouredUp(player="ann"), "ann colours up."),
        (
            events.LimitsSet(
                limits=uniform_limits(GAME, 50, 1000, 2000), by=SUPERVISOR, approved_by=MANAGER
            ),
            "New limits wait, agreed by the shift-manager.",
        ),
        (
            events.FloatFilled(amount=5, by=SUPERVISOR),
            "A fill of 5 comes from the vault.",
        ),
        (
            events.FloatCredited(amount=5, by=SUPERVISOR),
            "A credit of 5 goes to the vault.",
        ),
        (
            events.CashedOut(player="ann", amount=5, to="outside"),
            "ann leaves with 5 (to outside).",
        ),
        (
            events.ChipsChanged(player="ann", amount=50, into=25),
            "ann changes 50 into chips of 25.",
        ),
        (
            events.ColourTaken(player="ann", colour="red", value=25),
            "ann plays red chips worth 25 each.",
        ),
        (
            events.ChipsMoved(player="ann", spot="big", to_spot="small", amount=5, by=DEALER),
            "5 of ann's is moved, big to small.",
        ),
        (
            events.RoundContinued(known=[1, 2], won=["single:1"], lost=["triple:4", "triple:5"]),
            "Known: 1, 2; 1 boxes have won, 2 have lost.",
        ),
        (
            events.RoundStopped(round=3, cause="dice-not-flat", by=DEALER),
            "Round 3 is stopped (dice-not-flat).",
        ),
        (
            events.RoundResumed(round=3, cause="dice-not-flat", reason="it is flat", by=SUPERVISOR),
            "The supervisor lets the round go on: it is flat.",
        ),
        (
            events.IrregularityNoted(irregularity="display-wrong", note="shows 7", by=DEALER),
            "Noted: display-wrong: shows 7.",
        ),
        (
            events.BetWithdrawn(player="ann", spot="big", amount=5),
            "ann withdraws 5 from big.",
        ),
        (
            events.ShooterRestored(
                round=3, player="ann", dice=[1, 2, 3], throws=1, stake=50, owing=0, laid=0
            ),
            "ann's 50 on the shooter's bet lies as before round 3.",
        ),
        (
            events.BetRejected(player="ann", spot="big", amount=5, number=1, limit="maximum"),
            "5 of ann's on big is over the maximum.",
        ),
        (
            events.LineJudged(player="ann", spot="big", amount=5, accepted=True, by=SUPERVISOR),
            "5 of ann's on the line of big counts.",
        ),
        (
            events.LineJudged(player="ann", spot="big", amount=5, accepted=False, by=SUPERVISOR),
            "5 of ann's on the line of big does not count and goes back.",
        ),
        (
            events.BetCorrected(
                round=1,
                player="ann",
                amount=-5,
                owing=0,
                reason="paid twice",
                by=DEALER,
                approved_by=SUPERVISOR,
            ),
            "Correction for ann: -5 (paid twice).",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_event_is_told_in_a_sentence(event: AnyEvent, sentence: str) -> None:
    (told,) = describe_events(GAME, [event])

    assert told.strip() == sentence
