"""Contract of every store: commands and their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.log.inspection import all_answers, all_games
from tests.log.proposals import ACCEPTED, new_head, propose_appends, propose_data
from threedice.errors import InvalidInput, InvariantBroken
from threedice.log.conflicts import MAX_NAME_CHARACTERS, build_answer
from threedice.log.entry import EMPTY_HEAD, Head
from threedice.log.records import (
    Append,
    DuplicateKey,
    EntrySpan,
    HeadConflict,
    Proposal,
    StoredAnswer,
)

if TYPE_CHECKING:
    from threedice.log.store import Store

# --- writing ------------------------------------------------------------------------------------


def test_written_entry_is_read_as_proposed(store: Store) -> None:
    proposal = propose_data("table/1", EMPTY_HEAD, b"\x00\xff", b"", b"third")

    assert store.write([proposal]) == [ACCEPTED]

    assert store.read("table/1") == list(proposal.appends[0].entries)
    assert store.head("table/1") == new_head(proposal)
    assert store.heads() == {"table/1": new_head(proposal)}
    assert store.streams() == ["table/1"]
    assert store.answer("ann", proposal.key) == build_answer(proposal)
    assert build_answer(proposal).spans == (EntrySpan("table/1", 1, 3),)


def test_empty_store_returns_nothing(store: Store) -> None:
    assert store.write([]) == []
    assert store.read("table/1") == []
    assert list(store.scan("table/1")) == []
    assert store.head("table/1") == EMPTY_HEAD
    assert store.heads() == {}
    assert store.streams() == []
    assert store.answer("ann", "key") is None
    assert all_answers(store) == []
    assert store.game("hash") is None
    assert all_games(store) == {}


def test_proposal_on_another_head_is_a_conflict_and_writes_nothing(store: Store) -> None:
    first = propose_data("table/1")
    store.write([first])
    late = propose_data("table/1", EMPTY_HEAD)
    forged = propose_data("table/1", Head(1, b"x" * 32))
    ahead = propose_data("table/1", Head(2, new_head(first).hash))

    outcomes = store.write([late, forged, ahead])

    assert outcomes == [HeadConflict("table/1", new_head(first))] * 3
    assert store.read("table/1") == list(first.appends[0].entries)
    assert [answer.key for answer in all_answers(store)] == [first.key]


def test_only_conflicting_proposals_of_a_batch_are_rejected(store: Store) -> None:
    base = propose_data("table/1")
    store.write([base])
    wins, loses = (
        propose_data("table/1", new_head(base), b"wins"),
        propose_data("table/1", new_head(base), b"loses"),
    )
    other, wrong = propose_data("table/2"), propose_data("table/3", new_head(base))

    outcomes = store.write([wins, loses, other, wrong])

    assert outcomes == [
        ACCEPTED,
        HeadConflict("table/1", new_head(wins)),
        ACCEPTED,
        HeadConflict("table/3", EMPTY_HEAD),
    ]
    assert [entry.data for entry in store.read("table/1")] == [b"data", b"wins"]
    assert store.streams() == ["table/1", "table/2"]
    assert store.head("table/3") == EMPTY_HEAD


def test_later_proposals_of_a_batch_build_on_earlier_ones(store: Store) -> None:
    batch = [propose_data("table/1")]
    for number in range(300):
        batch.append(propose_data("table/1", new_head(batch[-1]), b"%d" % number))

    assert store.write(batch) == [ACCEPTED] * 301

    assert [entry.version for entry in store.scan("table/1")] == list(range(1, 302))
    assert store.head("table/1") == new_head(batch[-1])


def test_proposal_that_builds_on_a_conflict_is_rejected(store: Store) -> None:
    base = propose_data("table/1")
    store.write([base])
    lost = propose_data("table/1", EMPTY_HEAD, b"lost")
    built = propose_data("table/1", new_head(lost), b"built")
    sound = propose_data("table/1", new_head(base), b"sound")

    outcomes = store.write([lost, built, sound])

    # the built one expects the version that is there, but not its hash
    assert new_head(lost).version == new_head(base).version
    assert outcomes == [HeadConflict("table/1", new_head(base))] * 2 + [ACCEPTED]


def test_proposal_over_two_streams_is_atomic(store: Store) -> None:
    base = propose_data("cage/ann")
    store.write([base])
    torn = propose_appends({"table/1": (EMPTY_HEAD, [b"in"]), "cage/ann": (EMPTY_HEAD, [b"out"])})
    whole = propose_appends(
        {"table/1": (EMPTY_HEAD, [b"in"]), "cage/ann": (new_head(base), [b"out", b"fee"])}
    )

    assert store.write([torn]) == [HeadConflict("cage/ann", new_head(base))]
    assert store.read("table/1") == []
    assert store.write([whole]) == [ACCEPTED]

    assert [entry.data for entry in store.read("table/1")] == [b"in"]
    assert [entry.data for entry in store.read("cage/ann")] == [b"data", b"out", b"fee"]
    answer = store.answer("ann", whole.key)
    assert answer is not None
    assert answer.spans == (EntrySpan("table/1", 1, 1), EntrySpan("cage/ann", 2, 3))


def propose_refusal(stream: str, expected: Head, key: str) -> Proposal:
    """Return the proposal of a refusal that was decided on the head of a stream."""
    append = Append(stream, expected, ())
    return Proposal("ann", key, b"\x01" * 32, (append,), refusal=b"refused")


def test_refusal_uses_up_its_key_and_appends_nothing(store: Store) -> None:
    first = propose_data("table/1")
    refusal = propose_refusal("table/1", new_head(first), "k")
    later = propose_appends({"table/1": (new_head(first), [b"later"])}, key="k")

    assert store.write([first, refusal]) == [ACCEPTED, ACCEPTED]

    answer = StoredAnswer("ann", "k", b"\x01" * 32, (EntrySpan("table/1", 2, 1),), b"refused")
    assert store.answer("ann", "k") == build_answer(refusal) == answer
    assert store.write([later]) == [DuplicateKey(answer)]
    assert store.heads() == {"table/1": new_head(first)}


def test_refusal_on_another_head_is_a_conflict(store: Store) -> None:
    first = propose_data("table/1")
    store.write([first])

    outcomes = store.write([propose_refusal("table/1", EMPTY_HEAD, "k")])

    assert outcomes == [HeadConflict("table/1", new_head(first))]
    assert store.answer("ann", "k") is None


def test_refusal_that_appends_entries_is_rejected(store: Store) -> None:
    proposal = msgspec.structs.replace(propose_data("table/1"), refusal=b"refused")
    with pytest.raises(InvariantBroken, match="a refused command appends nothing to table/1"):
        store.write([proposal])


def test_repeated_key_is_a_duplicate_for_any_proposal(store: Store) -> None:
    first = propose_data("table/1", key="k")
    store.write([first])
    same = propose_appends({"table/1": (new_head(first), [b"data"])}, key="k")
    other = propose_appends({"table/2": (EMPTY_HEAD, [b"x"])}, key="k", command_hash=b"o" * 32)
    stale = propose_data("table/1", EMPTY_HEAD, key="k")
    elsewhere = propose_appends({"table/2": (EMPTY_HEAD, [b"x"])}, key="k", account="bob")

    outcomes = store.write([same, other, stale, elsewhere])

    known = DuplicateKey(StoredAnswer("ann", "k", b"c" * 32, (EntrySpan("table/1", 1, 1),)))
    assert outcomes == [known, known, known, ACCEPTED]
    assert store.write([stale]) == [known]
    assert len(store.read("table/1")) == 1


def test_key_repeated_within_a_batch_is_a_duplicate(store: Store) -> None:
    first = propose_data("table/1", EMPTY_HEAD, b"1", key="k")
    again = propose_data("table/1", new_head(first), b"2", key="k")

    assert store.write([first, again, first]) == [
        ACCEPTED,
        *[DuplicateKey(build_answer(first))] * 2,
    ]
    assert [entry.data for entry in store.read("table/1")] == [b"1"]


def test_key_of_a_conflicting_proposal_can_be_used_again(store: Store) -> None:
    base = propose_data("table/1")
    store.write([base])

    lost, again = (
        propose_data("table/1", EMPTY_HEAD, key="k"),
        propose_data("table/1", new_head(base), key="k"),
    )

    assert store.write([lost, again]) == [HeadConflict("table/1", new_head(base)), ACCEPTED]


def test_command_without_entries_gets_an_answer(store: Store) -> None:
    nothing = Proposal("ann", "k", b"c" * 32, ())
    empty = Proposal("ann", "l", b"c" * 32, (Append("table/1", EMPTY_HEAD, ()),))

    assert store.write([nothing, empty]) == [ACCEPTED, ACCEPTED]

    assert [answer.spans for answer in all_answers(store)] == [(), ()]
    assert store.streams() == []
    assert store.heads() == {}


def test_game_is_stored_once_under_its_hash(store: Store) -> None:
    games = {"h1": b"canonical one", "h2": b"\x00two"}
    first = propose_appends({"table/1": (EMPTY_HEAD, [b"x"])}, games=games)
    second = propose_appends({"table/2": (EMPTY_HEAD, [b"x"])}, games={"h1": b"canonical one"})
    lost = propose_appends({"table/2": (EMPTY_HEAD, [b"x"])}, games={"h3": b"of a conflict"})

    store.write([first, second])
    store.write(
        [lost, propose_appends({"table/3": (EMPTY_HEAD, [b"x"])}, games={"h1": b"canonical one"})]
    )

    assert all_games(store) == games
    assert store.game("h2") == b"\x00two"
    assert store.game("h3") is None


def test_unicode_names_are_stored_and_sorted_by_code_point(store: Store) -> None:
    names = ["table/z", "table/Ä", "table/大細", "table/🎲", "table/a", "table/A'b\"c%s?{}\\"]
    longest = "🎲" * MAX_NAME_CHARACTERS

    for name in names:
        account = name.removeprefix("table/")
        proposal = propose_appends(
            {name: (EMPTY_HEAD, [name.encode()])}, account=account, key=longest
        )
        assert store.write([proposal]) == [ACCEPTED]
        assert store.answer(account, longest) == build_answer(proposal)
        assert store.read(name)[0].data == name.encode()

    assert store.streams() == sorted(names)


@pytest.mark.parametrize("name", ["nul\0", "surrogate\ud800", "x" * (MAX_NAME_CHARACTERS + 1)])
def test_invalid_name_is_refused_before_any_write(store: Store, name: str) -> None:
    good = propose_data("table/1")
    command_hash = b"c" * 32
    for bad in (
        Proposal(name, "k", command_hash, ()),
        Proposal("ann", name, command_hash, ()),
        Proposal("ann", "k", command_hash, (Append(name, EMPTY_HEAD, ()),)),
    ):
        with pytest.raises(InvalidInput, match="200 characters"):
            store.write([good, bad])

    assert store.streams() == []
    assert store.write([good]) == [ACCEPTED]


def test_query_for_an_invalid_name_finds_nothing(store: Store) -> None:
    for name in ("nul\0", "surrogate\ud800"):
        try:
            found = store.answer("ann", name)
        except InvalidInput:
            found = None
        assert found is None

    assert store.write([propose_data("table/1")]) == [ACCEPTED]


def test_entries_that_do_not_follow_their_head_break_an_invariant(store: Store) -> None:
    good = propose_data("table/1")
    (append,) = good.appends
    gap = Append("table/1", Head(5, b"h" * 32), append.entries)
    foreign = Append("table/2", EMPTY_HEAD, append.entries)
    for appends in ((gap,), (foreign,), (append, append)):
        with pytest.raises(InvariantBroken):
            store.write([Proposal("ann", "k", b"c" * 32, appends)])

    assert store.write([good]) == [ACCEPTED]


# --- reading ------------------------------------------------------------------------------------


def test_stream_is_read_after_a_version_up_to_a_limit(store: Store) -> None:
    store.write(
        [
            propose_data("table/1", EMPTY_HEAD, *(b"%d" % n for n in range(1, 11))),
            propose_data("table/10"),
        ]
    )

    assert [entry.version for entry in store.read("table/1", 3, 4)] == [4, 5, 6, 7]
    assert [entry.version for entry in store.read("table/1", 8)] == [9, 10]
    assert store.read("table/1", 10) == []
    assert store.read("table/1", 0, 0) == []
    assert [entry.version for entry in store.scan("table/1", 7)] == [8, 9, 10]


def test_long_stream_is_scanned_without_gap_or_repetition(store: Store) -> None:
    long = propose_data("table/1", EMPTY_HEAD, *(b"%d" % n for n in range(2500)))
    store.write([long])

    assert tuple(store.scan("table/1")) == long.appends[0].entries


def test_all_answers_are_stored(store: Store) -> None:
    batch = [
        propose_appends({}, account=account, key=f"{number:04}")
        for number in range(700)
        for account in ("ann", "bob")
    ]
    store.write(batch)

    found = all_answers(store)

    assert found == sorted((build_answer(each) for each in batch), key=lambda a: (a.account, a.key))
