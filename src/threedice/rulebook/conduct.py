"""How a game is run, as a rulebook's file says it: limits, procedure, irregularities, people.

These structs are read from TOML as they stand and go into a Game's facts as they stand; `table`
acts on them, the screens prompt them. Fields named in a struct's `LABELS` are words for people:
they do not enter a Game's hash.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

Citation = (
    Annotated[str, msgspec.Meta(min_length=1)] | Annotated[list[str], msgspec.Meta(min_length=1)]
)
"""One clause number, or several, of the rulebook itself; of another book as 'book clause'."""

TableRole = Literal["player", "shooter", "dealer", "supervisor", "pit-manager", "shift-manager"]


class RulebookStruct(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A table of a rulebook: unknown keys are refused."""

    LABELS: ClassVar[frozenset[str]] = frozenset()


# --- limits -------------------------------------------------------------------------------------


class MinimumRule(RulebookStruct, frozen=True, kw_only=True):
    """Whose chips the minimum counts; a bet below it is increased, withdrawn or stands."""

    scope: Literal["player", "box"]
    noticed: Literal["increase-or-withdraw"]
    unnoticed: Literal["stands"]
    clause: Citation


class MaximumRule(RulebookStruct, frozen=True, kw_only=True):
    """Whose chips the maximum counts, and what becomes of an excess that nobody noticed."""

    scope: Literal["player", "box"]
    noticed: Literal["reject-excess"]
    unnoticed: Literal["pro-rata", "stands"]
    clause: Citation


class DifferentialRule(RulebookStruct, frozen=True, kw_only=True):
    """Pairs of boxes whose totals may differ by no more than a stated amount."""

    pairs: list[tuple[str, str]]
    noticed: Literal["reject-excess"]
    unnoticed: Literal["pro-rata", "stands"]
    clause: Citation


class ProRataRule(RulebookStruct, frozen=True, kw_only=True):
    """How a box over its limit is apportioned among the players in it."""

    method: Literal["floor", "absorb"]
    round_to: Literal["smallest-chip"]
    never_below_minimum: bool
    exempt_below_minimum: bool
    clause: Citation


class LimitPolicy(RulebookStruct, frozen=True, kw_only=True):
    """The limit policy; the amounts themselves belong to a table, not to a rulebook."""

    displayed: list[Literal["minimum", "maximum", "differential"]]
    minimum: MinimumRule
    maximum: MaximumRule
    clause: Citation
    areas: Literal["shared", "per-area"] = "shared"
    reject_order: Literal["last-placed-first"] = "last-placed-first"
    differential: DifferentialRule | None = None
    pro_rata: ProRataRule | None = None


# --- procedure ----------------------------------------------------------------------------------

StepName = Literal[
    "offer-dice",
    "choose-dice",
    "open-betting",
    "tumble",
    "close-betting",
    "throw",
    "uncover",
    "call-result",
    "enter-result",
    "illuminate",
    "collect-losers",
    "pay-winners",
]


class Step(RulebookStruct, frozen=True, kw_only=True):
    """One act of a round: who does it, what is said word for word, what makes it valid."""

    by: list[TableRole]
    clause: Citation
    announces: str = ""
    bell: bool = False
    covered: bool = False
    at_least: int = 1
    as_early_as: StepName | None = None
    per: Literal["round", "shooter"] = "round"


class Positions(RulebookStruct, frozen=True, kw_only=True):
    """The step at which the place of the chips on the layout decides how they are settled."""

    fixed_at: StepName
    clause: Citation


class HandsOff(RulebookStruct, frozen=True, kw_only=True):
    """When a player may handle his own chips again once betting is closed."""

    winning: Literal["until-area-paid"]
    losing: Literal["for-good"]
    clause: Citation


class VoidRule(RulebookStruct, frozen=True, kw_only=True):
    """What becomes of the bets of a round without a result."""

    bets: Literal["returned", "stand"]
    clause: Citation


class Procedure(RulebookStruct, frozen=True, kw_only=True):
    """A round from its first act to its last."""

    unit: Literal["round", "spin", "throw"]
    order: list[StepName]
    steps: dict[StepName, Step]
    positions: Positions
    void: VoidRule
    clause: Citation
    hands_off: HandsOff | None = None


class CallFormat(RulebookStruct, frozen=True, kw_only=True):
    """How a result is called: faces in order, doubles and triples as one, then the total."""

    clause: Citation
    double: str = "double {face}"
    triple: str = "triple {face}"
    total: str = ""


IrregularityName = Literal[
    "too-few-tumbles",
    "dice-not-flat",
    "exposed-before-close",
    "tumbled-before-close",
    "tumbler-fault",
    "not-tumbled",
    "not-thrown-together",
    "dice-damaged",
    "interruption",
    "wrong-entry",
    "illumination-failed",
    "display-wrong",
    "equipment-malfunction",
    "bet-after-close",
    "bet-on-line",
    "bet-moved",
    "call-bet-misplaced",
    "bet-misplaced",
    "losing-bet-handled",
    "walked-away",
    "interference",
    "error-found-late",
    "not-provided-for",
]


class Irregularity(RulebookStruct, frozen=True, kw_only=True):
    """Something that goes wrong at a table, and what the rules make of it."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    consequence: Literal[
        "void-round",
        "void-affected-rounds",
        "throw-again",
        "continue-if-conclusive",
        "amend",
        "settle-by-dice",
        "settle-as-placed",
        "put-back",
        "refuse",
        "decide",
        "rule",
        "lock-table",
        "no-later-effect",
    ]
    clause: Citation
    what: str = ""
    announces: str = ""
    bets: Literal["returned", "stand", "locked"] | None = None
    by: list[TableRole] = []
    supervised_by: list[TableRole] = []
    locks_table: bool = False
    available: Literal["layout", "placed"] | None = None
    covered_dice_stand: bool = False


# --- people and things --------------------------------------------------------------------------

ActName = Literal[
    "bet",
    "bet-on-behalf",
    "call-bet",
    "open-table",
    "release-table",
    "operate-equipment",
]


class ActRule(RulebookStruct, frozen=True, kw_only=True):
    """Who may do something that is not a step of the round."""

    by: list[TableRole]
    clause: Citation


class StandIn(RulebookStruct, frozen=True, kw_only=True):
    """Roles whose duties anyone assigned to the position may carry out."""

    roles: list[TableRole]
    clause: Citation


class MinimumAge(RulebookStruct, frozen=True, kw_only=True):
    """Who has to be how old."""

    years: int
    applies_to: list[TableRole]
    clause: Citation


class PeopleRules(RulebookStruct, frozen=True, kw_only=True):
    """The document's titles for our roles, and who may do what."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"titles"})

    acts: dict[ActName, ActRule]
    titles: dict[TableRole, str] = {}
    stand_in: StandIn | None = None
    minimum_age: MinimumAge | None = None


class ChipRules(RulebookStruct, frozen=True, kw_only=True):
    """Which chips are played and how they are stacked in a bet."""

    kinds: list[Literal["value", "non-value"]]
    clause: Citation
    smaller_on_top: bool = False


class EquipmentDetail(RulebookStruct, frozen=True, kw_only=True):
    """What the software has to know of a thing."""

    count: int | None = None
    offered: int | None = None
    cover: bool | None = None
    sealed: bool | None = None
    attached: bool | None = None
    activated: list[Literal["mechanically", "electrically", "electronically"]] = []
    keys: int | None = None
    entry_keys: int | None = None
    echo: int | None = None


class Equipment(RulebookStruct, frozen=True, kw_only=True):
    """A thing the game needs: when it is needed, and the details that matter to the software."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    needed: Literal["always", "with-non-value-chips", "optional"]
    clause: Citation
    what: str = ""
    detail: EquipmentDetail = EquipmentDetail()


class OpeningCheck(RulebookStruct, frozen=True, kw_only=True):
    """Something to be seen to before a table opens."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    by: list[TableRole]
    clause: Citation
    what: str = ""


class ShooterRule(RulebookStruct, frozen=True, kw_only=True):
    """The player who throws the dice, and the bet only he may hold."""

    box: str
    dice_offered: int
    dice_chosen: int
    must_bet: bool
    locked: bool
    may_bet_elsewhere: bool
    clause: Citation


class Conduct(RulebookStruct, frozen=True, kw_only=True):
    """Everything about running a game that can change a payment or a permitted act."""

    limits: LimitPolicy
    procedure: Procedure
    call: CallFormat
    people: PeopleRules
    chips: ChipRules
    irregularities: dict[IrregularityName, Irregularity] = {}
    equipment: dict[str, Equipment] = {}
    opening: dict[str, OpeningCheck] = {}
    shooter: ShooterRule | None = None


def clause_numbers(clause: Citation) -> tuple[str, ...]:
    """Return the clause numbers of a citation.

    >>> clause_numbers("5.1"), clause_numbers(["5.1", "5.1.1"])
    (('5.1',), ('5.1', '5.1.1'))
    """
    return (clause,) if isinstance(clause, str) else tuple(clause)
