"""Whatever is written, every store answers as its model does."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.log.model import StoreModel
from tests.log.stating import propose
from tests.log.stored import all_answers, all_games
from threedice.log.conflicts import head_after
from threedice.log.entry import EMPTY_HEAD, Head

if TYPE_CHECKING:
    from threedice.log.records import Proposal
    from threedice.log.store import Store

FORGED = Head(1, b"f" * 32)
_rounds = count(1)


@dataclass(frozen=True)
class Wish:
    """What somebody might propose."""

    streams: list[str]
    on: str
    entries: int
    account: str
    key: int
    body: bytes
    game: str


WISHES = st.builds(
    Wish,
    streams=st.lists(st.sampled_from("abc"), max_size=3, unique=True),
    on=st.sampled_from(["the head", "the head", "the head", "nothing", "a forgery"]),
    entries=st.integers(0, 3),
    account=st.sampled_from(["ann", "bob"]),
    key=st.integers(1, 12),
    body=st.sampled_from([b"1" * 32, b"2" * 32]),
    game=st.sampled_from(["", "g1", "g2"]),
)
BATCHES = st.lists(st.lists(WISHES, max_size=8), min_size=1, max_size=4)


@given(batches=BATCHES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_store_answers_as_its_model_does(store: Store, batches: list[list[Wish]]) -> None:
    model, here = StoreModel(), f"round {next(_rounds)} "
    for wishes in batches:
        batch = proposals(model, here, wishes)
        assert store.write(batch) == model.write(batch)
    for stream in (here + name for name in "abc"):
        assert store.read(stream) == model.entries.get(stream, [])
        assert store.head(stream) == model.head(stream)
    assert [stream for stream in store.streams() if stream.startswith(here)] == sorted(
        model.entries
    )
    assert [answer for answer in all_answers(store) if answer.account.startswith(here)] == [
        answer for _, answer in sorted(model.answers.items())
    ]
    assert model.games.items() <= all_games(store).items()


def proposals(model: StoreModel, here: str, wishes: list[Wish]) -> list[Proposal]:
    """Turn wishes into a batch, each on what those before it would leave, were they accepted."""
    batch: list[Proposal] = []
    heads = {here + name: model.head(here + name) for name in "abc"}
    for wish in wishes:
        data = [b"%d" % number for number in range(wish.entries)]
        on = {"nothing": EMPTY_HEAD, "a forgery": FORGED}
        appends = {
            here + name: (on.get(wish.on, heads[here + name]), data) for name in wish.streams
        }
        batch.append(
            propose(
                appends,
                account=here + wish.account,
                key=f"{wish.key}",
                command_hash=wish.body,
                games={wish.game: wish.game.encode()} if wish.game else {},
            )
        )
        heads |= {append.stream: head_after(append) for append in batch[-1].appends}
    return batch
