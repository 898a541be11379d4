"""Convert plain data to structs strictly; errors name the file, the key and the clause.

msgspec checks the data fast, but its message does not name the key of a mapping. If the check
fails, `find_misfit` walks the data together with the types to find the key that is wrong.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from threedice.errors import RulebookError, did_you_mean, nearest_names
from threedice.rulebook.conduct import Citation, clause_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

StructT = TypeVar("StructT", bound=msgspec.Struct)

KeyPath = tuple[str, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A key of a rulebook's file, and the clauses that apply to it, for error messages."""

    file: str
    path: KeyPath
    clause: Citation = ""

    def child(self, *keys: str) -> SourceLocation:
        """Return the location of a key below this one."""
        return SourceLocation(self.file, (*self.path, *keys), self.clause)

    def error(self, problem: str, remedy: str) -> RulebookError:
        """Return an error at this location, for the caller to raise."""
        key = format_key(self.path) or "the file"
        return RulebookError(
            self.file, key, problem, remedy, ", ".join(clause_numbers(self.clause))
        )

    def unknown(self, problem: str, name: str, known: Iterable[str]) -> RulebookError:
        """Return an error about a name that does not exist, which suggests the nearest ones."""
        return self.error(problem, did_you_mean(nearest_names(name, known)))


def format_key(path: KeyPath) -> str:
    """Format a key as in TOML, quoting the parts that contain dots.

    >>> format_key(("clauses", "5.1", "status"))
    'clauses."5.1".status'
    """
    return ".".join(part if _BARE_KEY.fullmatch(part) else json.dumps(part) for part in path)


def convert(data: dict[str, Any], into: type[StructT], file: str) -> StructT:
    """Convert data to a struct, or raise an error with file, key, clause and what to do."""
    try:
        return msgspec.convert(data, into)
    except msgspec.ValidationError as error:
        misfit = find_misfit(data, into, ())
        path, problem, remedy = misfit or ((), str(error), "see docs/rulebook-format.md")
        raise SourceLocation(file, path, clause_at(data, path)).error(problem, remedy) from None


def clause_at(data: Any, path: KeyPath) -> str:
    """Return the clause cited by the nearest table that contains a key, for an error message."""
    nearest = path[1] if len(path) > 1 and path[0] == "clauses" else ""
    for part in (*path, ""):
        citation = data.get("clause") if isinstance(data, dict) else None
        nearest = _join_citation(citation) or nearest
        data = _child(data, part)
    return nearest


def _join_citation(citation: object) -> str:
    if isinstance(citation, list):
        return ", ".join(str(each) for each in citation)
    return citation if isinstance(citation, str) else ""


def _child(data: Any, part: str) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    return data[int(part)] if isinstance(data, list) and part.isdigit() else None


_KINDS = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a decimal number",
    "bool": "true or false",
    "array": "a list in [ ]",
    "object": "a table",
    "date": "a date such as 2026-01-31",
    "time": "a time such as 06:00:00",
    "datetime": "a date and time such as 2026-01-31T06:00:00+08:00",
}
"""The kinds of values in TOML, by the names that msgspec has for them."""

Misfit = tuple[KeyPath, str, str] | None
"""The key of a value that does not fit its type, the problem and the remedy."""


def find_misfit(value: Any, into: Any, path: KeyPath) -> Misfit:
    """Return the first value that does not fit its type, or None."""
    if isinstance(into, type) and issubclass(into, msgspec.Struct):
        return _find_in_struct(value, into, path)
    if get_origin(into) in (Union, UnionType):
        return _find_in_union(value, into, path)
    if get_origin(into) is dict and isinstance(value, dict):
        return _find_in_dict(value, into, path)
    if get_origin(into) is list and isinstance(value, list):
        misfits = (
            find_misfit(each, get_args(into)[0], (*path, str(i))) for i, each in enumerate(value)
        )
        return next((misfit for misfit in misfits if misfit), None)
    return _find_in_leaf(value, into, path)


def _find_in_struct(value: Any, into: type[msgspec.Struct], path: KeyPath) -> Misfit:
    fields = {field.encode_name: field for field in msgspec.structs.fields(into)}
    if not isinstance(value, dict):
        required = ", ".join(key for key, field in fields.items() if field.required)
        return path, f"{value!r} is not a table", f"give the keys {required}"
    for key in value:
        if key not in fields:
            if path[:1] == ("clauses",) and isinstance(value[key], dict):
                remedy = 'put a number with dots in quotes, as in [clauses."5.1"]'
                return (*path, key), "unknown key", remedy
            known = did_you_mean(nearest_names(key, fields))
            return (*path, key), "unknown key", f"{known} (unknown keys are refused)"
    for key, field in fields.items():
        if key in value and (misfit := find_misfit(value[key], field.type, (*path, key))):
            return misfit
    for key, field in fields.items():
        if key not in value and field.required:
            return path, f"the key {key!r} is missing", f"add {key} to this table"
    return None


def _find_in_union(value: Any, into: Any, path: KeyPath) -> Misfit:
    """Return the misfit for the alternative that has the value's shape, if there is one."""
    choices = [choice for choice in get_args(into) if choice is not NoneType]
    misfits = [find_misfit(value, choice, path) for choice in choices]
    if not all(misfits):
        return None
    deeper = [misfit for misfit in misfits if misfit and len(misfit[0]) > len(path)]
    if deeper:
        return deeper[0]
    structs = [
        each for each in choices if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ]
    return (
        find_misfit(value, structs[0], path) if structs and isinstance(value, dict) else misfits[0]
    )


def _find_in_dict(value: dict[str, Any], into: Any, path: KeyPath) -> Misfit:
    keys, values = get_args(into)
    for key, each in value.items():
        if get_origin(keys) is Literal and key not in get_args(keys):
            return (*path, key), "unknown key", did_you_mean(nearest_names(key, get_args(keys)))
        if misfit := _find_in_leaf(key, keys, (*path, key)):
            return misfit
        if misfit := find_misfit(each, values, (*path, key)):
            return misfit
    return None


def _find_in_leaf(value: Any, into: Any, path: KeyPath) -> Misfit:
    try:
        msgspec.convert(value, into)
    except msgspec.ValidationError as error:
        if get_origin(into) is Literal:
            choices = [str(each) for each in get_args(into)]
            return (
                path,
                f"{value!r} is not a permitted value",
                did_you_mean(nearest_names(str(value), choices)),
            )
        return path, *_describe_misfit(value, into, str(error).split(" - at")[0])
    return None


def _describe_misfit(value: Any, into: Any, message: str) -> tuple[str, str]:
    """Return problem and remedy for a message of msgspec, with the kinds of values as in TOML."""
    as_kinds = re.sub(r"^Invalid RFC3339 encoded (\w+)", r"Expected `\1`", message)
    expected, _, found = re.sub(r"`(.*?)`", _name_kinds, as_kinds).partition(", got ")
    metas = [each for each in get_args(into) if isinstance(each, msgspec.Meta) and each.extra]
    form = metas[0].extra["form"] if metas and metas[0].extra else expected.split(maxsplit=1)[1]
    kind = found.partition(" such as")[0]
    return f"the value is {kind}" if kind else f"{value!r} is not permitted", f"give {form}"


def _name_kinds(types: re.Match[str]) -> str:
    return " or ".join(_KINDS.get(each, each) for each in types[1].split(" | "))
