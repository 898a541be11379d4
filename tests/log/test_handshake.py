"""Upgrading Threedice under a running house: a newer writer process refuses to write for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

import threedice
from tests.house.setting import DEALER, SUPERVISOR, People
from tests.log.dictating import Watched, pid_of, writer_process_of
from tests.log.proposing import PATIENCE, propose
from threedice.errors import HouseOutdated, StoreFailed, StoreUnavailable
from threedice.house.commands import ResolveInterruption
from threedice.house.house import House
from threedice.log.store import Acceptance
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.writer_process import (
    PROTOCOL_FINGERPRINT,
    BatchFailure,
    WriterProcessTarget,
    check_handshake,
    encode_handshake,
    encode_message,
    fingerprint_messages,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.log.postgres_server import PostgresServer
    from threedice.log.store import ProposalOutcome, Store

INSTALLED = Path(threedice.__file__).parent

RELEASED = ("__init__.py", f'"{threedice.__version__}"', '"99.0"')
OTHER_MESSAGES = ("log/store.py", "    command_hash: bytes\n", "    command_digest: bytes\n")
OTHER_SCHEMA = ("log/stores/schema.py", "VERSION: Final = 1\n", "VERSION: Final = 999\n")
CHANGES = {
    "released": [RELEASED],
    "with other messages": [OTHER_MESSAGES],
    "with another schema": [OTHER_SCHEMA],
    "all of it": [RELEASED, OTHER_MESSAGES, OTHER_SCHEMA],
}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/log.sqlite"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


@contextmanager
def replaced(folder: Path, change: str) -> Iterator[None]:
    """Have whatever is started meanwhile be of another version, in which something changed."""
    other = folder / "other" / "threedice"
    other.mkdir(parents=True)
    for name in ("__init__.py", "errors.py"):
        shutil.copy(INSTALLED / name, other / name)
    for name in ("db", "log"):
        shutil.copytree(INSTALLED / name, other / name)
    for name, before, after in CHANGES[change]:
        text = (other / name).read_text()
        assert before in text
        (other / name).write_text(text.replace(before, after))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(other.parent))
        yield


def kill_writer_process(store: Store) -> None:
    with Watched(pid_of(store)) as writer_process:
        os.kill(pid_of(store), signal.SIGKILL)
        writer_process.wait()


def tell(store: Store, stream: str) -> list[ProposalOutcome]:
    async def told() -> list[ProposalOutcome]:
        writer_process = writer_process_of(store)
        async with asyncio.timeout(PATIENCE):
            return await writer_process.write([writer_process.encode_proposal(propose(stream))])

    return asyncio.run(told())


@pytest.mark.parametrize("change", CHANGES)
def test_a_scribe_of_another_version_refuses_before_it_opens_the_database(
    tmp_path: Path, change: str
) -> None:
    with closing(
        SqliteStore(tmp_path / "log.sqlite", serving=True, use_writer_process=True)
    ) as store:
        assert tell(store, "table/1") == [Acceptance()]
        kill_writer_process(store)
        with pytest.raises(StoreUnavailable, match="signal 9"):
            tell(store, "table/2")
        with replaced(tmp_path, change), pytest.raises(HouseOutdated, match="restart the house"):
            tell(store, "table/2")
        assert store.streams() == ["table/1"]
        assert tell(store, "table/2") == [Acceptance()]  # what was there before is there again


def test_a_house_under_which_it_was_replaced_stops_and_the_one_started_next_plays_on(
    url: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"

    async def play() -> None:
        async with House(url, state_dir=state) as house:
            people = People(house.command_handler)
            await people.open()
            await people.play("open betting")
            await people.bet("ann", 50, "big")
            with replaced(tmp_path, "all of it"):
                kill_writer_process(house.command_handler.store)
                for _ in range(2):
                    with pytest.raises(StoreFailed, match=r"99\.0.* restart the house"):
                        await asyncio.wait_for(people.bet("ann", 25, "big"), PATIENCE)
            assert "restart the house" in house.command_handler.suspension_reason
            assert (
                house.command_handler.store.suspension_reason() == ""
            )  # others on this database play on

    async def come_back() -> None:
        async with House(url, state_dir=state) as house:
            assert (
                not house.command_handler.suspension_reason
            )  # there is nothing that a person must release
            people = People(house.command_handler)
            assert await people.stack("ann") == 950
            await people.ask(ResolveInterruption(by=DEALER, confirmed_by=SUPERVISOR))
            assert await people.stack("ann") == 1000

    asyncio.run(play())
    asyncio.run(come_back())


# --- what every version says and understands ----------------------------------------------------


def test_a_greeting_brings_its_message_to_who_is_of_the_same_version() -> None:
    place = encode_message(WriterProcessTarget("sqlite", "/house.sqlite", file=(1, 2)))
    assert (
        check_handshake(PROTOCOL_FINGERPRINT, encode_handshake(PROTOCOL_FINGERPRINT, place))
        == place
    )


OWN = {"version": threedice.__version__, "forms": PROTOCOL_FINGERPRINT, "message": {}}
OTHERS = {
    "nothing": b"",
    "no words": b"\xff\x00",
    "no handshake": encode_message(WriterProcessTarget("sqlite", "/house.sqlite")),
    "another version": encode_message(OWN | {"version": "0.0.1"}),
    "other forms": encode_message(OWN | {"forms": "0" * 64}),
    "more than this one knows": encode_message(OWN | {"forms": "0" * 64, "more": 1}),
    "something else": encode_message(OWN | {"forms": 7}),
}


@pytest.mark.parametrize("said", OTHERS.values(), ids=OTHERS)
def test_whatever_else_is_said_is_another_version(said: bytes) -> None:
    with pytest.raises(HouseOutdated, match="restart the house"):
        check_handshake(PROTOCOL_FINGERPRINT, said)


def test_greetings_and_refusals_have_the_form_that_every_version_reads() -> None:
    said = msgspec.msgpack.decode(encode_handshake("abc", encode_message(["anything"])))
    assert said == {"version": threedice.__version__, "forms": "abc", "message": ["anything"]}
    refused = msgspec.msgpack.decode(
        encode_message(BatchFailure("HouseOutdated", "restart the house"))
    )
    assert refused == {"type": "Failed", "kind": "HouseOutdated", "words": "restart the house"}


def test_messages_that_differ_in_a_name_a_type_or_an_order_have_other_forms() -> None:
    fields = [("a", bytes), ("b", bytes), ("c", int)]
    alike = [
        fingerprint_messages([msgspec.defstruct("Message", fields, module="m", array_like=True)], 1)
        for _ in range(2)
    ]
    assert alike[0] == alike[1]
    others = [
        ([("b", bytes), ("a", bytes), ("c", int)], 1),
        ([("a", bytes), ("b", bytes), ("d", int)], 1),
        ([("a", bytes), ("b", bytes), ("c", float)], 1),
        (fields, 2),
    ]
    forms = {
        fingerprint_messages(
            [msgspec.defstruct("Message", each, module="m", array_like=True)], version
        )
        for each, version in others
    }
    assert len(forms | set(alike)) == 1 + len(others)
