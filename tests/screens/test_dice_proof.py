"""The browser's verification of sealed dice, compared with the server's on random rounds."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from screens.build import node

from threedice.api.auth.audiences import event_for_player
from threedice.house import events as house_events
from threedice.house.codec import encode, normalise_command
from threedice.house.dealer.sealed_dice import (
    check_dice,
    closing_key,
    draw_dice,
    seed_commitment,
)
from threedice.house.decisions import HOUSE_ACCOUNT, HOUSE_DEALER
from threedice.house.events import Timing
from threedice.house.reports.dice_proof import build_dice_proof
from threedice.log.entry import EMPTY_HEAD, extend_stream, hash_cause
from threedice.table import events
from threedice.table.commands import Actor, CloseBetting
from threedice.table.limits import StakeRange, TableLimits

if TYPE_CHECKING:
    from threedice.log.entry import Entry

SCRIPT = Path(__file__).with_name("dice_proof_cases.mjs")
ROUNDS = 60
SECONDS = (1.0, 12.5, 20.0, 33.333333)
STEPS = ("commitment", "chain", "close", "draw")


@dataclass
class SealedRound:
    """A round of random bets with a fault, or without any; `fails` are the steps that show it."""

    entries: list[Entry]
    seconds: float
    number: int
    head: bytes
    seed: bytes
    fails: tuple[str, ...]


def play_round(random: Random, fault: str) -> SealedRound:
    """Write the log of a round as the automatic dealer does, and break one of its rules."""
    table, number = random.choice(["1", "tai-sai", "Pit.7_b"]), random.randint(1, 10**6)
    seed, seconds = random.randbytes(32), random.choice(SECONDS)
    head, at = EMPTY_HEAD, random.randint(10**15, 2**52)
    entries: list[Entry] = []

    def happen(event: Any, cause: bytes = b"", moment: int | None = None) -> None:
        nonlocal head, at
        at = at + random.randint(0, 400_000) if moment is None else moment
        cause = cause or random.randbytes(32)
        fresh, head = extend_stream(head, f"table/{table}", at, cause, [encode(event)])
        entries.extend(fresh)

    timing = Timing(betting_seconds=seconds)
    happen(
        house_events.TableEstablished(
            table=table, game="g", game_hash="00", dealt_by_house=timing, by="sue"
        )
    )
    sealed = seed_commitment(random.randbytes(32) if fault == "commitment" else seed)
    happen(house_events.SeedCommitted(round=number, commitment=sealed))
    happen(events.RoundStarted(round=number, game_hash="00"))
    limits = TableLimits(families={"big": StakeRange(5, 500)})
    happen(events.BettingOpened(limits=limits, by=HOUSE_DEALER))
    due = at + round(seconds * 1_000_000)
    for place in range(random.randint(0, 12)):
        player = random.choice(["ann", "bob", "張三", "Zoë"])
        happen(
            events.BetPlaced(
                player=player,
                spot=random.choice(["big", "total:9"]),
                area="",
                amount=5 * random.randint(1, 100),
                number=place + 1,
                manner="self",
                by=Actor(id=player, role="player"),
            )
        )
    key = closing_key(table, number + (fault == "key"))
    cause = hash_cause(
        HOUSE_ACCOUNT, key, normalise_command(table, CloseBetting(by=HOUSE_DEALER))[1]
    )
    moment = max(due, at) + (fault == "time")
    happen(events.BettingClosed(by=HOUSE_DEALER), cause, moment)
    closed = head.hash
    happen(house_events.SeedRevealed(round=number, seed=seed.hex()))
    dice = draw_dice(seed, closed)
    if fault == "draw":
        dice = (dice[0] % 6 + 1, dice[1], dice[2])
    happen(events.ResultCalled(dice=dice, call="", by=HOUSE_DEALER))
    fails = {"commitment": ("commitment",), "key": ("close",), "time": ("close",)}
    return SealedRound(entries, seconds, number, closed, seed, fails.get(fault, (fault,)))


def proof_for(player: str, sealed: SealedRound) -> dict[str, Any]:
    proof = build_dice_proof(
        sealed.number,
        sealed.entries,
        sealed.seconds,
        lambda event: event_for_player(event, player) is event,
    )
    found: dict[str, Any] = msgspec.to_builtins(proof)
    return found


def test_browser_verifies_dice_exactly_as_the_server_does(tmp_path: Path) -> None:
    random = Random(7)
    faults = ["", "", "commitment", "key", "time", "draw"]
    rounds = [play_round(random, faults[i % len(faults)]) for i in range(ROUNDS)]
    players = [random.choice(["ann", "bob", "張三", "nobody"]) for _ in rounds]
    cases: list[dict[str, Any]] = [
        {"proof": proof_for(player, each), "player": player, "seen": ""}
        for player, each in zip(players, rounds, strict=True)
    ]
    tampered = json.loads(json.dumps(cases[0]))
    tampered["proof"]["links"][2]["entry"]["data"] += " "
    replaced = {**cases[0], "seen": sha256(b"another").hexdigest()}
    unrevealed = {**cases[0], "proof": {**cases[0]["proof"], "seed": None, "dice": None}}
    file = tmp_path / "proofs.json"
    file.write_text(json.dumps([*cases, tampered, replaced, unrevealed]))

    ran = subprocess.run(
        [str(node()), str(SCRIPT), str(file)], capture_output=True, text=True, check=True
    )

    *found, of_tampered, of_replaced, of_unrevealed = json.loads(ran.stdout)
    for each, verified, player in zip(rounds, found, players, strict=True):
        failed = [step for step in STEPS if not verified["holds"][step]]
        (checked,) = check_dice(each.entries)
        assert bool(failed) == bool(checked.problem), (checked, verified)
        assert failed == [step for step in each.fails if step], (checked, verified)
        assert verified["head"] == each.head.hex()
        assert tuple(verified["drawn"]) == draw_dice(each.seed, each.head)
        own = [f'"BetPlaced","player":"{player}"' in entry.data.decode() for entry in each.entries]
        assert verified["ownBets"] == sum(own)
    assert not of_tampered["holds"]["chain"]
    assert [of_replaced["holds"][step] for step in STEPS] == [False, True, True, True]
    assert [of_unrevealed["holds"][step] for step in STEPS] == [False, True, True, False]
