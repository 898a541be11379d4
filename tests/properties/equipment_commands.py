"""Random commands about the equipment of a table, and those that make it playable again."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Literal

from tests.properties.chip_commands import ChipCommands
from threedice.table import commands
from threedice.table.commands import Die

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.table.commands import AnyCommand

NAMES = [f"{letter}-{number}" for letter in "abc" for number in range(8)]
KINDS = ["tumbler", "terminal", "lights", "results-display", "bell"]
RESULTS_BY_LAMP: dict[str, dict[str, list[tuple[int, int, int]]]] = {}
SEALS = ["", "s-1", "s-2"]


class EquipmentCommands(ChipCommands):
    """Generates commands about equipment, at half of the tables."""

    equipment_share = 0.3
    """The share of commands about equipment between rounds, at tables that have a register."""

    @cached_property
    def equipped(self) -> bool:
        """True if this table has a register of its equipment."""
        return self.random.random() < max(self.equipment_share, 0.5)

    @cached_property
    def results_by_lamp(self) -> dict[str, list[tuple[int, int, int]]]:
        """The results that light each lamp."""
        if self.game.hash not in RESULTS_BY_LAMP:
            found: dict[str, list[tuple[int, int, int]]] = {lamp: [] for lamp in self.game.lamps}
            for roll in combinations_with_replacement(range(1, 7), 3):
                for lamp in self.lamps_of(roll):
                    found[lamp].append(roll)
            RESULTS_BY_LAMP[self.game.hash] = found
        return RESULTS_BY_LAMP[self.game.hash]

    def lamps_of(self, roll: tuple[int, int, int]) -> list[str]:
        boxes = set(self.game.winning(roll))
        return [lamp for lamp in self.game.lamps if lamp.partition("@")[0] in boxes]

    def likely_command(self) -> AnyCommand:
        """Return a command that usually comes next; first what the equipment needs."""
        chance, between_rounds = self.random.random(), self.state.round is None
        if self.equipped and between_rounds and chance < self.equipment_share:
            return self.equipment_command()
        repair = self.repair() if between_rounds and chance < 0.95 else None
        return repair or super().likely_command()

    # --- what makes the table playable ----------------------------------------------------------

    def repair(self) -> AnyCommand | None:
        """Return what the equipment needs before the next round, if anything."""
        equipment, by = self.state.equipment, self.actor("supervisor")
        checks = [name for name, check in self.game.facts.opening.items() if check.test]
        lights = [name for name in equipment.in_use("lights") if checks and self.state.open]
        if lights and self.doubtful() and self.random.random() < 0.7:
            faulty = [name for name, each in equipment.pieces.items() if self.is_faulty(each)]
            return self.remedy(faulty[0]) if faulty else self.pass_check(checks[0])
        if equipment.test:
            return self.trial()
        if equipment.failed:
            name = next(iter(equipment.failed.values()))
            return self.next_step() if self.random.random() < 0.4 else self.remedy(name)
        sets = {name: piece for name, piece in equipment.pieces.items() if piece.dice}
        installed = equipment.in_use("dice")
        if any(sets[name].condition == "faulty" for name in installed):
            if self.random.random() < 0.5:
                return commands.InspectDice(by=by, piece=installed[0], good=True)
            return commands.RemoveDice(by=by, piece=installed[0], reason="worn")
        if sets and not installed:
            good = [name for name, piece in sets.items() if piece.condition == "in-order"]
            if not good:
                return self.register_dice()
            seal = self.random.choice(["s-1", "", ""])
            seen = self.random.choice([sets[good[0]].seal, sets[good[0]].seal, "s-9"])
            return commands.InstallDice(by=by, piece=good[0], seen=seen, seal=seal)
        return self.missing_check() if self.state.open else None

    def missing_check(self) -> AnyCommand | None:
        """Return a check that is missing, or what its test needs."""
        state, by = self.state, self.actor("supervisor")
        lights, checks = state.equipment.in_use("lights"), self.game.facts.opening
        test = next((name for name, check in checks.items() if check.test), "")
        faulty = [name for name, each in state.equipment.pieces.items() if self.is_faulty(each)]
        missing = [check for check in checks if check not in state.checks]
        if faulty and missing and self.random.random() < 0.5:
            return self.remedy(faulty[0])
        if test and lights and (self.unproved() if test in missing else self.doubtful()):
            chance = self.random.random()
            if chance < 0.3:
                return commands.FailCheck(by=by, check=test, piece=lights[0], reason="dark")
            if chance < 0.45 and test in missing:  # too early
                return self.pass_check(test)
            return commands.StartTest(by=by)
        if missing:
            if self.random.random() < 0.2:
                return commands.PassCheck(by=by, check=missing[-1], seal="s-9")
            return self.pass_check(missing[0])
        return None

    def is_faulty(self, piece: Any) -> bool:
        return piece.in_use and piece.condition == "faulty" and not piece.dice

    def remedy(self, name: str) -> AnyCommand:
        """Return a remedy for a piece by which a check failed."""
        by, remedies = self.actor("supervisor"), ["rectified", "substitute-procedure"]
        if self.state.equipment.pieces[name].dice:
            return commands.RemoveDice(by=by, piece=name)
        remedy: Any = self.random.choice(remedies)
        new = self.random.choice(NAMES)
        if self.random.random() < 0.5:
            return commands.ReplacePiece(by=by, piece=name, replacement=new, reason="worn")
        return commands.ReleasePiece(by=by, piece=name, reason="seen to", remedy=remedy)

    def doubtful(self) -> list[str]:
        equipment = self.state.equipment
        return sorted(equipment.dark | equipment.stray)

    def unproved(self) -> list[str]:
        proved = self.state.equipment.proved
        return [lamp for lamp in self.game.lamps if lamp not in proved] + self.doubtful()

    def trial(self) -> AnyCommand:
        """Return a result in test mode that proves a lamp, or the end of the test."""
        by, random, equipment = self.actor("supervisor"), self.random, self.state.equipment
        wanted = self.unproved() if any(c.test for c in self.game.facts.opening.values()) else []
        if random.random() < 0.01 or (not wanted and not equipment.wrong and random.random() < 0.7):
            return commands.EndTest(by=by)
        lamp = random.choice(wanted or [*self.game.lamps])
        roll = random.choice(self.results_by_lamp[lamp])
        if lamp in equipment.stray:
            roll = random.choice(
                [
                    roll
                    for roll in combinations_with_replacement(range(1, 7), 3)
                    if roll not in self.results_by_lamp[lamp]
                ]
            )
        return self.seen(by, roll)

    def seen(self, by: Any, roll: tuple[int, int, int]) -> AnyCommand:
        """Return a trial in which something is now and then wrong."""
        random, lit = self.random, self.lamps_of(roll)
        if random.random() < 0.3:
            lit = random.choice([lit[1:], [*lit, random.choice(self.game.lamps)], [*lit, "moon"]])
        keys: Sequence[int] = random.choice([roll] * 60 + [roll[:2], (1, 2, 7)])
        shown = random.choice([[*roll]] * 40 + [[1, 1]])
        kind: Literal["echo", "display"] = random.choice(["echo", "display"])
        return commands.EnterTrial(by=by, keys=[*keys], lit=lit, **{kind: shown})

    def register_dice(self) -> AnyCommand:
        name, random = self.random.choice(NAMES), self.random
        detail = self.game.facts.equipment["dice"].detail
        count = random.choice([detail.offered or 3] * 4 + [2])
        dice = [Die(serial=f"{name}/{number}") for number in range(count)]
        by, seal = self.actor("supervisor"), random.choice(SEALS)
        return commands.RegisterPiece(by=by, piece=name, kind="dice", dice=dice, seal=seal)

    # --- anything -------------------------------------------------------------------------------

    def equipment_command(self) -> AnyCommand:
        """Return a command about equipment that may be possible now."""
        state, random, by = self.state, self.random, self.actor("supervisor")
        known = list(state.equipment.pieces)
        name = random.choice([*known, *known, "z-9"])
        sets = [each for each in known if state.equipment.pieces[each].dice]
        dice_set = random.choice([*sets, *sets, name])
        reason = random.choice(["worn", "worn", "worn", ""])
        remedy: Any = random.choice(["rectified", "substitute-procedure"])
        new, seal = random.choice([*NAMES, *known]), random.choice(SEALS)
        equipment = self.game.facts.equipment
        kind = random.choice([*KINDS, *equipment, "kettle"])
        optional = [each for each in equipment if equipment[each].needed == "optional"]
        stored = [each for each in sets if not state.equipment.pieces[each].installed]
        faulty = [each for each in known if state.equipment.pieces[each].condition == "faulty"]
        manager = self.actor("pit-manager")
        makers: list[Callable[[], AnyCommand]] = [
            lambda: commands.RegisterPiece(by=by, piece=new, kind=kind, seal=seal),
            lambda: commands.RegisterPiece(by=by, piece=new, kind=random.choice(KINDS)),
            self.register_dice,
            lambda: commands.OmitEquipment(
                by=by, kind=random.choice([kind, *equipment, *optional * 3])
            ),
            lambda: commands.ReplacePiece(by=by, piece=name, replacement=new, reason=reason),
            lambda: commands.ReleasePiece(
                by=by, piece=random.choice([name, *faulty * 3]), reason=reason, remedy=remedy
            ),
            lambda: commands.InstallDice(by=by, piece=dice_set, seal=seal, seen=seal),
            lambda: commands.InspectDice(by=by, piece=dice_set, good=random.random() < 0.7),
            lambda: commands.InspectDice(
                by=by, piece=dice_set, good=False, damaged=[random.choice([1, 9, 9])]
            ),
            lambda: commands.RemoveDice(by=by, piece=dice_set, seal=seal),
            lambda: commands.DestroyDice(
                by=by, piece=random.choice([dice_set, *stored * 3]), approved_by=manager
            ),
            lambda: commands.StartTest(by=by),
            lambda: commands.EndTest(by=by),
            lambda: self.seen(by, self.dice()),
            *3 * [self.report_piece],
        ]
        worn = [each for each in sets if state.equipment.pieces[each].condition == "faulty"]
        if worn:
            makers += 4 * [lambda: commands.InstallDice(by=by, piece=random.choice(worn))]
            makers += 2 * [lambda: commands.RemoveDice(by=by, piece=random.choice(worn))]
        if state.open and (state.equipment.failed or sets or state.equipment.test):
            makers += 6 * [self.next_step]
        if self.game.facts.opening:
            check = random.choice(list(self.game.facts.opening))
            kinds = self.game.facts.opening[check].pieces
            covered = [each for each in known if state.equipment.pieces[each].kind in kinds]
            piece = random.choice([name, *covered * 5])
            makers += 8 * [
                lambda: commands.FailCheck(by=by, check=check, piece=piece, reason=reason)
            ]
            makers += 4 * [lambda: commands.PassCheck(by=by, check=check, seal=seal)]
            lights = [state.equipment.pieces[each] for each in state.equipment.in_use("lights")]
            tests = [each for each, rule in self.game.facts.opening.items() if rule.test]
            if tests and any(each.condition == "in-order" for each in lights):
                makers += 8 * [lambda: self.pass_check(tests[0])]
        return random.choice(makers)()

    def report_piece(self) -> AnyCommand:
        """Return a report that names a piece of equipment."""
        rules = self.game.facts.irregularities
        name = self.random.choice([name for name in rules if rules[name].pieces] or list(rules))
        pieces, kinds = self.state.equipment.pieces, rules[name].pieces
        likely = [each for each, piece in pieces.items() if piece.kind in kinds and piece.in_use]
        piece = self.random.choice([*pieces, "z-9", *likely * 6])
        return commands.Report(by=self.actor("dealer"), irregularity=name, piece=piece)
