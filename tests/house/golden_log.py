"""Writes a golden log: one entry of every kind, as this version stores it.

    python -m tests.house.golden_log

Run it when the schema's version has gone up, and keep the files of all versions before: what was
written once must be readable for ever. The tests never run it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from threedice.account import events as account_events
from threedice.cases.runner import read_cases, run_case, shipped_cases
from threedice.house import events as house_events
from threedice.house.codec import CURRENT_SCHEMA, encode
from threedice.table import events as table_events
from threedice.table.commands import Actor

if TYPE_CHECKING:
    from threedice.house.events import AnyStreamEvent

FOLDER = Path(__file__).parent / "golden"
DEALER, SUPERVISOR = Actor(id="d", role="dealer"), Actor(id="s", role="supervisor")

OTHERS: list[AnyStreamEvent] = [
    table_events.BetCorrected(
        round=1, player="p", amount=-5, owing=5, reason="r", by=DEALER, approved_by=SUPERVISOR
    ),
    account_events.AccountOpened(player="p", currency="SGD", by="c"),
    account_events.Deposited(player="p", amount=100, by="c"),
    account_events.Withdrawn(player="p", amount=50, by="c"),
    account_events.SentToTable(player="p", table="1", amount=25),
    account_events.ReceivedFromTable(player="p", table="1", amount=25),
    house_events.TableEstablished(
        table="1", game="g/a", game_hash="00", dealt_by_house=house_events.Timing(), by="s"
    ),
    house_events.SeedCommitted(round=1, commitment="ab"),
    house_events.SeedRevealed(round=1, seed="cd"),
    house_events.SeedLost(round=1),
    house_events.TableInterrupted(round=1),
    house_events.InterruptionResolved(round=1, known=[6, 6], by=DEALER, confirmed_by=SUPERVISOR),
    house_events.PlayersNotified(round=1, players=["p"], outcome="void"),
    house_events.WritingReleased(cause="c", reason="r", by="s"),
]


def one_of_each() -> dict[str, AnyStreamEvent]:
    """Return an event of every kind that the shipped cases lead to, and of all others."""
    found: dict[str, AnyStreamEvent] = {}
    for file in shipped_cases():
        for case in read_cases(file):
            for event in run_case(case).events:
                found.setdefault(type(event).__name__, event)
    for other in OTHERS:
        found.setdefault(type(other).__name__, other)
    return found


def main() -> None:
    lines = []
    for _, event in sorted(one_of_each().items()):
        record = encode(event)
        row = {"kind": record.kind, "schema": record.schema, "data": msgspec.Raw(record.data)}
        lines.append(msgspec.json.encode(row).decode())
    file = FOLDER / f"schema-{CURRENT_SCHEMA}.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
