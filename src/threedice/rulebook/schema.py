"""The shape of a rulebook's TOML file: identity, dice, wagers, pay tables, layouts, clauses.

`source` reads a file into these structs; `compile` turns one layout of them into a `Game`.
"""

from __future__ import annotations

from typing import Any, Literal

from threedice.rulebook.conduct import Citation, Conduct, Fact

# --- dice ---------------------------------------------------------------------------------------


class Dice(Fact, frozen=True, kw_only=True):
    """The six faces in order, from which everything else takes its names."""

    faces: tuple[int | str, int | str, int | str, int | str, int | str, int | str]
    clause: Citation
    words: list[str] = []


# --- wagers -------------------------------------------------------------------------------------

When = Literal[
    "total-is",
    "total-odd",
    "total-even",
    "shows",
    "count",
    "shows-both",
    "shows-pair",
    "any-triple",
    "triple",
    "exactly",
    "three-different-within",
    "all-within",
    "pair-within",
    "exact-pair-within",
]

Part = int | str


class Condition(Fact, frozen=True, kw_only=True):
    """A word of the closed vocabulary of winning; `of` is the box's selection unless given."""

    when: When
    of: list[Part] | None = None
    unless: Literal["any-triple"] | None = None


Selects = Literal[
    "nothing", "face", "total", "two-faces", "three-faces", "four-faces", "pair-and-single"
]


class Under(Fact, frozen=True, kw_only=True):
    """Clauses on winning and losing, on triples too, that are closer than a wager's own."""

    win: Citation | None = None
    lose: Citation | None = None
    triple_win: Citation | None = None
    triple_lose: Citation | None = None


class Wager(Fact, frozen=True, kw_only=True):
    """A family of boxes that win in the same manner."""

    name: str
    clause: Citation
    wins: When | Condition | list[Condition]
    selects: Selects | list[str] = "nothing"
    throws: int = 1
    under: Under = Under()


class Row(Fact, frozen=True, kw_only=True):
    """A row of a pay table: which boxes of a wager are offered, at which odds.

    Without `boxes` the whole family is offered; several odds go by the number of dice that count.
    """

    odds: str | list[str]
    wager: str | None = None
    boxes: list[Part] | None = None
    clause: Citation | None = None


class PayTable(Fact, frozen=True, kw_only=True):
    """A printed table of odds, with the rows of another where it includes one."""

    clause: Citation
    rows: dict[str, Row]
    includes: str = ""


# --- layouts ------------------------------------------------------------------------------------


class Block(Fact, frozen=True, kw_only=True):
    """Boxes side by side on the felt, filling rows of `columns` cells from the left and the top.

    An empty name leaves a cell free. In `en`, `zh` and `odds`, {1} to {4} are the parts of a box's
    selection, {1:word} a face spelt out, {a} and {b} its odds ({a2} those for two dice).
    """

    boxes: list[str]
    at: tuple[int, int]
    cell: tuple[int, int]
    columns: int | None = None
    end: str = ""
    en: list[str] = []
    zh: list[str] = []
    odds: str = ""
    dice: bool = False


class Legend(Fact, frozen=True, kw_only=True):
    """Words on the felt that are not a place for chips; their odds are those of one box."""

    at: tuple[int, int]
    size: tuple[int, int]
    odds_of: str = ""
    en: list[str] = []
    zh: list[str] = []


class Layout(Fact, frozen=True, kw_only=True):
    """One felt: its pay table, and where everything stands on it.

    `like` takes the geometry of another game, of which only the differences are then given.
    """

    title: str
    pay_table: str
    clause: Citation
    like: str = ""
    size: tuple[int, int] | None = None
    blocks: dict[str, Block] = {}
    legends: dict[str, Legend] = {}


# --- readings and clauses -----------------------------------------------------------------------


class Option(Fact, frozen=True, kw_only=True):
    """One way to read a clause: in words, and the keys of the file that it sets."""

    says: str
    set: dict[str, Any] = {}


class Reading(Fact, frozen=True, kw_only=True):
    """A question the document leaves open, and the answers to choose from."""

    question: str
    clause: Citation
    default: str
    options: dict[str, Option]
    layouts: list[str] | None = None


Status = Literal["modelled", "definition", "procedural", "out of scope"]


class Clause(Fact, frozen=True, kw_only=True):
    """A clause of the document in our own words, and what the system makes of it."""

    status: Status
    summary: str
    reason: str = ""


# --- the whole file -----------------------------------------------------------------------------


class Rulebook(Conduct, frozen=True, kw_only=True):
    """A whole rulebook: a game's document as data."""

    id: str
    title: str
    version: str
    source: str
    dice: Dice
    wagers: dict[str, Wager]
    pay_tables: dict[str, PayTable]
    layouts: dict[str, Layout]
    clauses: dict[str, Clause]
    authority: str = ""
    operator: str = ""
    jurisdiction: str = ""
    effective: str = ""
    readings: dict[str, Reading] = {}
