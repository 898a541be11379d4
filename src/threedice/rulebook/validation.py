"""Convert plain data to structs strictly; errors name the file, the key and the clause.

Strict reading of plain data into the schema, with errors that name the key and the clause.

msgspec says quickly whether a file fits; where it does not, `find_misfit` walks the data beside the
types to find the one key that is wrong, so that the message can name it.

A key of a rulebook's file, for errors to name.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from threedice.errors import RulebookError, did_you_mean, nearest_names

T = TypeVar("T", bound=msgspec.Struct)


KeyPath = tuple[str, ...]


def convert(data: dict[str, Any], into: type[T], file: str) -> T:
    """Return the data as a struct, or refuse it naming file, key, clause and what to do."""
    try:
        return msgspec.convert(data, into)
    except msgspec.ValidationError as error:
        raise locate_error(data, into, file, str(error)) from None


def locate_error(
    data: dict[str, Any], into: type[msgspec.Struct], file: str, message: str
) -> RulebookError:
    """Return the error for the first key that does not fit."""
    path, problem, remedy = find_misfit(data, into, ()) or (
        (),
        message,
        "see docs/rulebook-format.md",
    )
    clause = clause_at(data, path)
    return SourceLocation(file, path, (clause,) if clause else ()).error(problem, remedy)


def clause_at(data: Any, path: KeyPath) -> str:
    """Return the clause cited nearest above a key, for an error to quote."""
    found = path[1] if len(path) > 1 and path[0] == "clauses" else ""
    for part in path:
        cited = data.get("clause") if isinstance(data, dict) else None
        found = _joined(cited) or found
        data = _child(data, part)
    return _joined(data.get("clause")) or found if isinstance(data, dict) else found


def _joined(cited: object) -> str:
    if isinstance(cited, list):
        return ", ".join(str(each) for each in cited)
    return cited if isinstance(cited, str) else ""


def _child(data: Any, part: str) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    return data[int(part)] if isinstance(data, list) and part.isdigit() else None


Misfit = tuple[KeyPath, str, str] | None


def find_misfit(value: Any, into: Any, path: KeyPath) -> Misfit:
    """Return the path of the first value that does not fit its type, what is wrong, what to do."""
    if isinstance(into, type) and issubclass(into, msgspec.Struct):
        return _find_in_struct(value, into, path)
    if get_origin(into) in (Union, UnionType):
        return _find_in_union(value, into, path)
    if get_origin(into) is dict and isinstance(value, dict):
        return _find_in_dict(value, into, path)
    if get_origin(into) is list and isinstance(value, list):
        found = (
            find_misfit(each, get_args(into)[0], (*path, str(i))) for i, each in enumerate(value)
        )
        return next((each for each in found if each), None)
    return _find_in_leaf(value, into, path)


def _find_in_struct(value: Any, into: type[msgspec.Struct], path: KeyPath) -> Misfit:
    if not isinstance(value, dict):
        return path, f"{value!r} is not a table", f"give the keys {', '.join(_keys(into))}"
    fields = {field.encode_name: field for field in msgspec.structs.fields(into)}
    for key in value:
        if key not in fields:
            known = did_you_mean(nearest_names(key, fields))
            return (*path, key), "unknown key", f"{known} (unknown keys are refused)"
    for key, field in fields.items():
        if key in value and (found := find_misfit(value[key], field.type, (*path, key))):
            return found
    for key, field in fields.items():
        if key not in value and field.required:
            return path, f"the key {key!r} is missing", f"add {key} to this table"
    return None


def _keys(into: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(into) if field.required]


def _find_in_union(value: Any, into: Any, path: KeyPath) -> Misfit:
    """Complain in terms of the alternative of the value's own shape, where there is one."""
    choices = [choice for choice in get_args(into) if choice is not NoneType]
    findings = [find_misfit(value, choice, path) for choice in choices]
    if not all(findings):
        return None
    deeper = [each for each in findings if each and len(each[0]) > len(path)]
    if deeper:
        return deeper[0]
    structs = [
        each for each in choices if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ]
    return (
        find_misfit(value, structs[0], path) if structs and isinstance(value, dict) else findings[0]
    )


def _find_in_dict(value: dict[str, Any], into: Any, path: KeyPath) -> Misfit:
    keys, values = get_args(into)
    for key, each in value.items():
        if get_origin(keys) is Literal and key not in get_args(keys):
            return (*path, key), "unknown key", did_you_mean(nearest_names(key, get_args(keys)))
        if found := find_misfit(each, values, (*path, key)):
            return found
    return None


def _find_in_leaf(value: Any, into: Any, path: KeyPath) -> Misfit:
    try:
        msgspec.convert(value, into)
    except msgspec.ValidationError as error:
        if get_origin(into) is Literal:
            choices = [str(each) for each in get_args(into)]
            return (
                path,
                f"{value!r} is not one of the words known here",
                did_you_mean(nearest_names(str(value), choices)),
            )
        return path, str(error).split(" - at")[0], "give a value of that kind"
    return None


_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where in a file something stands, and under which clauses."""

    file: str
    path: tuple[str, ...]
    clauses: tuple[str, ...] = ()

    def child(self, *deeper: str) -> SourceLocation:
        """Return a place further down."""
        return SourceLocation(self.file, (*self.path, *deeper), self.clauses)

    def error(self, problem: str, remedy: str) -> RulebookError:
        """Return the error that something is wrong here."""
        key = format_key(self.path) or "the file"
        return RulebookError(self.file, key, problem, remedy, ", ".join(self.clauses))


def format_key(path: tuple[str, ...]) -> str:
    """Write a key as TOML does, quoting the parts that hold dots.

    >>> format_key(("clauses", "5.1", "status"))
    'clauses."5.1".status'
    """
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in path)
