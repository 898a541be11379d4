"""The conduct of a game as stated in a rulebook's file: limits, procedure, irregularities, people.

These structs are both the format of the TOML file and part of a Game's facts; `table` acts on them
and the screens show them. Fields listed in a struct's `LABELS` are texts for people and are not
part of a Game's hash.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec

Citation = (
    Annotated[str, msgspec.Meta(min_length=1)] | Annotated[list[str], msgspec.Meta(min_length=1)]
)
"""One clause number or several; a clause of another rulebook is written 'book clause'."""

TableRole = Literal[
    "player",
    "shooter",
    "dealer",
    "game-supervisor",
    "supervisor",
    "pit-manager",
    "shift-manager",
]
"""A role at a table; `game-supervisor` where a rulebook names one besides the `supervisor`."""


class RulebookStruct(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of all tables of a rulebook; unknown keys are refused."""

    LABELS: ClassVar[frozenset[str]] = frozenset()


class RefusingRule(RulebookStruct, frozen=True, kw_only=True):
    """A rule of several clauses; `refusals` has those that a refusal cites, by its code.

    Other refusals cite all of its clauses. The choice is for readers, and no part of the rules.
    """

    LABELS: ClassVar[frozenset[str]] = frozenset({"refusals"})
    clause: Citation
    refusals: dict[str, Citation] = {}


# --- limits -------------------------------------------------------------------------------------


class MinimumRule(RefusingRule, frozen=True, kw_only=True):
    """The scope of the minimum; a bet below it stands if nobody notices."""

    scope: Literal["player", "box"]


class MaximumRule(RefusingRule, frozen=True, kw_only=True):
    """The scope of the maximum, and the treatment of an excess that nobody noticed."""

    scope: Literal["player", "box"]
    unnoticed: Literal["pro-rata", "stands"]


class DifferentialRule(RulebookStruct, frozen=True, kw_only=True):
    """Pairs of boxes whose totals may differ by at most a stated amount."""

    pairs: list[tuple[str, str]]
    unnoticed: Literal["pro-rata", "stands"]
    clause: Citation


class ProRataRule(RulebookStruct, frozen=True, kw_only=True):
    """How the players in a box over its limit share the permitted total."""

    method: Literal["floor", "absorb"]
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
    """A step of a round: who takes it, the announcement word for word, what makes it valid.

    `recorded_by` are the roles that may record that the player has taken it. A table that plays
    without the `equipment` leaves the step out.
    """

    by: list[TableRole]
    clause: Citation
    recorded_by: list[TableRole] = []
    announces: str = ""
    bell: bool = False
    covered: bool = False
    at_least: int = 1
    as_early_as: StepName | None = None
    optional: bool = False
    equipment: list[str] = []
    per: Literal["round", "shooter"] = "round"


class Positions(RulebookStruct, frozen=True, kw_only=True):
    """The step at which the positions of the chips become final for settlement."""

    fixed_at: StepName
    clause: Citation


class HandsOff(RulebookStruct, frozen=True, kw_only=True):
    """Players keep their hands off their chips from the call of the result on."""

    clause: Citation


class VoidRule(RulebookStruct, frozen=True, kw_only=True):
    """Says if the bets of a void round are returned or stand."""

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
    caused_by: StepName | None = None
    """The step that brings it about: reported earlier in a round, it concerns the one before."""
    found_until: Literal["last-payment", "next-round", "next-throw", "always"] = "last-payment"
    """How late it may come to light and still void the round in which it happened."""
    second_person: Literal["never", "after-call"] = "never"
    pieces: list[str] = []
    """The kinds of equipment whose malfunction it is: a report may name a piece of them."""


# --- people and equipment -----------------------------------------------------------------------

ActName = Literal[
    "bet",
    "bet-on-behalf",
    "call-bet",
    "open-table",
    "release-table",
    "operate-equipment",
]
RETIRED_ACTS: Final[tuple[ActName, ...]] = ("operate-equipment",)
"""Acts of games in old logs. Rulebooks no longer name them: their steps say who takes them."""


class ActRule(RulebookStruct, frozen=True, kw_only=True):
    """The roles that may do an act that is not a step of the round, and those that record it."""

    by: list[TableRole]
    clause: Citation
    recorded_by: list[TableRole] = []


class StandIn(RulebookStruct, frozen=True, kw_only=True):
    """Roles in ascending rank; a senior may carry out the duties of a junior."""

    roles: list[TableRole]
    clause: Citation


class MinimumAge(RulebookStruct, frozen=True, kw_only=True):
    """The minimum age, the roles to which it applies, and those whose age must be known."""

    years: int
    applies_to: list[TableRole]
    clause: Citation
    proven: tuple[TableRole, ...] = ("player",)


class ApprovalRule(RulebookStruct, frozen=True, kw_only=True):
    """The roles whose approval counts where an act takes two people."""

    by: list[TableRole]
    clause: Citation


class PeopleRules(RulebookStruct, frozen=True, kw_only=True):
    """The document's titles for the roles, and the permissions of each role."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"titles"})

    acts: dict[ActName, ActRule]
    titles: dict[TableRole, str] = {}
    stand_in: StandIn | None = None
    approvals: ApprovalRule | None = None
    minimum_age: MinimumAge | None = None


class ChipRules(RulebookStruct, frozen=True, kw_only=True):
    """The kinds of chips in play; `smaller_on_top` is how value chips of a bet are piled."""

    kinds: list[Literal["value", "non-value"]]
    clause: Citation
    smaller_on_top: bool = False


class EquipmentDetail(RulebookStruct, frozen=True, kw_only=True):
    """Details of equipment that the software needs."""

    count: int | None = None
    offered: int | None = None
    sealed: bool | None = None
    keys: int | None = None
    echo: int | None = None
    changes_chips: bool | None = None


class Equipment(RulebookStruct, frozen=True, kw_only=True):
    """A piece of equipment: when it is needed, and the details that the software needs."""

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    needed: Literal["always", "with-non-value-chips", "optional"]
    clause: Citation
    what: str = ""
    detail: EquipmentDetail = EquipmentDetail()


USUAL_EQUIPMENT: Final = (
    "tumbler", "cover", "terminal", "lights", "results-display", "bell", "drop-box", "chip-rack",
    "dice",
)  # fmt: skip
"""The kinds of equipment that any table may have, besides those that its rulebook describes."""


class OpeningCheck(RulebookStruct, frozen=True, kw_only=True):
    """A check that must be made before the first round, and the kinds of equipment it covers.

    With `test`, a test must have shown every light of the layout working; with `seal`,
    the number of the seal is compared with the register.
    """

    LABELS: ClassVar[frozenset[str]] = frozenset({"what"})

    by: list[TableRole]
    clause: Citation
    what: str = ""
    pieces: list[str] = []
    test: bool = False
    seal: bool = False


class ShooterRule(RefusingRule, frozen=True, kw_only=True):
    """The rules for the player who throws the dice, and for the bet only that player may hold."""

    box: str
    dice_offered: int
    dice_chosen: int
    must_bet: bool
    locked: bool
    may_bet_elsewhere: bool
    at_close: Literal["returned", "refuse"] = "returned"


class CorrectionRule(RulebookStruct, frozen=True, kw_only=True):
    """Says if the payment of a settled bet may be corrected."""

    allowed: bool
    by: list[TableRole]
    clause: Citation


class DebtRules(RulebookStruct, frozen=True, kw_only=True):
    """The payments that reduce a player's debt to the house.

    `winnings`: winnings and cash paid in do, and chips up to the debt leave the table only by a
    supervisor's decision. `none`: only a repayment does.
    """

    set_off: Literal["winnings", "none"]
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
    corrections: CorrectionRule | None = None
    debts: DebtRules | None = None


def clause_numbers(clause: Citation) -> tuple[str, ...]:
    """Return the clause numbers of a citation.

    >>> clause_numbers("5.1"), clause_numbers(["5.1", "5.1.1"])
    (('5.1',), ('5.1', '5.1.1'))
    """
    return (clause,) if isinstance(clause, str) else tuple(clause)
