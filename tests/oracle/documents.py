"""House edges and clause numbers of the rule documents, transcribed by hand."""

from fractions import Fraction

# --- House edges ------------------------------------------------------------------------------

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


# --- Clause numbers, in document order --------------------------------------------------------

# fmt: off
SINGAPORE: tuple[str, ...] = (
    "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9",
    "2.1",
    "2.1.1",
    "2.2",
    "2.2.1",
    "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10",
    "3.10.1", "3.10.2", "3.10.3", "3.10.4", "3.10.5",
    "4.1",
    "4.1.1", "4.1.2", "4.1.3",
    "5.1",
    "5.1.1", "5.1.2",
    "5.2",
    "5.2.1",
    "5.3",
    "5.4",
    "5.4.1", "5.4.2",
    "5.5",
    "5.5.1", "5.5.2", "5.5.3",
    "5.6", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12", "5.13", "5.14",
    "appendix:A", "appendix:B", "appendix:C", "appendix:D", "appendix:E", "appendix:F",
)

NEW_ZEALAND: tuple[str, ...] = (
    "1.0",
    "2.0",
    "3.1",
    "3.2",
    "3.3",
    "3.3(a)", "3.3(a)(i)", "3.3(a)(ii)", "3.3(a)(iii)",
    "3.3(b)",
    "3.4",
    "3.4(a)", "3.4(b)", "3.4(c)", "3.4(d)",
    "3.4(e)", "3.4(e)(i)", "3.4(e)(ii)", "3.4(e)(iii)", "3.4(e)(iv)", "3.4(e)(v)",
    "3.4(f)", "3.4(g)",
    "4.1",
    "4.1(a)", "4.1(a)(i)", "4.1(a)(ii)",
    "4.1(b)", "4.1(b)(i)", "4.1(b)(ii)",
    "4.1(c)", "4.1(c)(i)", "4.1(c)(ii)",
    "4.1(d)", "4.1(d)(i)", "4.1(d)(ii)", "4.1(d)(iii)",
    "4.1(e)", "4.1(e)(i)", "4.1(e)(ii)",
    "4.1(f)", "4.1(f)(i)", "4.1(f)(ii)",
    "4.1(g)", "4.1(g)(i)", "4.1(g)(ii)",
    "4.1(h)", "4.1(h)(i)", "4.1(h)(ii)",
    "4.1(i)", "4.1(i)(i)", "4.1(i)(ii)",
    "4.1(j)", "4.1(j)(i)", "4.1(j)(ii)",
    "4.1(k)", "4.1(k)(i)", "4.1(k)(ii)",
    "4.1(l)", "4.1(l)(i)", "4.1(l)(ii)",
    "4.2", "4.3", "4.4", "4.5", "4.6",
    "4.7", "4.7(a)", "4.7(b)",
    "4.8", "4.9", "4.10",
    "5.0", "5.0(a)", "5.0(b)", "5.0(c)", "5.0(d)",
    "6.1", "6.2", "6.3",
    "6.4", "6.4(a)", "6.4(b)",
    "6.5", "6.5(a)", "6.5(b)",
    "6.6",
    "7.1", "7.1(a)", "7.1(b)", "7.1(c)", "7.1(d)",
    "7.2", "7.3", "7.4", "7.5",
    "appendix:1", "appendix:2",
)

TRIPLE_DICE: tuple[str, ...] = (
    "1", "2", "3", "4", "5", "6",
    "7",
    "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8",
    "8", "9", "10",
    "odds:outside",
    "odds:red-black",
    "odds:double",
    "odds:any-triple",
    "odds:specific-triple",
    "odds:shooter",
)
# fmt: on

CLAUSE_NUMBERS: dict[str, tuple[str, ...]] = {
    "sg-rws-tai-sai-v6": SINGAPORE,
    "sg-rws-tai-sai-open-cover-v5": SINGAPORE,
    "nz-tai-sai-2008": NEW_ZEALAND,
    "triple-dice": TRIPLE_DICE,
}
