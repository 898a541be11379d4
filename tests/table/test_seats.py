"""The numbers of the seats at a table."""

from __future__ import annotations

from tests.table.table_driver import Table


def seats(table: Table) -> dict[str, int]:
    return {player: seat.number for player, seat in table.state.seats.items()}


def test_a_player_takes_the_lowest_free_seat_and_keeps_it() -> None:
    table = Table(stacks={"ann": 100, "bob": 100, "cat": 100})
    assert seats(table) == {"ann": 1, "bob": 2, "cat": 3}

    table.play("bob cashes out 100", "cat buys 50")
    assert seats(table) == {"ann": 1, "cat": 3}

    table.play("dan buys 100", "eve buys 100")
    assert seats(table) == {"ann": 1, "cat": 3, "dan": 2, "eve": 4}
