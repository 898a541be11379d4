"""The conduct of a game as stated in a rulebook's file: limits, procedure, irregularities, people.

These structs are both the format of the TOML file and part of a Game's facts; `table` acts on them
and the screens show them. Fields listed in a struct's `LABELS` are texts for people and are not
part of a Game's hash.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

Citation = (
    Annotated[str, msgspec.Meta(min_length=1)] | Annotated[list[str], msgspec.Meta(min_length=1)]
)
"""One clause number or several; a clause of another rulebook is written 'book clause'."""

TableRole = Literal["player", "shooter", "dealer", "supervisor", "pit-manager", "shift-manager"]


class RulebookStruct(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of all tables of a rulebook; unknown keys are refused."""

    LABELS: ClassVar[frozenset[str]] = frozenset()


# --- limits -------------------------------------------------------------------------------------


class MinimumRule(RulebookStruct, frozen=True, kw_only=True):
    """The scope of the minimum, and the treatment of a bet below it."""

    scope: Literal["player", "box"]
    noticed: Literal["increase-or-withdraw"]
    unnoticed: Literal["stands"]
    clause: Citation


class MaximumRule(RulebookStruct, frozen=True, kw_only=True):
    """The scope of the maximum, and the treatment of an excess, noticed or not."""

    scope: Literal["player", "box"]
    noticed: Literal["reject-excess"]
    unnoticed: Literal["pro-rata", "stands"]
    clause: Citation


class DifferentialRule(RulebookStruct, frozen=True, kw_only=True):
    """Pairs of boxes whose totals may differ by at most a stated amount."""

    pairs: list[tuple[str, str]]
    noticed: Literal["reject-excess"]
    unnoticed: Literal["pro-rata", "stands"]
    clause: Citation


class ProRataRule(RulebookStruct, frozen=True, kw_only=True):
    """How the players in a box over its limit share the permitted total."""

    method: Literal["floor", "absorb"]
    round_to: Literal["smallest-chip"]
    never_below_minimum: bool
    exempt_below_minimum: bool
    clause: Citation


class LimitPolicy(RulebookStruct, frozen=True, kw_only=True):
    """The policy on limits; the amounts belong to a table, not to a rulebook."""

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
    """A step of a round: who takes it, the announcement word for word, what makes it valid."""

    by: list[TableRole]
    clause: Citation
    announces: str = ""
    bell: bool = False
    covered: bool = False
    at_least: int = 1
    as_early_as: StepName | None = None
    per: Literal["round", "shooter"] = "round"


class Positions(RulebookStruct, frozen=True, kw_only=True):
    """The step at which the positions of the chips become final for settlement."""

    fixed_at: StepName
    clause: Citation


class HandsOff(RulebookStruct, frozen=True, kw_only=True):
    """When players may handle their chips again once betting is closed."""

    winning: Literal["until-area-paid"]
    losing: Literal["for-good"]
    clause: Citation


class VoidRule(RulebookStruct, frozen=True, kw_only=True):
    """Whether the bets of a void round are returned or stand."""

    bets: Literal["returned", "stand"]
    clause: Citation


class Procedure(RulebookStruct, frozen=True, kw_only=True):
    """The steps of a round, in order."""

    unit: Literal["round", "spin", "throw"]
    order: list[StepName]
    steps: dict[StepName, Step]
    positions: Positions
    void: VoidRule
    clause: Citation
    hands_off: HandsOff | None = None


class CallFormat(RulebookStruct, frozen=True, kw_only=True):
    """How a result is called: faces ascending, doubles and triples as one, then the total."""

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
    """Something that can go wrong at a table, and its consequence."""

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


# --- people and equipment -----------------------------------------------------------------------

ActName = Literal[
    "bet",
    "bet-on-behalf",
    "call-bet",
    "open-table",
    "release-table",
    "operate-equipment",
]


class ActRule(RulebookStruct, frozen=True, kw_only=True):
    """The roles that may do an act that is not a step of the round."""

    by: list[TableRole]
    clause: Citation


class StandIn(RulebookStruct, frozen=True, kw_only=True):
    """Roles in ascending rank; a senior may carry out the duties of a junior."""

    roles: list[TableRole]
    clause: Citation


class MinimumAge(RulebookStruct, frozen=True, kw_only=True):
    """The minimum age, and the roles to which it applies."""

    years: int
    applies_to: list[TableRole]
    clause: Citation


class PeopleRules(RulebookStruct, frozen=True, kw_only=True):
    """The document's titles for the roles, and the permissions of each role."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"titles"})

    acts: dict[ActName, ActRule]
    titles: dict[TableRole, str] = {}
    stand_in: StandIn | None = None
    minimum_age: MinimumAge | None = None


class ChipRules(RulebookStruct, frozen=True, kw_only=True):
    """The kinds of chips in play, and how a bet is stacked."""

    kinds: list[Literal["value", "non-value"]]
    clause: Citation
    smaller_on_top: bool = False


class EquipmentDetail(RulebookStruct, frozen=True, kw_only=True):
    """Details of equipment that the software needs."""

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
    """A piece of equipment: when it is needed, and the details that the software needs."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    needed: Literal["always", "with-non-value-chips", "optional"]
    clause: Citation
    what: str = ""
    detail: EquipmentDetail = EquipmentDetail()


class OpeningCheck(RulebookStruct, frozen=True, kw_only=True):
    """A check that must be made before the first round."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    by: list[TableRole]
    clause: Citation
    what: str = ""


class ShooterRule(RulebookStruct, frozen=True, kw_only=True):
    """The rules for the player who throws the dice, and for the bet only that player may hold."""

    box: str
    dice_offered: int
    dice_chosen: int
    must_bet: bool
    locked: bool
    may_bet_elsewhere: bool
    clause: Citation


class Conduct(RulebookStruct, frozen=True, kw_only=True):
    """All rules on running a game that can change a payment or a permitted act."""

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
