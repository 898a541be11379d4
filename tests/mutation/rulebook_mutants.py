"""Mutants of rulebooks: change one rule in the data of a book that cites a clause.

The changes follow from the types of the structs: numbers by one, booleans negated, literals
replaced by each other, items of lists removed or exchanged, rows and tables removed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from tests.mutation.clause_subjects import SUBJECTS
from threedice.errors import RulebookError
from threedice.rulebook.conduct import Irregularity, PeopleRules, RulebookStruct, Step
from threedice.rulebook.consistency import check_citations, iter_citations
from threedice.rulebook.library import compile_rulebook
from threedice.rulebook.schema import (
    Block,
    Dice,
    Layout,
    Legend,
    OutcomeClauses,
    Rulebook,
    Wager,
)
from threedice.rulebook.source import RulebookSource, iter_leaves, shipped_clause_numbers, value_at
from threedice.rulebook.validation import convert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook.validation import KeyPath

DISPLAYED: dict[type[RulebookStruct], set[str]] = {
    Block: {"at", "cell", "columns", "en", "zh", "odds", "dice"},
    Dice: {"words"},
    Irregularity: {"what", "announces"},
    Layout: {"title", "like", "size", "legends"},
    Legend: {"at", "size", "odds_of", "en", "zh"},
    PeopleRules: {"titles"},
    Step: {"announces", "bell"},
    Wager: {"name"},
}
"""Texts and drawings: a change of them changes no decision and no payment."""

ROLES = ("by", "supervised_by", "applies_to", "roles")
"""Keys with lists of roles."""

ODDS = re.compile(r"(\d+) to (\d+)")


class Change(NamedTuple):
    """A key of a rulebook and its values before and after; None: the key is absent."""

    key: tuple[str, ...]
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Mutant:
    """Changes that belong together."""

    changes: tuple[Change, ...]

    @property
    def rank(self) -> int:
        """The order in which to try mutants: values, what is removed, roles, what is added."""
        change = self.changes[0]
        if change.old is None:
            return 3
        return 2 if change.key[-1] in ROLES else int(change.new is None)


def mutants_of_clause(source: RulebookSource, number: str) -> list[Mutant]:
    """Return the mutants of the data that carries the subject of a clause.

    `SUBJECTS` names that data where a table cites several clauses, or several tables the clause;
    elsewhere it is that of every table that cites it, except for keys that are our answer where
    the document is silent. The tables that cite the fewest clauses come first; keys that are
    removed, lists of roles and keys that are added follow, since the others say more.
    """
    subjects, silent = subjects_of(source, number), silent_keys(source)
    citations = list(iter_citations(source.book))
    tables = Counter(path for _, path in citations)
    cited = dict.fromkeys(path for each, path in citations if each == number)
    mutants = [
        mutant
        for path in sorted(cited, key=tables.__getitem__)
        for mutant in _mutants_of_table(source, path)
        if (
            any(is_about(mutant, each) for each in subjects)
            if subjects
            else not any(is_below(mutant.changes[0].key, each) for each in silent)
        )
    ]
    return sorted(mutants, key=lambda mutant: mutant.rank)


def subjects_of(source: RulebookSource, number: str) -> list[str]:
    """Return the keys that carry the subject of a clause; none if any table that cites it does."""
    books = (source.book.id, source.origin[number])
    found = next((SUBJECTS[each] for book in books if (each := f"{book} {number}") in SUBJECTS), "")
    return found.split()


def is_about(mutant: Mutant, subject: str) -> bool:
    """Return whether a mutant changes a key of a clause's subject, in the way that it names."""
    path, added, role = subject.partition("+")
    path, given, value = path.partition("=")
    subject_key = tuple(path.split("."))
    for key, old, new in mutant.changes:
        if given:
            found = key == subject_key and new == (value or None)
        elif added:
            found = key == subject_key and new == [*old, role]
        else:
            found = is_below(key, subject_key)
        if found:
            return True
    return False


def silent_keys(source: RulebookSource) -> set[KeyPath]:
    """Return the keys of the readings of which the default says that the document is silent."""
    readings = source.book.readings.values()
    silent = [
        each
        for each in readings
        if re.match(r"The document (is silent|does not say)", each.options[each.default].says)
    ]
    return {
        key
        for reading in silent
        for option in reading.options.values()
        for key, _ in iter_leaves(option.set)
    }


def is_below(key: KeyPath, path: KeyPath) -> bool:
    """Return whether a key is a path, or stands below it."""
    return tuple(key[: len(path)]) == tuple(path)


def _mutants_of_table(source: RulebookSource, path: KeyPath) -> Iterator[Mutant]:
    if path[0] == "readings":
        keys = dict.fromkeys(
            key
            for option in source.book.readings[path[1]].options.values()
            for key, _ in iter_leaves(option.set)
        )
        for key in keys:
            yield from _changes_at(source, key)
        return
    if path[-1] == "under":
        path = path[:-1]
    yield from _changes_at(source, path)
    yield from _all_negated(source, path)
    if path[0] == "layouts":
        yield from _without_families(source, path[1])
        yield from _exchanged(source, path[1])
        return
    if path[0] == "wagers":
        for key in _rows_of_wager(source, path[1]):
            yield from _changes_at(source, key)
    if len(path) > 1:
        yield Mutant((Change(path, value_at(source.data, path), None),))


def _all_negated(source: RulebookSource, path: KeyPath) -> Iterator[Mutant]:
    """Yield a table with all its booleans negated, for those that only tell together."""
    table = value_at(source.data, path)
    negated = [
        Change((*path, key), old, not old) for key, old in table.items() if isinstance(old, bool)
    ]
    if len(negated) > 1:
        yield Mutant(tuple(negated))


def _rows_of_wager(source: RulebookSource, wager: str) -> Iterator[KeyPath]:
    """Yield the keys of the odds of a wager."""
    for table, data in source.book.pay_tables.items():
        for name, row in data.rows.items():
            if (row.wager or name) == wager:
                yield "pay_tables", table, "rows", name, "odds"


def _changes_at(source: RulebookSource, path: KeyPath) -> Iterator[Mutant]:
    old, hint = value_at(source.data, path), _hint_at(path)
    for key, before, after in _changes(old, hint, path, root=True):
        yield Mutant((Change(key, before, after),))


def _without_families(source: RulebookSource, layout: str) -> Iterator[Mutant]:
    """Yield a layout without each family of its boxes: neither areas nor odds."""
    data = source.data["layouts"][layout]
    table = data["pay_table"]
    families = dict.fromkeys(
        box.partition(":")[0] for block in data["blocks"].values() for box in block["boxes"] if box
    )
    for family in families:
        changes = []
        for name, block in data["blocks"].items():
            kept = ["" if box.partition(":")[0] == family else box for box in block["boxes"]]
            if kept != block["boxes"]:
                key = ("layouts", layout, "blocks", name)
                if any(kept):
                    changes.append(Change((*key, "boxes"), block["boxes"], kept))
                else:
                    changes.append(Change(key, block, None))
        for name, legend in data.get("legends", {}).items():
            if legend.get("odds_of", "").partition(":")[0] == family:
                changes.append(Change(("layouts", layout, "legends", name), legend, None))
        for name, row in source.data["pay_tables"][table]["rows"].items():
            if row.get("wager", name) == family:
                changes.append(Change(("pay_tables", table, "rows", name), row, None))
        yield Mutant(tuple(changes))


def _exchanged(source: RulebookSource, layout: str) -> Iterator[Mutant]:
    """Yield a layout with the boxes and odds of each other layout of the book."""
    layouts = source.data["layouts"]
    for other in sorted(layouts.keys() - {layout}):
        keys = ("pay_table", "size", "blocks", "legends")
        yield Mutant(
            tuple(
                Change(("layouts", layout, key), layouts[layout].get(key), layouts[other].get(key))
                for key in keys
            )
        )


# --- changes of a value by its type -------------------------------------------------------------


def _changes(
    value: Any, hint: Any, path: KeyPath, *, root: bool = False
) -> Iterator[tuple[KeyPath, Any, Any]]:
    """Yield the key, the value before and the value after of every change below a path.

    Tables below it that cite clauses of their own are left out.
    """
    if not isinstance(value, dict):
        yield from ((path, value, new) for new in _replacements(value, hint))
    elif root or "clause" not in value:
        struct = _struct_of(hint)
        kinds = _key_types(struct) if struct else dict.fromkeys(value, (get_args(hint)[1], True))
        for key, each in value.items():
            if key in kinds:
                kind, optional = kinds[key]
                yield from _changes(each, kind, (*path, key))
                if optional and not (isinstance(each, dict) and "clause" in each):
                    yield (*path, key), each, None
        for key in sorted(kinds.keys() - value.keys()):
            yield from (((*path, key), None, new) for new in _additions(kinds[key][0]))


def _key_types(struct: type[RulebookStruct]) -> dict[str, tuple[Any, bool]]:
    """Return the types of the keys that say a rule, and whether a table may leave them out."""
    left_out = DISPLAYED.get(struct, set()) | {"clause"}
    return {
        field.name: (field.type, not field.required)
        for field in msgspec.structs.fields(struct)
        if field.name not in left_out and field.type is not OutcomeClauses
    }


def _additions(hint: Any) -> Iterator[Any]:
    """Yield values for a key that a table leaves out."""
    choices = _choices(hint)
    if bool in choices:
        yield True
    for choice in choices:
        if get_origin(choice) is Literal:
            yield from get_args(choice)


def _replacements(value: Any, hint: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from _replaced_text(value, hint)
    elif isinstance(value, list):
        yield from _changed_lists(value, hint)


def _replaced_text(value: str, hint: Any) -> Iterator[str]:
    literals = [
        each
        for choice in _choices(hint)
        if get_origin(choice) is Literal
        for each in get_args(choice)
    ]
    if literals and value in literals:
        yield from (each for each in literals if each != value)
    elif odds := ODDS.fullmatch(value):
        yield f"{int(odds[1]) + 1} to {odds[2]}"
    elif value and "{" not in value:
        yield f"{value} (changed)"


def _changed_lists(value: list[Any], hint: Any) -> Iterator[list[Any]]:
    kinds = [choice for choice in _choices(hint) if get_origin(choice) in (list, tuple)]
    item = get_args(kinds[0])[0] if kinds else Any
    if len(value) > 1:
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
    for i in range(len(value) - 1):
        yield [*value[:i], value[i + 1], value[i], *value[i + 2 :]]
    for i, each in enumerate(value):
        for new in _replacements(each, item):
            yield [*value[:i], new, *value[i + 1 :]]
    for choice in _choices(item):
        if get_origin(choice) is Literal:
            yield from ([*value, each] for each in get_args(choice) if each not in value)


def _choices(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, UnionType):
        return tuple(inner for each in get_args(hint) for inner in _choices(each))
    return (hint,)


def _struct_of(hint: Any) -> type[RulebookStruct] | None:
    structs = (
        each
        for each in _choices(hint)
        if isinstance(each, type) and issubclass(each, RulebookStruct)
    )
    return next(structs, None)


def _hint_at(path: KeyPath) -> Any:
    """Return the type of the value at a path of a rulebook."""
    hint: Any = Rulebook
    for key in path:
        struct = _struct_of(hint)
        if struct is not None:
            hint = next(field.type for field in msgspec.structs.fields(struct) if field.name == key)
        else:
            hint = get_args(hint)[1]
    return hint


# --- books with a mutant ------------------------------------------------------------------------


def apply_mutant(source: RulebookSource, mutant: Mutant) -> RulebookSource | None:
    """Return a book with the changes of a mutant, or None if its structs refuse them."""
    data = source.data
    for change in mutant.changes:
        data = _with_value(data, change.key, change.new)
    try:
        book = convert(data, Rulebook, source.file)
    except RulebookError:
        return None
    return replace(source, data=data, book=book)


def compiles(source: RulebookSource) -> bool:
    """Return whether all layouts and readings of a book load."""
    try:
        check_citations(source.book, shipped_clause_numbers, source.file)
        compile_rulebook(source)
    except RulebookError:
        return False
    return True


def _with_value(data: Any, path: KeyPath, value: Any) -> Any:
    key, *rest = path
    changed = dict(data)
    if rest:
        changed[key] = _with_value(changed[key], tuple(rest), value)
    elif value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed
