"""Settle every box on every roll straight from the pay tables, without the engine.

Each rulebook is a set of small functions, one for each row of its pay table, in the order of the
document. A function answers with the odds to 1 when the row wins and with LOSS when it does not.
"""

from collections.abc import Mapping
from fractions import Fraction

from tests.oracle.counting import (
    CROWN,
    LOSS,
    NO_READINGS,
    NUMBERS,
    SYMBOLS,
    Roll,
    Row,
    how_many,
    rolls,
    split_box,
)
from tests.oracle.new_zealand import NEW_ZEALAND, NZ_LAYOUT_1, NZ_LAYOUT_2
from tests.oracle.picture_games import (
    BAU_CUA,
    BAU_CUA_BOARD,
    BAU_CUA_FACES,
    BAU_CUA_PAIRS,
    CHUCK_CASINO,
    CHUCK_WIDE,
    YEE_HAH_HI,
    YEE_HAH_HI_BOXES,
    YEE_HAH_HI_FACES,
    chuck_a_luck,
)
from tests.oracle.sic_bo import (
    ATLANTIC_CITY,
    CROWN_AND_ANCHOR,
    CROWN_AND_ANCHOR_BOXES,
    MACAU,
    SIC_BO_BOXES,
)
from tests.oracle.singapore import SG_TABLE_1, SG_TABLE_2, SG_TABLE_3, SINGAPORE
from tests.oracle.triple_dice import TRIPLE_DICE_MAT, triple_dice

__all__ = ["GAMES", "call", "conclusive", "edge", "layout_edge", "net", "rolls", "shooter_edge"]

# --- The games --------------------------------------------------------------------------------

GAMES: dict[str, list[str]] = {
    "sg-rws-tai-sai-v6/a": SG_TABLE_1,
    "sg-rws-tai-sai-v6/c": SG_TABLE_2,
    "sg-rws-tai-sai-v6/e": SG_TABLE_3,
    "sg-rws-tai-sai-open-cover-v5/a": SG_TABLE_1,
    "sg-rws-tai-sai-open-cover-v5/c": SG_TABLE_2,
    "sg-rws-tai-sai-open-cover-v5/e": SG_TABLE_3,
    "nz-tai-sai-2008/1": NZ_LAYOUT_1,
    "nz-tai-sai-2008/2": NZ_LAYOUT_2,
    "triple-dice/mat": TRIPLE_DICE_MAT,
    "macau-sic-bo/main": SIC_BO_BOXES,
    "atlantic-city-sic-bo/main": SIC_BO_BOXES,
    "crown-and-anchor/main": CROWN_AND_ANCHOR_BOXES,
    "chuck-a-luck/casino": CHUCK_CASINO,
    "chuck-a-luck/wide": CHUCK_WIDE,
    "bau-cua/board": BAU_CUA_BOARD,
    "bau-cua/pairs": BAU_CUA_PAIRS,
    "yee-hah-hi/main": YEE_HAH_HI_BOXES,
}


def rows_of(game: str, readings: Mapping[str, str]) -> dict[str, Row]:
    """Choose the rows that settle a game."""
    book = game.partition("/")[0]
    if book == "triple-dice":
        return triple_dice(readings)
    if book == "chuck-a-luck":
        return chuck_a_luck(readings)
    return {
        "sg-rws-tai-sai-v6": SINGAPORE,
        "sg-rws-tai-sai-open-cover-v5": SINGAPORE,
        "nz-tai-sai-2008": NEW_ZEALAND,
        "macau-sic-bo": MACAU,
        "atlantic-city-sic-bo": ATLANTIC_CITY,
        "crown-and-anchor": CROWN_AND_ANCHOR,
        "bau-cua": BAU_CUA,
        "yee-hah-hi": YEE_HAH_HI,
    }[book]


def net(game: str, box: str, roll: Roll, readings: Mapping[str, str] = NO_READINGS) -> int:
    """Net result of one unit on a box: the odds to 1 when it wins, -1 when it loses."""
    if box not in GAMES[game]:
        raise ValueError(f"{game} has no box {box}")
    family, numbers = split_box(box, faces_of(game))
    row = rows_of(game, readings)[family]
    return row(numbers, roll)


# --- The dealer's call ------------------------------------------------------------------------

SYMBOL_GAMES = {
    "triple-dice": SYMBOLS,
    "crown-and-anchor": SYMBOLS,
    "bau-cua": BAU_CUA_FACES,
    "yee-hah-hi": YEE_HAH_HI_FACES,
}
WITHOUT_TOTAL = ("triple-dice", "crown-and-anchor", "bau-cua")


def faces_of(game: str) -> list[str]:
    """List the names of the six faces: numbers, or symbols."""
    return SYMBOL_GAMES.get(game.partition("/")[0], NUMBERS)


def face_name(game: str, face: int) -> str:
    """Say one face: its number, or its symbol in the games with symbols."""
    return faces_of(game)[face - 1]


def call(game: str, roll: Roll) -> str:
    """Call a roll from the lowest face to the highest, then the total where there is one."""
    spoken: list[str] = []
    for face in (1, 2, 3, 4, 5, 6):
        dice = how_many(face, roll)
        if dice == 1:
            spoken.append(face_name(game, face))
        if dice == 2:
            spoken.append("double " + face_name(game, face))
        if dice == 3:
            spoken.append("triple " + face_name(game, face))
    if game.partition("/")[0] not in WITHOUT_TOTAL:
        spoken.append("total " + str(sum(roll)))
    return ", ".join(spoken)


# --- House edges ------------------------------------------------------------------------------


def edge(game: str, box: str, readings: Mapping[str, str] = NO_READINGS) -> Fraction:
    """House edge of a box, counted over the 216 rolls."""
    won = 0
    for roll in rolls():
        won += net(game, box, roll, readings)
    return Fraction(-won, 216)


def layout_edge(game: str, readings: Mapping[str, str] = NO_READINGS) -> Fraction:
    """House edge of one unit on every box of a layout."""
    lost = Fraction(0)
    staked = 0
    for box in GAMES[game]:
        lost += edge(game, box, readings)
        staked += 1
    return lost / staked


def shooter_edge() -> Fraction:
    """House edge of the shooter's bet: a Crown in each of four throws, 9 to 1."""
    with_crown = 0
    without_crown = 0
    for roll in rolls():
        if CROWN in roll:
            with_crown += 1
        else:
            without_crown += 1
    throws = ((True, with_crown), (False, without_crown))
    won = 0
    outcomes = 0
    for crown_1, ways_1 in throws:
        for crown_2, ways_2 in throws:
            for crown_3, ways_3 in throws:
                for crown_4, ways_4 in throws:
                    ways = ways_1 * ways_2 * ways_3 * ways_4
                    outcomes += ways
                    if crown_1 and crown_2 and crown_3 and crown_4:
                        won += 9 * ways
                    else:
                        won += LOSS * ways
    return Fraction(-won, outcomes)


# --- What is decided when some of the dice are known --------------------------------------------


def still_possible(known: tuple[int, ...]) -> list[Roll]:
    """List the rolls that agree with the known dice (no box asks which die shows what)."""
    found: list[Roll] = []
    for roll in rolls():
        if roll[: len(known)] == known:
            found.append(roll)
    return found


def conclusive(
    game: str, known: tuple[int, ...], readings: Mapping[str, str] = NO_READINGS
) -> tuple[set[str], set[str]]:
    """Boxes that win, and boxes that lose, in every roll still possible."""
    possible = still_possible(known)
    winning: set[str] = set()
    losing: set[str] = set()
    for box in GAMES[game]:
        wins = 0
        for roll in possible:
            if net(game, box, roll, readings) > 0:
                wins += 1
        if wins == len(possible):
            winning.add(box)
        if wins == 0:
            losing.add(box)
    return winning, losing
