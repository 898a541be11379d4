"""Counts of a rack: opener, fills, credits, shift count, closer and drop, with slips."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.table.chip_table import NEW_ZEALAND, RACK, ChipTable, refusal_of
from tests.table.table_driver import DEALER, MANAGER, SUPERVISOR
from threedice.money import Balances
from threedice.table import Refusal, TableState, commands, events, replay
from threedice.table.chip_counts.counts import face_value
from threedice.table.chip_counts.ledger import chip_balance
from threedice.table.commands import Actor
from threedice.table.money import table_accounts, table_balance, table_postings
from threedice.table.prose import describe_events


def count(counted: dict[str, int], **fields: Any) -> commands.CountRack:
    return commands.CountRack(by=SUPERVISOR, counted=counted, approved_by=MANAGER, **fields)


def close(counted: dict[str, int], **fields: Any) -> commands.CloseTable:
    second = {"approved_by": MANAGER, **fields}
    return commands.CloseTable(by=SUPERVISOR, counted=counted, **second)


def test_a_table_opens_with_a_rack_that_two_people_counted() -> None:
    table = ChipTable()
    opened, opener = table.events[:2]
    assert isinstance(opened, events.TableOpened)
    assert opened.chip_moves == [("vault", "float", "", RACK)]
    assert isinstance(opener, events.RackCounted)
    assert (opener.kind, opener.slip, opener.counted, opener.expected) == ("opener", 1, RACK, RACK)


def test_the_first_opener_is_compared_with_the_chips_that_the_cage_issued() -> None:
    table = ChipTable()
    table.state, table.events = TableState(), []
    short = RACK | {"25": 199}
    opened, opener = table.open(short, issued=RACK)[:2]
    assert isinstance(opened, events.TableOpened)
    assert isinstance(opener, events.RackCounted)
    assert opened.chip_moves == [("vault", "float", "", RACK)]
    assert (opener.counted, opener.expected) == (short, RACK)
    assert table.held("float") == short
    assert table.held("variance") == {"25": 1}
    assert table.state.float_amount == face_value(short)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"approved_by": msgspec.UNSET}, "role/second-person"),
        ({"float_amount": 5}, "chips/counts"),
        ({"rack": {"7": 1}}, "chips/unknown"),
        ({"rack": {"red": 1}}, "chips/unknown"),
    ],
)
def test_an_opener_without_a_second_signature_or_with_other_chips_is_refused(
    fields: dict[str, Any], code: str
) -> None:
    table = ChipTable()
    table.send(close(table.held("float")))
    opening = commands.OpenTable(
        by=SUPERVISOR,
        table="t",
        currency="SGD",
        mode="record",
        chips=[5, 25, 100],
        float_amount=face_value(RACK),
        limits=table.limits,
        approved_by=MANAGER,
        rack=RACK,
    )
    assert refusal_of(table, msgspec.structs.replace(opening, **fields)).code == code


def test_a_fill_and_a_credit_move_named_chips_on_numbered_slips() -> None:
    table = ChipTable()
    fill = commands.FillFloat(by=SUPERVISOR, amount=50, approved_by=MANAGER, counts={"25": 2})
    credit = commands.CreditFloat(by=SUPERVISOR, amount=5, approved_by=MANAGER, counts={"5": 1})
    (filled,), (credited,) = table.send(fill), table.send(credit)
    assert isinstance(filled, events.FloatFilled)
    assert isinstance(credited, events.FloatCredited)
    assert (filled.slip, credited.slip) == (2, 3)
    assert table.held("float") == {"5": 199, "25": 202, "100": 100}
    assert describe_events(table.game, [filled]) == [
        "  A fill of 50 (2 x 25), slip 2 comes from the vault."
    ]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"approved_by": msgspec.UNSET}, "role/second-person"),
        ({"counts": msgspec.UNSET}, "chips/not-counted"),
        ({"counts": {"25": 3}}, "chips/counts"),
        ({"counts": {"50": 1}}, "chips/unknown"),
    ],
)
def test_a_fill_without_counts_or_a_second_signature_is_refused(
    fields: dict[str, Any], code: str
) -> None:
    table = ChipTable()
    fill = commands.FillFloat(by=SUPERVISOR, amount=50, approved_by=MANAGER, counts={"25": 2})
    assert refusal_of(table, msgspec.structs.replace(fill, **fields)).code == code


def test_a_credit_of_chips_that_the_rack_does_not_have_is_refused() -> None:
    table = ChipTable({"5": 2, "100": 3})
    credit = commands.CreditFloat(by=SUPERVISOR, amount=50, approved_by=MANAGER, counts={"25": 2})
    assert refusal_of(table, credit).code == "chips/lacking"


def test_a_fill_or_a_credit_of_no_chips_has_no_slip() -> None:
    table = ChipTable()
    for kind in (commands.FillFloat, commands.CreditFloat):
        command = kind(by=SUPERVISOR, amount=0, approved_by=MANAGER, counts={"25": 0})
        assert refusal_of(table, command).code == "chips/amount"
    assert table.state.slips == 1


# --- colours in counts --------------------------------------------------------------------------

LOOKS_LIKE_RED = "r\N{CYRILLIC SMALL LETTER IE}d"
OTHER_DIGITS = ("\N{FULLWIDTH DIGIT FIVE}", "\N{ARABIC-INDIC DIGIT FIVE}")
ALIKE = ("Red", "IOO")
"""Names that look like a colour or a value chip of the table."""

NO_COLOURS = (LOOKS_LIKE_RED, " red", " ", "-5", *OTHER_DIGITS, " blue", "b  lue", "light blue",
              "5e2", "__proto__", "-blue", "blue-", "light--blue")  # fmt: skip
"""Names that no colour can have."""


@pytest.mark.parametrize("name", NO_COLOURS)
def test_a_count_with_a_name_that_no_colour_can_have_is_refused(name: str) -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    fill = commands.FillFloat(by=SUPERVISOR, amount=0, approved_by=MANAGER, counts={name: 5})
    for command in (count({**RACK, "red": 30, name: 3}), close({**RACK, name: 1}), fill):
        refusal = refusal_of(table, command)
        assert (refusal.code, refusal.facts) == ("chips/colour-name", {"colour": name})
    table.send(close({**RACK, "red": 30}))
    with pytest.raises(Refusal) as refused:
        table.open({**RACK, name: 30})
    assert refused.value.code == "chips/colour-name"


@pytest.mark.parametrize("name", ALIKE)
def test_a_count_with_a_name_that_looks_like_another_chip_is_refused(name: str) -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    fill = commands.FillFloat(by=SUPERVISOR, amount=0, approved_by=MANAGER, counts={name: 5})
    for command in (count({**RACK, name: 30}), close({**RACK, "red": 30, name: 1}), fill):
        refusal = refusal_of(table, command)
        assert (refusal.code, refusal.facts["chip"]) == ("chips/unknown", name)


def test_a_chip_that_an_older_log_names_with_a_space_is_still_counted_and_taken() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    assert table.state.holders is not None
    table.state.holders["float"][" blue"] = 5
    table.send(count({**RACK, "red": 30, " blue": 5}))
    assert table.held("float")[" blue"] == 5
    table.buy_in("ann", 25)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour=" blue", value=5))
    assert table.held("stack/ann") == {" blue": 5}


@pytest.mark.parametrize("name", ALIKE)
def test_an_opener_with_a_name_that_looks_like_another_chip_is_refused(name: str) -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.send(close({**RACK, "red": 30}))
    with pytest.raises(Refusal) as refused:
        table.open({**RACK, name: 30})
    assert refused.value.code == "chips/unknown"

    table.state = TableState()
    with pytest.raises(Refusal) as refused:
        table.open({**RACK, name: 30}, issued={**RACK, "red": 30})
    assert refused.value.code == "chips/unknown"


def test_two_names_that_look_alike_are_refused_in_one_count_and_a_new_colour_is_not() -> None:
    table = ChipTable(game=NEW_ZEALAND)
    alike = refusal_of(table, count({**RACK, "green": 1, "Green": 1}))
    assert (alike.code, alike.facts["chip"]) == ("chips/unknown", "Green")
    table.send(count({**RACK, "green": 1, "light-blue": 2}))
    assert table.held("float")["light-blue"] == 2


# --- the shift count ----------------------------------------------------------------------------


def test_a_shift_count_finds_the_missing_chip_once() -> None:
    table = ChipTable()
    table.buy_in("ann", 130)
    stolen = {**table.held("float"), "25": table.held("float")["25"] - 1}
    (counted,) = table.send(count(stolen, note="end of the shift"))
    assert isinstance(counted, events.RackCounted)
    assert describe_events(table.game, [counted]) == [
        "  The count of the shift, slip 2: 199 x 5, 198 x 25, 99 x 100, 15845 in all; "
        "1 x 25 missing."
    ]
    assert table.held("variance") == {"25": 1}
    assert table.state.float_amount == face_value(stolen)
    (again,) = table.send(count(stolen))
    assert isinstance(again, events.RackCounted)
    assert again.counted == again.expected


def test_a_count_that_finds_too_much_posts_it_too() -> None:
    table = ChipTable()
    (counted,) = table.send(count({**RACK, "100": 101}))
    balances = Balances()
    for event in table.events:
        balances.post(table_postings(event))
    assert balances["variance"] == -100
    assert table.held("variance") == {"100": -1}
    assert describe_events(table.game, [counted])[0].endswith("; 1 x 100 over.")


def test_a_count_during_a_round_or_by_one_person_is_refused() -> None:
    table = ChipTable()
    one = commands.CountRack(by=SUPERVISOR, counted=RACK, approved_by=SUPERVISOR)
    assert refusal_of(table, one).code == "role/same-person"
    dealer = commands.CountRack(by=DEALER, counted=RACK, approved_by=MANAGER)
    assert refusal_of(table, dealer).code == "role/not-allowed"
    table.buy_in("ann", 100)
    table.play("open betting")
    assert refusal_of(table, count(RACK)).code == "table/round-open"


def test_a_table_closes_with_a_count_and_opens_with_what_was_counted() -> None:
    table = ChipTable()
    table.buy_in("ann", 100)
    left = {"5": 200, "25": 200, "100": 98}
    closer, closed = table.send(close(left))
    assert isinstance(closer, events.RackCounted)
    assert closer.expected == {"5": 200, "25": 200, "100": 99}
    assert isinstance(closed, events.TableClosed)
    assert closed.float_amount == face_value(left)
    assert closed.chip_moves == [
        ("stack/ann", "outside", "ann", {"100": 1}),
        ("float", "vault", "", left),
    ]
    assert table.state.holders is None
    opened, opener, *_ = table.open({**left, "25": 199})
    assert isinstance(opened, events.TableOpened)
    assert opened.float_amount == face_value(left)
    assert isinstance(opener, events.RackCounted)
    assert (opener.slip, opener.expected) == (3, left)
    assert table.held("variance") == {"25": 1}


def test_an_empty_rack_closes_without_chips() -> None:
    table = ChipTable({"5": 20})
    table.buy_in("ann", 100)
    _, closed = table.send(close({}))
    assert isinstance(closed, events.TableClosed)
    assert closed.chip_moves == [("stack/ann", "outside", "ann", {"5": 20})]


def test_players_who_lost_everything_carry_nothing_away() -> None:
    table = ChipTable()
    table.buy_in("ann", 50)
    table.play("open betting", "ann bets 50 on big")
    table.roll(1, 2, 3)
    _, closed = table.send(close(table.held("float")))
    assert isinstance(closed, events.TableClosed)
    assert [move[0] for move in closed.chip_moves or ()] == ["float"]


def test_a_table_does_not_close_uncounted_alone_or_with_colours_out() -> None:
    table = ChipTable({**RACK, "red": 30}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    plain = commands.CloseTable(by=SUPERVISOR, approved_by=MANAGER)
    assert refusal_of(table, plain).code == "chips/not-counted"
    alone = close(RACK, approved_by=msgspec.UNSET)
    assert refusal_of(table, alone).code == "role/second-person"
    out = refusal_of(table, close(RACK))
    assert (out.code, out.facts["players"], out.clause) == ("chips/colours-out", "ann", ("4.3",))


# --- the account of coloured chips --------------------------------------------------------------


def posted(table: ChipTable) -> Balances:
    """Return the balances by postings, once compared with the state and the chips."""
    balances = Balances()
    for event in table.events:
        balances.post(table_postings(event))
    for account in table_accounts(table.state):
        assert balances.get(account, 0) == table_balance(table.state, account)
        assert chip_balance(table.state, account) in (None, balances.get(account, 0))
    assert sum(balances.values()) == 0
    return balances


@pytest.fixture
def coloured() -> ChipTable:
    """Return a table where ann has changed all the value chips but 50 into red ones."""
    table = ChipTable({"5": 30, "red": 60}, game=NEW_ZEALAND)
    table.buy_in("ann", 100)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    return table


def test_a_rack_short_of_what_the_colours_in_play_are_worth_is_counted(coloured: ChipTable) -> None:
    (counted,) = coloured.send(count({"5": 4, "red": 40}))
    assert isinstance(counted, events.RackCounted)
    assert (counted.expected, counted.owed) == ({"5": 30, "red": 40}, 100)
    assert table_postings(counted) == [("float", "variance", 130, "", "")]
    balances = posted(coloured)
    assert (balances["float"], balances["colours"], balances["variance"]) == (20, -100, 130)
    refusal = refusal_of(coloured, commands.ColourUp(by=DEALER, player="ann"))
    assert refusal.code == "chips/rack"


def test_what_the_house_owes_for_colours_follows_the_chips_that_leave_the_rack(
    coloured: ChipTable,
) -> None:
    taken = coloured.events[-1]
    assert isinstance(taken, events.ColourTaken)
    assert taken.colours_owed == 100
    coloured.play("tumble 3 times", "open betting", "ann bets 50 on big")
    coloured.roll(6, 5, 4)
    assert posted(coloured)["colours"] == -150
    coloured.play("tumble 3 times", "open betting", "ann bets 75 on big")
    coloured.roll(1, 2, 3)
    assert posted(coloured)["colours"] == -75
    coloured.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=25))
    assert coloured.held("stack/ann") == {"red": 3}
    assert posted(coloured)["colours"] == -75
    ann = Actor(id="ann", role="player")
    coloured.send(commands.CashOut(by=ann, player="ann", amount=75))
    assert posted(coloured)["colours"] == 0
    coloured.send(close(coloured.held("float")))
    assert not any(balance for name, balance in posted(coloured).items() if name == "colours")


def test_colours_that_a_fill_brings_are_owed_to_nobody(coloured: ChipTable) -> None:
    fill = commands.FillFloat(by=SUPERVISOR, amount=0, approved_by=MANAGER, counts={"red": 5})
    (filled,) = coloured.send(fill)
    assert isinstance(filled, events.FloatFilled)
    assert filled.colours_owed is msgspec.UNSET
    assert posted(coloured)["colours"] == -100


def test_a_table_opened_by_an_older_version_owes_for_colours_by_its_float() -> None:
    table = ChipTable({"5": 30, "red": 30}, game=NEW_ZEALAND)
    table.events[0] = msgspec.structs.replace(table.events[0], colours_account=False)
    table.state = replay(table.events)
    table.buy_in("ann", 100)
    table.send(commands.TakeColour(by=DEALER, player="ann", colour="red", value=5))
    out = refusal_of(table, count({"5": 19, "red": 10}))
    assert (out.code, out.facts["players"], out.clause) == ("chips/colours-out", "ann", ("4.3",))
    table.send(count({"5": 20, "red": 10}))
    assert table.state.float_amount == 0
    assert "colours" not in posted(table)


def test_the_drop_of_a_closing_is_counted_once() -> None:
    table = ChipTable()
    table.buy_in("ann", 100)
    table.send(close(table.held("float")))
    assert table.state.uncounted_drops == {1: 100}
    counting = commands.CountDrop(
        by=SUPERVISOR, closing=1, notes={"50": 1, "10": 4}, approved_by=MANAGER
    )
    (counted,) = table.send(counting)
    assert isinstance(counted, events.DropCounted)
    assert (counted.slip, counted.expected) == (3, 100)
    assert table_postings(counted)[0][:3] == ("vault", "variance", 10)
    assert describe_events(table.game, [counted]) == [
        "  The drop of closing 1, slip 3: 90 counted, 100 expected."
    ]
    again = refusal_of(table, counting)
    assert (again.code, again.facts["waiting"]) == ("count/no-drop", "none")


def test_notes_without_a_value_are_refused() -> None:
    table = ChipTable()
    table.send(close(table.held("float")))
    counting = commands.CountDrop(by=SUPERVISOR, closing=1, notes={"fifty": 1}, approved_by=MANAGER)
    assert refusal_of(table, counting).code == "count/note"


@pytest.mark.parametrize("note", ["0", "050", "9" * 100])
def test_notes_of_no_real_value_are_refused(note: str) -> None:
    table = ChipTable()
    table.send(close(table.held("float")))
    counting = commands.CountDrop(by=SUPERVISOR, closing=1, notes={note: 1}, approved_by=MANAGER)
    refusal = refusal_of(table, counting)
    assert (refusal.code, refusal.facts["note"]) == ("count/note", note)


def test_a_count_worth_more_than_an_amount_can_be_is_refused() -> None:
    """A state with a larger number could not be written to a snapshot."""
    table = ChipTable(chips=[5, 25, 100, 10**12])
    most = 10**9
    refusal = refusal_of(table, count({str(10**12): 2}))
    assert (refusal.code, refusal.facts) == (
        "count/too-large", {"value": 2 * 10**12, "most": 10**12}
    )  # fmt: skip
    fill = commands.FillFloat(by=SUPERVISOR, amount=0, approved_by=MANAGER, counts={"100": most})
    assert refusal_of(table, fill).code == "chips/counts"
    table.send(close({"100": most}))
    assert table.state.uncounted_drops
    notes = {"1000": most, "5": 1}
    counting = commands.CountDrop(by=SUPERVISOR, closing=1, notes=notes, approved_by=MANAGER)
    assert refusal_of(table, counting).code == "count/too-large"


def test_a_table_that_dealt_in_chips_may_open_in_amounts() -> None:
    table = ChipTable()
    table.send(close(table.held("float")))
    opening = commands.OpenTable(
        by=SUPERVISOR,
        table="t",
        currency="SGD",
        mode="record",
        chips=[5, 25, 100],
        float_amount=1000,
        limits=table.limits,
    )
    (opened,) = table.send(opening)
    assert isinstance(opened, events.TableOpened)
    assert table.state.holders is None
    ann = Actor(id="ann", role="player")
    (bought,) = table.send(commands.BuyIn(by=ann, player="ann", amount=100, age_years=30))
    assert isinstance(bought, events.BoughtIn)
    assert not bought.chip_moves
    with pytest.raises(Refusal):
        table.send(close({}))
