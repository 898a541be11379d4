"""The proof of dice that the house deals: verifiable, and without the bets of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.house.test_sealed_dice import (
    CLOSED,
    COMMITTED,
    OPENED,
    REVEALED,
    SEED,
    STARTED,
    log,
)
from threedice.api.routes.history import visible_events
from threedice.house.dealer.sealed_dice import draw_dice, seed_commitment
from threedice.house.reports.dice_proof import build_dice_proof
from threedice.log.entry import hash_entry
from threedice.table.commands import Actor
from threedice.table.events import BetPlaced

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp
    from threedice.house.reports.dice_proof import DiceProof


def placed(player: str) -> BetPlaced:
    by = Actor(id=player, role="player")
    return BetPlaced(player=player, spot="big", area="", amount=5, number=1, manner="self", by=by)


EVENTS = (COMMITTED, STARTED, OPENED, placed("ann"), placed("bob"), CLOSED, REVEALED, "dice")


def proof_for(player: str, audience: str = "player") -> DiceProof:
    return build_dice_proof(1, log(*EVENTS), 20.0, visible_events(audience, player))


def test_links_of_a_proof_chain_from_the_commitment_to_the_head_that_the_dice_are_drawn_from() -> (
    None
):
    proof = proof_for("ann")
    previous = bytes.fromhex(proof.previous)
    for link in proof.links:
        if link.entry:
            columns = (link.entry.kind, link.entry.schema, link.entry.data.encode())
            cause = bytes.fromhex(link.entry.cause)
            found = hash_entry(previous, proof.stream, link.version, link.at, *columns, cause)
            assert found.hex() == link.hash
        previous = bytes.fromhex(link.hash)

    assert proof.seed == SEED.hex()
    assert proof.links[0].entry is not None
    assert seed_commitment(SEED) in proof.links[0].entry.data
    assert proof.dice == draw_dice(SEED, previous)


def test_proof_for_a_player_has_their_own_bets_and_only_the_hashes_of_others() -> None:
    kinds = [link.entry and link.entry.kind for link in proof_for("ann").links]

    assert kinds == ["SeedCommitted", "RoundStarted", "BettingOpened", "BetPlaced", None,
                     "BettingClosed"]  # fmt: skip


def test_staff_of_other_tables_see_the_hashes_of_all_bets() -> None:
    elsewhere = proof_for("", "player")

    assert [link.entry is None for link in elsewhere.links] == [False, False, False, True, True,
                                                                False]  # fmt: skip


def test_staff_of_the_table_see_all_entries() -> None:
    assert all(link.entry for link in proof_for("", "staff").links)


def test_round_that_the_house_did_not_deal_has_no_links() -> None:
    proof = build_dice_proof(1, log(STARTED, OPENED, CLOSED, "dice"), 20.0, lambda _: True)

    assert (proof.links, proof.seed, proof.dice) == ([], None, None)


@pytest.mark.anyio
async def test_player_receives_the_proof_of_a_round(house_in_play: HouseApp) -> None:
    proof: dict[str, Any] = await house_in_play.get("player", "/api/tables/1/rounds/1/dice-proof")

    assert (proof["round"], proof["stream"], proof["links"]) == (1, "table/1", [])
