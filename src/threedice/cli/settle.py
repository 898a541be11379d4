"""`threedice settle`: what each bet on a roll is paid, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.cli.arguments import read_bets, read_dice, read_game
from threedice.cli.odds import readings_line
from threedice.cli.output import print_json, print_line, print_table
from threedice.odds.stakes import SettledBet, settle
from threedice.table.explanation import explain_payout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.dice import Roll
    from threedice.rulebook import Game


def settle_bets(
    name: str, dice: str, pairs: Sequence[str], readings: Sequence[str], as_json: bool
) -> None:
    """Print the settlement of the bets given."""
    game = read_game(name, readings)
    roll = read_dice(game, dice)
    settled = settle(game, roll, read_bets(game, pairs))
    if as_json:
        print_json(_as_json(game, roll, settled))
    else:
        _print(game, roll, settled)


def _as_json(game: Game, roll: Roll, settled: list[SettledBet]) -> dict[str, object]:
    return {
        "game": game.id,
        "hash": game.hash,
        "readings": game.readings,
        "dice": list(roll),
        "faces": [game.faces.name(face) for face in roll],
        "call": game.call(roll),
        "winning": list(game.winning(roll)),
        "bets": [
            {
                "box": each.box,
                "stake": each.stake,
                "outcome": "wins" if each.wins else "loses",
                "odds": str(each.odds) if each.odds else None,
                "net": each.net,
                "returned": each.returned,
                "clauses": list(each.clauses),
                "why": " ".join(explain_payout(game, each.box, roll, each.stake)),
            }
            for each in settled
        ],
        "stake": sum(each.stake for each in settled),
        "net": sum(each.net for each in settled),
        "returned": sum(each.returned for each in settled),
    }


def _print(game: Game, roll: Roll, settled: list[SettledBet]) -> None:
    print_line(f"{game.title} ({game.id})")
    print_line(f"hash {game.hash}; readings {readings_line(game)}")
    print_line(f"The dealer calls: {game.call(roll)}")
    print_line()
    rows = [
        (each.box, str(each.stake), str(each.odds or "loses"), f"{each.net:+}", str(each.returned))
        for each in settled
    ]
    totals = (sum(each.stake for each in settled), sum(each.net for each in settled))
    back = sum(each.returned for each in settled)
    rows.append(("all bets", str(totals[0]), "", f"{totals[1]:+}", str(back)))
    columns = ("box", "stake", "odds", "net", "handed back")
    print_table(columns, rows, right=frozenset({1, 3, 4}))
    print_line()
    cited: dict[str, None] = {}
    for each in settled:
        print_line(f"{each.box}: {' '.join(explain_payout(game, each.box, roll, each.stake))}")
        cited.update(dict.fromkeys(each.clauses))
    print_line()
    for number in cited:
        print_line(f"{game.book_id} {number}: {game.summaries[number]}")
