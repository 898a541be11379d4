"""The schema of a rulebook's TOML file: identity, dice, wagers, pay tables, layouts, clauses.

`source` converts a file to these structs; `compiler` compiles one layout to a `Game`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from threedice.rulebook.conduct import Citation, Conduct, RulebookStruct

# --- dice ---------------------------------------------------------------------------------------


class Dice(RulebookStruct, frozen=True, kw_only=True):
    """The names of the six faces in order; wagers and layouts use them.

    `points`: symbols count 1 to 6 in this order, so that three dice have a total.
    """

    faces: tuple[int | str, int | str, int | str, int | str, int | str, int | str]
    clause: Citation
    words: list[str] = []
    zh: list[str] = []
    points: bool = False


# --- wagers -------------------------------------------------------------------------------------

ConditionName = Literal[
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
    "one-within",
    "two-within",
    "pair-within",
    "exact-pair-within",
]

SelectionPart = int | str


class Condition(RulebookStruct, frozen=True, kw_only=True):
    """A winning condition of the closed vocabulary; `of` defaults to the box's selection."""

    when: ConditionName
    of: list[SelectionPart] | None = None
    unless: Literal["any-triple"] | None = None


SelectionKind = Literal[
    "nothing", "face", "total", "two-faces", "three-faces", "four-faces", "pair-and-single"
]


class OutcomeClauses(RulebookStruct, frozen=True, kw_only=True):
    """Clauses on winning and losing, also on triples, that are more specific than the wager's."""

    win: Citation | None = None
    lose: Citation | None = None
    triple_win: Citation | None = None
    triple_lose: Citation | None = None


class Wager(RulebookStruct, frozen=True, kw_only=True):
    """A family of boxes with the same winning condition."""

    name: str
    clause: Citation
    wins: ConditionName | Condition | list[Condition]
    selects: SelectionKind | list[str] = "nothing"
    throws: int = 1
    under: OutcomeClauses = OutcomeClauses()


OddsText = Annotated[str, msgspec.Meta(extra={"form": 'odds in quotes, such as "62 to 1"'})]


class PayTableRow(RulebookStruct, frozen=True, kw_only=True):
    """A row of a pay table: the boxes of a wager that are offered, and their odds.

    Without `boxes` the whole family is offered; a list of odds has one entry for each way to win.
    """

    odds: OddsText | list[OddsText]
    wager: str | None = None
    boxes: list[SelectionPart] | None = None
    clause: Citation | None = None


class PayTable(RulebookStruct, frozen=True, kw_only=True):
    """A table of odds, optionally including the rows of another."""

    clause: Citation
    rows: dict[str, PayTableRow]
    includes: str = ""


# --- layouts ------------------------------------------------------------------------------------


class Block(RulebookStruct, frozen=True, kw_only=True):
    """A grid of boxes on the felt, filled in rows of `columns` cells from the top left.

    An empty name leaves a cell free. In `en`, `zh` and `odds`, {1} to {4} are the parts of a box's
    selection, {1:word} a face spelt out, {1:zh} in Chinese, {a} and {b} its odds ({a2} of the
    second way to win).
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


class Legend(RulebookStruct, frozen=True, kw_only=True):
    """Text on the felt outside the areas; it may quote the odds of one box."""

    at: tuple[int, int]
    size: tuple[int, int]
    odds_of: str = ""
    en: list[str] = []
    zh: list[str] = []


class Layout(RulebookStruct, frozen=True, kw_only=True):
    """One felt: its pay table and its geometry.

    `like` takes the geometry of another game, so that only differences have to be given.
    """

    title: str
    pay_table: str
    clause: Citation
    like: str = ""
    size: tuple[int, int] | None = None
    blocks: dict[str, Block] = {}
    legends: dict[str, Legend] = {}


# --- readings and clauses -----------------------------------------------------------------------


class ReadingOption(RulebookStruct, frozen=True, kw_only=True):
    """One way to read a clause: its text, and the keys of the file that it sets."""

    says: str
    set: dict[str, Any] = {}


class Reading(RulebookStruct, frozen=True, kw_only=True):
    """A question that the document leaves open, and the possible answers."""

    question: str
    clause: Citation
    default: str
    options: dict[str, ReadingOption]
    layouts: list[str] | None = None


ClauseStatus = Literal["modelled", "prompted", "declared", "excused"]
"""The engine acts on the clause, a screen asks or says it, a page shows it, or it is left out."""


class Clause(RulebookStruct, frozen=True, kw_only=True):
    """A clause of the document, summarised, and how the software treats it."""

    status: ClauseStatus
    summary: str
    reason: str = ""


# --- the whole file -----------------------------------------------------------------------------


class Rulebook(Conduct, frozen=True, kw_only=True):
    """A complete rulebook: a game's document as data."""

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
    """From when the rulebook is in force; empty: always."""
    consolidated: str = ""
    """The date of a consolidated text; its clauses may have been in force before."""
    readings: dict[str, Reading] = {}
