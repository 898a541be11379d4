"""What every store promises of commands and their entries, shown for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.log.stating import ACCEPTED, left, one, propose
from tests.log.stored import all_answers, all_games
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


def test_a_written_entry_is_read_as_it_was_proposed(store: Store) -> None:
    proposal = one("table/1", EMPTY_HEAD, b"\x00\xff", b"", b"third")

    assert store.write([proposal]) == [ACCEPTED]

    assert store.read("table/1") == list(proposal.appends[0].entries)
    assert store.head("table/1") == left(proposal)
    assert store.heads() == {"table/1": left(proposal)}
    assert store.streams() == ["table/1"]
    assert store.answer("ann", proposal.key) == build_answer(proposal)
    assert build_answer(proposal).spans == (EntrySpan("table/1", 1, 3),)


def test_nothing_is_found_in_an_empty_store(store: Store) -> None:
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


def test_a_proposal_on_another_head_is_a_conflict_and_leaves_nothing(store: Store) -> None:
    first = one("table/1")
    store.write([first])
    late = one("table/1", EMPTY_HEAD)
    forged = one("table/1", Head(1, b"x" * 32))
    ahead = one("table/1", Head(2, left(first).hash))

    outcomes = store.write([late, forged, ahead])

    assert outcomes == [HeadConflict("table/1", left(first))] * 3
    assert store.read("table/1") == list(first.appends[0].entries)
    assert [answer.key for answer in all_answers(store)] == [first.key]


def test_only_the_losing_proposals_of_a_batch_are_rejected(store: Store) -> None:
    base = one("table/1")
    store.write([base])
    wins, loses = one("table/1", left(base), b"wins"), one("table/1", left(base), b"loses")
    other, wrong = one("table/2"), one("table/3", left(base))

    outcomes = store.write([wins, loses, other, wrong])

    assert outcomes == [
        ACCEPTED,
        HeadConflict("table/1", left(wins)),
        ACCEPTED,
        HeadConflict("table/3", EMPTY_HEAD),
    ]
    assert [entry.data for entry in store.read("table/1")] == [b"data", b"wins"]
    assert store.streams() == ["table/1", "table/2"]
    assert store.head("table/3") == EMPTY_HEAD


def test_later_proposals_of_a_batch_build_on_earlier_ones(store: Store) -> None:
    batch = [one("table/1")]
    for number in range(300):
        batch.append(one("table/1", left(batch[-1]), b"%d" % number))

    assert store.write(batch) == [ACCEPTED] * 301

    assert [entry.version for entry in store.scan("table/1")] == list(range(1, 302))
    assert store.head("table/1") == left(batch[-1])


def test_a_conflict_takes_with_it_what_was_built_on_it(store: Store) -> None:
    base = one("table/1")
    store.write([base])
    lost = one("table/1", EMPTY_HEAD, b"lost")
    built = one("table/1", left(lost), b"built")
    sound = one("table/1", left(base), b"sound")

    outcomes = store.write([lost, built, sound])

    # the built one expects the version that is there, but not its hash
    assert left(lost).version == left(base).version
    assert outcomes == [HeadConflict("table/1", left(base))] * 2 + [ACCEPTED]


def test_a_proposal_over_two_streams_is_whole_or_not_at_all(store: Store) -> None:
    base = one("cage/ann")
    store.write([base])
    torn = propose({"table/1": (EMPTY_HEAD, [b"in"]), "cage/ann": (EMPTY_HEAD, [b"out"])})
    whole = propose({"table/1": (EMPTY_HEAD, [b"in"]), "cage/ann": (left(base), [b"out", b"fee"])})

    assert store.write([torn]) == [HeadConflict("cage/ann", left(base))]
    assert store.read("table/1") == []
    assert store.write([whole]) == [ACCEPTED]

    assert [entry.data for entry in store.read("table/1")] == [b"in"]
    assert [entry.data for entry in store.read("cage/ann")] == [b"data", b"out", b"fee"]
    answer = store.answer("ann", whole.key)
    assert answer is not None
    assert answer.spans == (EntrySpan("table/1", 1, 1), EntrySpan("cage/ann", 2, 3))


def test_a_key_used_before_is_known_whatever_its_proposal_says(store: Store) -> None:
    first = one("table/1", key="k")
    store.write([first])
    same = propose({"table/1": (left(first), [b"data"])}, key="k")
    other = propose({"table/2": (EMPTY_HEAD, [b"x"])}, key="k", command_hash=b"o" * 32)
    stale = one("table/1", EMPTY_HEAD, key="k")
    elsewhere = propose({"table/2": (EMPTY_HEAD, [b"x"])}, key="k", account="bob")

    outcomes = store.write([same, other, stale, elsewhere])

    known = DuplicateKey(StoredAnswer("ann", "k", b"c" * 32, (EntrySpan("table/1", 1, 1),)))
    assert outcomes == [known, known, known, ACCEPTED]
    assert store.write([stale]) == [known]
    assert len(store.read("table/1")) == 1


def test_a_key_used_twice_within_a_batch_is_known_the_second_time(store: Store) -> None:
    first = one("table/1", EMPTY_HEAD, b"1", key="k")
    again = one("table/1", left(first), b"2", key="k")

    assert store.write([first, again, first]) == [
        ACCEPTED,
        *[DuplicateKey(build_answer(first))] * 2,
    ]
    assert [entry.data for entry in store.read("table/1")] == [b"1"]


def test_a_key_whose_proposal_was_in_conflict_is_not_used_up(store: Store) -> None:
    base = one("table/1")
    store.write([base])

    lost, again = one("table/1", EMPTY_HEAD, key="k"), one("table/1", left(base), key="k")

    assert store.write([lost, again]) == [HeadConflict("table/1", left(base)), ACCEPTED]


def test_a_command_that_appends_nothing_is_answered_all_the_same(store: Store) -> None:
    nothing = Proposal("ann", "k", b"c" * 32, ())
    empty = Proposal("ann", "l", b"c" * 32, (Append("table/1", EMPTY_HEAD, ()),))

    assert store.write([nothing, empty]) == [ACCEPTED, ACCEPTED]

    assert [answer.spans for answer in all_answers(store)] == [(), ()]
    assert store.streams() == []
    assert store.heads() == {}


def test_a_game_is_stored_once_under_its_hash(store: Store) -> None:
    games = {"h1": b"canonical one", "h2": b"\x00two"}
    first = propose({"table/1": (EMPTY_HEAD, [b"x"])}, games=games)
    second = propose({"table/2": (EMPTY_HEAD, [b"x"])}, games={"h1": b"canonical one"})
    lost = propose({"table/2": (EMPTY_HEAD, [b"x"])}, games={"h3": b"of a conflict"})

    store.write([first, second])
    store.write([lost, propose({"table/3": (EMPTY_HEAD, [b"x"])}, games={"h1": b"canonical one"})])

    assert all_games(store) == games
    assert store.game("h2") == b"\x00two"
    assert store.game("h3") is None


def test_names_in_any_script_are_kept_and_sorted_by_code_point(store: Store) -> None:
    names = ["table/z", "table/Ä", "table/大細", "table/🎲", "table/a", "table/A'b\"c%s?{}\\"]
    longest = "🎲" * MAX_NAME_CHARACTERS

    for name in names:
        account = name.removeprefix("table/")
        proposal = propose({name: (EMPTY_HEAD, [name.encode()])}, account=account, key=longest)
        assert store.write([proposal]) == [ACCEPTED]
        assert store.answer(account, longest) == build_answer(proposal)
        assert store.read(name)[0].data == name.encode()

    assert store.streams() == sorted(names)


@pytest.mark.parametrize("name", ["nul\0", "surrogate\ud800", "x" * (MAX_NAME_CHARACTERS + 1)])
def test_a_name_no_database_holds_is_refused_before_anything_is_written(
    store: Store, name: str
) -> None:
    good = one("table/1")
    said = b"c" * 32
    for bad in (
        Proposal(name, "k", said, ()),
        Proposal("ann", name, said, ()),
        Proposal("ann", "k", said, (Append(name, EMPTY_HEAD, ()),)),
    ):
        with pytest.raises(InvalidInput, match="200 characters"):
            store.write([good, bad])

    assert store.streams() == []
    assert store.write([good]) == [ACCEPTED]


def test_asking_for_an_impossible_name_harms_nothing(store: Store) -> None:
    for name in ("nul\0", "surrogate\ud800"):
        try:
            found = store.answer("ann", name)
        except InvalidInput:
            found = None
        assert found is None

    assert store.write([one("table/1")]) == [ACCEPTED]


def test_entries_that_do_not_follow_their_head_are_a_defect(store: Store) -> None:
    good = one("table/1")
    (append,) = good.appends
    gap = Append("table/1", Head(5, b"h" * 32), append.entries)
    foreign = Append("table/2", EMPTY_HEAD, append.entries)
    for appends in ((gap,), (foreign,), (append, append)):
        with pytest.raises(InvariantBroken):
            store.write([Proposal("ann", "k", b"c" * 32, appends)])

    assert store.write([good]) == [ACCEPTED]


# --- reading ------------------------------------------------------------------------------------


def test_a_stream_is_read_from_after_a_version_and_no_more_than_asked(store: Store) -> None:
    store.write([one("table/1", EMPTY_HEAD, *(b"%d" % n for n in range(1, 11))), one("table/10")])

    assert [entry.version for entry in store.read("table/1", 3, 4)] == [4, 5, 6, 7]
    assert [entry.version for entry in store.read("table/1", 8)] == [9, 10]
    assert store.read("table/1", 10) == []
    assert store.read("table/1", 0, 0) == []
    assert [entry.version for entry in store.scan("table/1", 7)] == [8, 9, 10]


def test_a_long_stream_is_scanned_without_gap_or_repetition(store: Store) -> None:
    long = one("table/1", EMPTY_HEAD, *(b"%d" % n for n in range(2500)))
    store.write([long])

    assert tuple(store.scan("table/1")) == long.appends[0].entries


def test_every_answer_is_found(store: Store) -> None:
    batch = [
        propose({}, account=account, key=f"{number:04}")
        for number in range(700)
        for account in ("ann", "bob")
    ]
    store.write(batch)

    found = all_answers(store)

    assert found == sorted((build_answer(each) for each in batch), key=lambda a: (a.account, a.key))
