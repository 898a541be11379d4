"""No key of a rulebook's conduct is idle: the engine or a screen reads it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from threedice.cases import read_cases, run_case, shipped_cases
from threedice.rulebook import conduct, load
from threedice.rulebook.conduct import RulebookStruct

ROOT = Path(__file__).parents[2]

READ_ELSEWHERE = {
    "Irregularity.announces": "screens/src/pages/dealer/ReportDialog.svelte",
    "LimitPolicy.displayed": "screens/src/texts/limits.ts",
    "MinimumAge.proven": "src/threedice/table/rules.py",
    "Step.announces": "screens/src/pages/dealer/Next.svelte",
    "Step.bell": "screens/src/pages/dealer/Next.svelte",
}
"""Keys that a screen says, or that the engine reads only where a case cannot go, and the file."""


def structs() -> list[type[RulebookStruct]]:
    """Return the structs of the conduct of a game."""
    classes = (each for _, each in inspect.getmembers(conduct, inspect.isclass))
    return [each for each in classes if issubclass(each, RulebookStruct) and each.__struct_fields__]


def keys() -> set[str]:
    """Return every key of the conduct as 'Struct.key', but for citations and texts."""
    return {
        f"{struct.__name__}.{name}"
        for struct in structs()
        for name in struct.__struct_fields__
        if name != "clause" and name not in struct.LABELS
    }


def record_reads(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Record which keys are read from now on; converting and printing a struct reads none."""
    read: set[str] = set()
    for struct in structs():
        for name in struct.__struct_fields__:
            monkeypatch.setattr(struct, name, recorded(struct, name, read))
    return read


def recorded(struct: type[RulebookStruct], name: str, read: set[str]) -> property:
    member = getattr(struct, name)

    def get(self: RulebookStruct) -> Any:
        read.add(f"{struct.__name__}.{name}")
        return member.__get__(self, struct)

    return property(get)


@pytest.mark.no_cover
def test_every_key_is_read_by_the_engine_or_a_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [case for file in shipped_cases() for case in read_cases(file)]
    games = [load(case.game, case.readings) for case in cases]
    assert all(game.hash for game in games)  # loading and hashing read every key

    read = record_reads(monkeypatch)
    for case, game in zip(cases, games, strict=True):
        run_case(case, game)

    assert keys() - read - READ_ELSEWHERE.keys() == set()


@pytest.mark.no_cover
def test_every_act_that_a_rulebook_names_is_read_by_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [case for file in shipped_cases() for case in read_cases(file)]
    games = [load(case.game, case.readings) for case in cases]
    named = {act for game in games for act in game.facts.people.acts}

    read: set[str] = set()
    member: Any = conduct.PeopleRules.acts
    monkeypatch.setattr(
        conduct.PeopleRules, "acts", property(lambda rules: ReadDict(member.__get__(rules), read))
    )
    for case, game in zip(cases, games, strict=True):
        run_case(case, game)

    assert named - read == set()


class ReadDict(dict[str, Any]):
    """A dictionary that records the keys which are looked up."""

    def __init__(self, values: dict[Any, Any], read: set[str]) -> None:
        super().__init__(values)
        self._read = read

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, and record its key."""
        self._read.add(key)
        return super().get(key, default)


def test_keys_that_are_read_elsewhere_stand_in_the_source_of_their_reader() -> None:
    for key, file in READ_ELSEWHERE.items():
        name = key.partition(".")[2]
        assert re.search(rf"\b{name}\b", (ROOT / file).read_text(encoding="utf-8")), key
