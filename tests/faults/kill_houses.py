"""Houses to be killed, copied from a template, and the checks of a house after a kill."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.faults.kill_load import CUSTOMERS, GAME, PLAYERS, TABLE, result_spans
from tests.house.house_driver import DEALER, SUPERVISOR, People
from tests.log.inspection import all_answers
from tests.log.postgres_server import PostgresServer, quick_folder
from threedice.account.commands import Deposit, OpenAccount
from threedice.errors import Refusal
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.codec import decode
from threedice.house.commands import ResolveInterruption
from threedice.house.recovery import interrupt_tables
from threedice.house.stream_state import fold_of, table_stream
from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, read_checkpoints
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.faults.kill_load import CommandId, Transcript
    from threedice.house.stream_state import HouseTable
    from threedice.log.records import EntrySpan, StoredAnswer
    from threedice.log.store import Store

Kind = Literal["sqlite", "postgres"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TEMPLATE = "house"


class House(NamedTuple):
    """A database, its state directory, and the commands answered before."""

    url: str
    state: Path
    answered: frozenset[CommandId]


class Houses:
    """A template house in SQLite and one in PostgreSQL, to be copied."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self._folder, self.server = folder, server
        self._file = folder / "house.sqlite"
        self._sqlite = _set_up(f"sqlite:///{self._file}", folder / "sqlite.state")
        self._admin(f"CREATE DATABASE {TEMPLATE}")
        self._postgres = _set_up(server.url(TEMPLATE), folder / "postgres.state")

    @contextmanager
    def copy(self, kind: Kind) -> Iterator[House]:
        """Copy the template in a kind of database."""
        with TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            shutil.copytree(self._folder / f"{kind}.state", folder / "state")
            if kind == "sqlite":
                copy = shutil.copy(self._file, folder)
                yield House(f"sqlite:///{copy}", folder / "state", self._sqlite)
                return
            url = self.server.fresh(TEMPLATE)
            yield House(url, folder / "state", self._postgres)
            self._admin(f'DROP DATABASE "{conninfo_to_dict(url)["dbname"]}" WITH (FORCE)')

    def _admin(self, sql: str) -> None:
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            connection.execute(sql)


@contextmanager
def houses() -> Iterator[Houses]:
    """Set up the template houses on a new PostgreSQL server."""
    with TemporaryDirectory(prefix="threedice-", dir=quick_folder()) as name:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL, as another user, must reach its own folder
        (folder / "server").mkdir()
        server = PostgresServer(folder / "server")
        try:
            server.start()
            yield Houses(folder, server)
        finally:
            server.stop()


def _set_up(url: str, state: Path) -> frozenset[CommandId]:
    """Open a table, buy the players in, and return the ids of these commands."""
    store = open_store(url, serving=True)
    try:
        asyncio.run(_open(store, state))
        CheckpointSigner(store, open_keys(state), state).create_checkpoint(1)
        return frozenset((answer.account, answer.key) for answer in all_answers(store))
    finally:
        store.close()


async def _open(store: Store, state: Path) -> None:
    async with CommandHandler(store, state_dir=state) as handler:
        people = People(handler, TABLE)
        await people.open(GAME, stacks=dict.fromkeys(PLAYERS, 10_000), float_amount=10_000_000)
        for name in CUSTOMERS:
            await people.send(OpenAccount(by="cashier", player=name, currency="SGD"))
            await people.send(Deposit(by="cashier", player=name, amount=10_000))


RESENT_COMMANDS = 12
"""Number of acknowledged commands, and of refused ones, sent again after a kill."""


@dataclass(slots=True)
class KillOutcome:
    """Counts of commands after a kill; `problems` describes everything wrong."""

    acknowledged: int = 0
    lost: int = 0
    unacknowledged: int = 0
    absent: int = 0
    resent: int = 0
    interrupted: bool = False
    problems: list[str] = field(default_factory=list)


def compare(store: Store, house: House, transcript: Transcript) -> KillOutcome:
    """Check that all outcomes are stored, and commands without one completely or not at all."""
    answers = {(each.account, each.key): each for each in all_answers(store)}
    found = KillOutcome(acknowledged=len(transcript.acknowledged))
    for command_id, spans in transcript.acknowledged.items():
        answer = answers.get(command_id)
        if answer is None or answer.refusal or answer.spans != spans:
            found.lost += 1
            found.problems.append(
                f"{command_id} was acknowledged as {spans}, stored as {answers.get(command_id)}"
            )
    for command_id in transcript.refused:
        if command_id not in answers or not answers[command_id].refusal:
            found.lost += 1
            found.problems.append(f"{command_id} was refused, stored as {answers.get(command_id)}")
    found.unacknowledged = sum(command_id in answers for command_id in transcript.in_flight)
    found.absent = len(transcript.in_flight) - found.unacknowledged
    expected = house.answered | transcript.requested.keys()
    found.problems += [
        f"{command_id} is stored, and was never sent" for command_id in answers.keys() - expected
    ]
    found.problems += _partial_answers(store, answers)
    found.problems += audit_findings(store, house.state)
    return found


def _partial_answers(store: Store, answers: dict[CommandId, StoredAnswer]) -> list[str]:
    """Return the streams whose entries do not belong to exactly one answer each."""
    versions: dict[str, list[int]] = {stream: [] for stream in store.streams()}
    for answer in answers.values():
        for span in answer.spans:
            versions.setdefault(span.stream, []).extend(range(span.first, span.last + 1))
    return [
        f"{stream}: its answers end with {sorted(spans)[-3:]}, its head is {store.head(stream)}"
        for stream, spans in versions.items()
        if sorted(spans) != [entry.version for entry in store.scan(stream)]
    ]


def audit_findings(store: Store, state: Path) -> list[str]:
    """Return the findings of an audit with the house's keys and checkpoint file."""
    keys, witnesses = open_keys(state).public, read_checkpoints(state / CHECKPOINTS_FILE)
    return [str(each) for each in audit(store, public_keys=keys, against=witnesses).findings]


async def diverging_streams(handler: CommandHandler, store: Store) -> list[str]:
    """Return the streams whose state in memory differs from a replay."""
    live = await handler.streams.get(store.streams())
    return [
        f"{each.name}: the state in memory differs from a replay"
        for each in live
        if each.durable != replay(store, each.name)
    ]


def replay(store: Store, stream: str) -> Any:
    """Return the state of a stream, replayed from its first entry."""
    fold = fold_of(stream)
    state = fold.state_type()
    for entry in store.scan(stream):
        fold.evolve(state, decode(entry), entry.at, entry.version)
    return state


# --- restart ------------------------------------------------------------------------------------


async def restart_and_check(
    store: Store, house: House, transcript: Transcript, found: KillOutcome, random: Random
) -> None:
    """Serve a house again after a kill, and check that results are repeated and play continues."""
    before: HouseTable = replay(store, table_stream(TABLE))
    async with CommandHandler(store, state_dir=house.state) as handler:
        if handler.suspension_reason:
            found.problems.append(f"a kill has suspended the house: {handler.suspension_reason}")
            return
        found.problems += await diverging_streams(handler, store)
        found.interrupted = before.table.round is not None
        marked = await interrupt_tables(handler)
        if marked != ([TABLE] if found.interrupted else []):
            found.problems.append(f"a round was {before.table.round}, interrupted was {marked}")
        await _resend_commands(handler, transcript, found, random)
        await _play_on(handler, found)
        found.problems += await diverging_streams(handler, store)
    CheckpointSigner(store, open_keys(house.state), house.state).create_checkpoint(
        handler.streams.runtime.now()
    )
    if read_checkpoints(house.state / CHECKPOINTS_FILE) != store.checkpoints():
        found.problems.append("the checkpoint file differs from the store")
    found.problems += audit_findings(store, house.state)


async def _resend_commands(
    handler: CommandHandler, transcript: Transcript, found: KillOutcome, random: Random
) -> None:
    resent = random.sample(
        sorted(transcript.acknowledged), min(RESENT_COMMANDS, len(transcript.acknowledged))
    )
    heads = handler.store.heads()
    for command_id in resent:
        if await _resend(handler, transcript, command_id) != transcript.acknowledged[command_id]:
            found.problems.append(f"{command_id} has another result when sent again")
    refused = sorted(transcript.refused)[:RESENT_COMMANDS]
    for command_id in refused:
        if await _resend(handler, transcript, command_id) is not None:
            found.problems.append(f"{command_id} was refused, and accepted when sent again")
    if handler.store.heads() != heads:
        found.problems.append("a repeated command has appended entries")
    for command_id in transcript.in_flight:
        stored = handler.store.answer(*command_id)
        result = await _resend(handler, transcript, command_id)
        if stored and result != (None if stored.refusal else stored.spans):
            found.problems.append(f"{command_id} is stored, but has the result {result}")
        if await _resend(handler, transcript, command_id) != result:
            found.problems.append(f"{command_id} has the result {result}, and then another")
    found.resent += len(resent) + len(refused) + len(transcript.in_flight)


async def _resend(
    handler: CommandHandler, transcript: Transcript, command_id: CommandId
) -> tuple[EntrySpan, ...] | None:
    """Send a command again under its old key; None if it is refused."""
    account, key = command_id
    try:
        return result_spans(
            await handler.handle(
                transcript.requested[command_id], table=TABLE, account=account, key=key
            )
        )
    except Refusal:
        return None


async def _play_on(handler: CommandHandler, found: KillOutcome) -> None:
    """Resolve the interruption without known dice, and play a round."""
    people, house_table = People(handler, TABLE), await handler.table(TABLE)
    if found.interrupted:
        if house_table.interrupted != house_table.table.current.number:
            found.problems.append(f"the table is not interrupted but {house_table.interrupted}")
        await people.send(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))
    if house_table.table.round is None:
        await people.play("open betting", "p00 bets 5 on big", "dice 6 5 4")
