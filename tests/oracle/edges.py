"""House edges as the rules summary prints them, transcribed by hand."""

from fractions import Fraction

# Kind of book -> family of boxes (totals: the box itself) -> house edge under the default readings.
PRINTED: dict[str, dict[str, Fraction]] = {
    "singapore": {
        "big": Fraction(1, 36),
        "small": Fraction(1, 36),
        "odd": Fraction(1, 36),
        "even": Fraction(1, 36),
        "single": Fraction(1, 27),
        "total:4": Fraction(1, 8),
        "total:17": Fraction(1, 8),
        "total:5": Fraction(1, 9),
        "total:16": Fraction(1, 9),
        "total:6": Fraction(13, 108),
        "total:15": Fraction(13, 108),
        "total:7": Fraction(7, 72),
        "total:14": Fraction(7, 72),
        "total:8": Fraction(1, 8),
        "total:13": Fraction(1, 8),
        "total:9": Fraction(2, 27),
        "total:12": Fraction(2, 27),
        "total:10": Fraction(1, 8),
        "total:11": Fraction(1, 8),
        "domino": Fraction(1, 36),
        "double": Fraction(1, 9),
        "any-triple": Fraction(1, 9),
        "triple": Fraction(35, 216),
        "four": Fraction(1, 9),
        "trio": Fraction(5, 36),
        "pair": Fraction(7, 24),
    },
    "new-zealand": {
        "big": Fraction(1, 36),
        "small": Fraction(1, 36),
        "odd": Fraction(1, 36),
        "even": Fraction(1, 36),
        "single": Fraction(1, 27),
        "total:4": Fraction(1, 8),
        "total:17": Fraction(1, 8),
        "total:5": Fraction(1, 9),
        "total:16": Fraction(1, 9),
        "total:6": Fraction(13, 108),
        "total:15": Fraction(13, 108),
        "total:7": Fraction(7, 72),
        "total:14": Fraction(7, 72),
        "total:8": Fraction(1, 8),
        "total:13": Fraction(1, 8),
        "total:9": Fraction(2, 27),
        "total:12": Fraction(2, 27),
        "total:10": Fraction(1, 8),
        "total:11": Fraction(1, 8),
        "domino": Fraction(1, 36),
        "double": Fraction(1, 9),
        "any-triple": Fraction(1, 9),
        "triple": Fraction(35, 216),
        "four": Fraction(1, 9),
        "trio": Fraction(5, 36),
        "pair": Fraction(11, 72),
    },
    "triple-dice": {
        "single": Fraction(17, 108),
        "red": Fraction(3, 8),
        "black": Fraction(3, 8),
        "double": Fraction(1, 3),
        "any-triple": Fraction(0),
        "triple": Fraction(95, 216),
        "shooter": 1 - 10 * Fraction(91, 216) ** 4,
    },
}

# Triple Dice: (family, reading, choice) -> house edge, default and alternative.
PRINTED_READINGS: dict[tuple[str, str, str], Fraction] = {
    ("single", "outside", "flat"): Fraction(17, 108),
    ("single", "outside", "per-die"): Fraction(17, 216),
    ("double", "double", "at-least"): Fraction(1, 3),
    ("double", "double", "exact-pair"): Fraction(3, 8),
}

# One unit on every box, in per cent with three decimals.
LAYOUT_PERCENT: dict[str, str] = {
    "sg-rws-tai-sai-v6/a": "8.000",
    "sg-rws-tai-sai-v6/c": "14.850",
    "sg-rws-tai-sai-v6/e": "14.901",
    "sg-rws-tai-sai-open-cover-v5/a": "8.000",
    "sg-rws-tai-sai-open-cover-v5/c": "14.850",
    "sg-rws-tai-sai-open-cover-v5/e": "14.901",
    "nz-tai-sai-2008/1": "8.000",
    "nz-tai-sai-2008/2": "11.190",
}

# One unit on every box, where it is printed as a fraction (Triple Dice: without the shooter).
LAYOUT_EXACT: dict[str, Fraction] = {
    "triple-dice/mat": Fraction(5, 17),
}

KINDS: dict[str, str] = {
    "sg-rws-tai-sai-v6": "singapore",
    "sg-rws-tai-sai-open-cover-v5": "singapore",
    "nz-tai-sai-2008": "new-zealand",
    "triple-dice": "triple-dice",
}


def printed_edge(game: str, box: str) -> Fraction:
    """Look up the printed edge of a box of a game such as "nz-tai-sai-2008/2"."""
    edges = PRINTED[KINDS[game.partition("/")[0]]]
    if box in edges:
        return edges[box]
    return edges[box.partition(":")[0]]
