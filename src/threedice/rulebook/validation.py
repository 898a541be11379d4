"""Strict reading of plain data into the schema, with errors that name the key and the clause.

msgspec says quickly whether a file fits; where it does not, `locate` walks the data beside the
types to find the one key that is wrong, so that the message can name it.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from threedice.errors import RulebookError, did_you_mean, nearest
from threedice.rulebook.place import Place

T = TypeVar("T", bound=msgspec.Struct)
Path = tuple[str, ...]


def convert(data: dict[str, Any], into: type[T], file: str) -> T:
    """Return the data as a struct, or refuse it naming file, key, clause and what to do."""
    try:
        return msgspec.convert(data, into)
    except msgspec.ValidationError as error:
        raise located(data, into, file, str(error)) from None


def located(data: dict[str, Any], into: type[msgspec.Struct], file: str, say: str) -> RulebookError:
    """Return the error for the first key that does not fit."""
    path, problem, remedy = locate(data, into, ()) or ((), say, "see docs/rulebook-format.md")
    clause = clause_at(data, path)
    return Place(file, path, (clause,) if clause else ()).error(problem, remedy)


def clause_at(data: Any, path: Path) -> str:
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


Finding = tuple[Path, str, str] | None


def locate(value: Any, into: Any, path: Path) -> Finding:
    """Return the path of the first value that does not fit its type, what is wrong, what to do."""
    if isinstance(into, type) and issubclass(into, msgspec.Struct):
        return _locate_in_struct(value, into, path)
    if get_origin(into) in (Union, UnionType):
        return _locate_in_union(value, into, path)
    if get_origin(into) is dict and isinstance(value, dict):
        return _locate_in_dict(value, into, path)
    if get_origin(into) is list and isinstance(value, list):
        found = (locate(each, get_args(into)[0], (*path, str(i))) for i, each in enumerate(value))
        return next((each for each in found if each), None)
    return _locate_leaf(value, into, path)


def _locate_in_struct(value: Any, into: type[msgspec.Struct], path: Path) -> Finding:
    if not isinstance(value, dict):
        return path, f"{value!r} is not a table", f"give the keys {', '.join(_keys(into))}"
    fields = {field.encode_name: field for field in msgspec.structs.fields(into)}
    for key in value:
        if key not in fields:
            known = did_you_mean(nearest(key, fields))
            return (*path, key), "unknown key", f"{known} (unknown keys are refused)"
    for key, field in fields.items():
        if key in value and (found := locate(value[key], field.type, (*path, key))):
            return found
    for key, field in fields.items():
        if key not in value and field.required:
            return path, f"the key {key!r} is missing", f"add {key} to this table"
    return None


def _keys(into: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(into) if field.required]


def _locate_in_union(value: Any, into: Any, path: Path) -> Finding:
    """Complain in terms of the alternative of the value's own shape, where there is one."""
    choices = [choice for choice in get_args(into) if choice is not NoneType]
    findings = [locate(value, choice, path) for choice in choices]
    if not all(findings):
        return None
    deeper = [each for each in findings if each and len(each[0]) > len(path)]
    if deeper:
        return deeper[0]
    structs = [
        each for each in choices if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ]
    return locate(value, structs[0], path) if structs and isinstance(value, dict) else findings[0]


def _locate_in_dict(value: dict[str, Any], into: Any, path: Path) -> Finding:
    keys, values = get_args(into)
    for key, each in value.items():
        if get_origin(keys) is Literal and key not in get_args(keys):
            return (*path, key), "unknown key", did_you_mean(nearest(key, get_args(keys)))
        if found := locate(each, values, (*path, key)):
            return found
    return None


def _locate_leaf(value: Any, into: Any, path: Path) -> Finding:
    try:
        msgspec.convert(value, into)
    except msgspec.ValidationError as error:
        if get_origin(into) is Literal:
            choices = [str(each) for each in get_args(into)]
            return (
                path,
                f"{value!r} is not one of the words known here",
                did_you_mean(nearest(str(value), choices)),
            )
        return path, str(error).split(" - at")[0], "give a value of that kind"
    return None
