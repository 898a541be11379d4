"""What is found in a house after a kill, held against what it had told before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.faults.kill_load import TABLE
from tests.faults.kill_words import spans_of
from tests.house.house_driver import DEALER, SUPERVISOR, People
from tests.log.inspection import all_answers
from threedice.errors import Refusal
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.codec import decode
from threedice.house.commands import ResolveInterruption
from threedice.house.recovery import interrupt_tables
from threedice.house.stream_state import fold_of, table_stream
from threedice.log.proof.checkpoints import CHECKPOINTS_FILE, CheckpointSigner, read_checkpoints
from threedice.log.proof.keys import open_keys

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.faults.kill_houses import House
    from tests.faults.kill_words import Heard, Whose
    from threedice.house.stream_state import HouseTable
    from threedice.log.records import EntrySpan, StoredAnswer
    from threedice.log.store import Store

AGAIN = 12
"""How many acknowledged commands are asked again after a kill."""


@dataclass(slots=True)
class Found:
    """What became of commands; what is not right stands in `problems`, in words."""

    told: int = 0
    lost: int = 0
    untold: int = 0
    absent: int = 0
    again: int = 0
    interrupted: bool = False
    problems: list[str] = field(default_factory=list)


def compare(store: Store, house: House, heard: Heard) -> Found:
    """Hold a store against what was told: that is stored, and beside it whole commands only."""
    answers = {(each.account, each.key): each for each in all_answers(store)}
    found = Found(told=len(heard.told))
    for whose, spans in heard.told.items():
        if whose not in answers or answers[whose].spans != spans:
            found.lost += 1
            found.problems.append(f"{whose} was told {spans}, stored is {answers.get(whose)}")
    found.untold = sum(whose in answers for whose in heard.in_flight)
    found.absent = len(heard.in_flight) - found.untold
    expected = house.answered | heard.told.keys() | heard.in_flight.keys()
    found.problems += [
        f"{whose} is stored, and was never asked" for whose in answers.keys() - expected
    ]
    found.problems += _not_whole(store, answers)
    found.problems += audited(store, house.state)
    return found


def _not_whole(store: Store, answers: dict[Whose, StoredAnswer]) -> list[str]:
    """Return where the answers do not tell of every entry exactly once."""
    versions: dict[str, list[int]] = {stream: [] for stream in store.streams()}
    for answer in answers.values():
        for span in answer.spans:
            versions.setdefault(span.stream, []).extend(range(span.first, span.last + 1))
    return [
        f"{stream}: its answers tell of {sorted(told)[-3:]} last, its head is {store.head(stream)}"
        for stream, told in versions.items()
        if sorted(told) != [entry.version for entry in store.scan(stream)]
    ]


def audited(store: Store, state: Path) -> list[str]:
    """Return what the audit of a house finds, by its keys and its own file of checkpoints."""
    keys, witnesses = open_keys(state).public, read_checkpoints(state / CHECKPOINTS_FILE)
    return [str(each) for each in audit(store, public_keys=keys, against=witnesses).findings]


async def differing(floor: CommandHandler, store: Store) -> list[str]:
    """Return which streams are not, in memory, what their entries lead to."""
    live = await floor.streams.get(store.streams())
    return [
        f"{each.name}: in memory it is not what its entries lead to"
        for each in live
        if each.durable != replayed(store, each.name)
    ]


def replayed(store: Store, stream: str) -> Any:
    """Return what the entries of a stream lead to, from the first on and without a snapshot."""
    fold = fold_of(stream)
    state = fold.state_type()
    for entry in store.scan(stream):
        fold.evolve(state, decode(entry), entry.at, entry.version)
    return state


# --- coming back --------------------------------------------------------------------------------


async def come_back(store: Store, house: House, heard: Heard, found: Found, random: Random) -> None:
    """Serve a house again after a kill: nobody is told otherwise than before, and play goes on."""
    before: HouseTable = replayed(store, table_stream(TABLE))
    async with CommandHandler(store, state_dir=house.state) as floor:
        if floor.suspension_reason:
            found.problems.append(f"a kill has suspended the house: {floor.suspension_reason}")
            return
        found.problems += await differing(floor, store)
        found.interrupted = before.table.round is not None
        marked = await interrupt_tables(floor)
        if marked != ([TABLE] if found.interrupted else []):
            found.problems.append(f"a round was {before.table.round}, interrupted was {marked}")
        await _ask_again(floor, heard, found, random)
        await _go_on(floor, found)
        found.problems += await differing(floor, store)
    CheckpointSigner(store, open_keys(house.state), house.state).create_checkpoint(
        floor.streams.runtime.now()
    )
    if read_checkpoints(house.state / CHECKPOINTS_FILE) != store.checkpoints():
        found.problems.append("the file of checkpoints has not come to where the store is")
    found.problems += audited(store, house.state)


async def _ask_again(floor: CommandHandler, heard: Heard, found: Found, random: Random) -> None:
    told = random.sample(sorted(heard.told), min(AGAIN, len(heard.told)))
    heads = floor.store.heads()
    for whose in told:
        if await _asked(floor, heard, whose) != heard.told[whose]:
            found.problems.append(f"{whose} is told otherwise when asked again")
    if floor.store.heads() != heads:
        found.problems.append("asking again has appended something")
    for whose in heard.in_flight:
        kept = floor.store.answer(*whose)
        said = await _asked(floor, heard, whose)
        if kept and said != kept.spans:
            found.problems.append(f"{whose} is stored and yet told {said}")
        if await _asked(floor, heard, whose) != said:
            found.problems.append(f"{whose} is told {said}, and then otherwise")
    found.again += len(told) + len(heard.in_flight)


async def _asked(floor: CommandHandler, heard: Heard, whose: Whose) -> tuple[EntrySpan, ...] | None:
    """Ask a command by its old key; a refusal is a definite answer too."""
    account, key = whose
    try:
        return spans_of(
            await floor.handle(heard.asked[whose], table=TABLE, account=account, key=key)
        )
    except Refusal:
        return None


async def _go_on(floor: CommandHandler, found: Found) -> None:
    """Have the people of the table say that no dice are known, and play on."""
    people, house_table = People(floor, TABLE), await floor.table(TABLE)
    if found.interrupted:
        if house_table.interrupted != house_table.table.current.number:
            found.problems.append(f"the table is not interrupted but {house_table.interrupted}")
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))
    if house_table.table.round is None:
        await people.play("open betting", "p00 bets 5 on big", "dice 6 5 4")
