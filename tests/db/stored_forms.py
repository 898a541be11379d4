"""Describe the forms of everything that a database stores, one line for each field.

The description is made from the types that decode the stored bytes, and from samples of the hashes
that are stored with them. Two programs with the same description understand each other's rows.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from msgspec import NODEFAULT, inspect

from threedice.house import codec
from threedice.house.backup.contents import Manifest
from threedice.house.commands import AnyStreamCommand
from threedice.house.events import AnyStreamEvent
from threedice.house.live_stream import SNAPSHOT_NAME
from threedice.house.persons import Person
from threedice.house.reports.projection import VIEW, StatementRow
from threedice.house.stream_state import FOLDS
from threedice.identity.access_changes import AccessChangeKind
from threedice.identity.approval.approvals import ApprovalState
from threedice.identity.approval.enrolment_records import EnrolmentKind
from threedice.identity.audit_trail import SecurityEventKind
from threedice.identity.roles import Role
from threedice.log.entry import Head, hash_cause, hash_entry
from threedice.log.proof.checkpoints import CheckpointBody
from threedice.log.proof.head_macs import HeadMacs
from threedice.log.proof.keys import PublicKey
from threedice.log.proof.unsigned import META_NAMES
from threedice.log.record_chain import RECORD_KIND, RECORD_SCHEMA, RecordedRow, hash_record
from threedice.log.records import EntrySpan, Snapshot
from threedice.log.stores import schema
from threedice.rulebook.game import GameFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STORED_TYPES: Final[dict[str, Any]] = {
    f"entries.data, schema {codec.CURRENT_SCHEMA}": AnyStreamEvent,
    f"entries.data of {RECORD_KIND}, schema {RECORD_SCHEMA}": list[RecordedRow],
    "answers.refusal": codec.StoredRefusal,
    "answers.spans": tuple[EntrySpan, ...],
    "checkpoints.body": CheckpointBody,
    "games.canonical": GameFacts,
    f"lines.data of {VIEW}": StatementRow,
    "meta.value of public-keys": list[PublicKey],
    "people.data": Person,
    "people_requests.command": AnyStreamCommand,
    "manifest of a backup": Manifest,
} | {f"snapshots.data of {SNAPSHOT_NAME}, {fold.form}": fold.state_type for fold in FOLDS.values()}
"""The type of each column of bytes."""

SNAPSHOT_MARK: Final = "digest of snapshots of the form"

STORED_WORDS: Final[dict[str, Any]] = {
    "meta.name": sorted(META_NAMES),
    "people_accounts.roles": get_args(Role),
    "people_changes.what": get_args(AccessChangeKind),
    "people_enrolments.kind": get_args(EnrolmentKind),
    "people_events.kind": get_args(SecurityEventKind),
    "people_requests.state": get_args(ApprovalState),
}
"""The words that columns of text hold."""


def describe_stored_forms() -> str:
    """Return the description of all stored forms."""
    lines = ["# The forms of everything that this version stores. Written by make generated.", ""]
    for column, words in STORED_WORDS.items():
        lines += [f"{column}:", *(f"  {word}" for word in words)]
    lines += [f"{name}: {value.hex()}" for name, value in _sample_hashes()]
    lines += [f"{SNAPSHOT_MARK} {form} {digest}" for form, digest in _snapshot_digests()]
    return "\n".join(lines) + "\n" + describe_forms(STORED_TYPES)


def describe_forms(types: Mapping[str, Any]) -> str:
    """Return the description of some columns of bytes: their types, and what these consist of."""
    lines, seen = [], dict[str, Any]()
    for column, stored in sorted(types.items()):
        info = inspect.type_info(stored)
        lines += [f"{column}:", *sorted(f"  {_name_type(each)}" for each in _alternatives(info))]
        _collect(info, seen)
    for name in sorted(seen):
        lines += ["", *_describe_struct(name, seen[name])]
    return "\n".join(lines) + "\n"


def read_snapshot_digests(description: str) -> dict[str, str]:
    """Return a digest of each form of snapshots that a description has, by the form's name."""
    found = (line.split() for line in description.splitlines() if line.startswith(SNAPSHOT_MARK))
    return {form: digest for *_, form, digest in found}


def _snapshot_digests() -> Iterator[tuple[str, str]]:
    for fold in FOLDS.values():
        described = describe_forms({"snapshots.data": fold.state_type})
        yield fold.form, sha256(described.encode()).hexdigest()


def _sample_hashes() -> Iterator[tuple[str, bytes]]:
    """Yield hashes and MACs of fixed values, whose computation no type describes."""
    digest, macs = bytes(range(32)), HeadMacs(bytes(range(32)))
    head = Head(7, digest)
    yield "sample of entries.hash", hash_entry(digest, "table/1", 7, 8, "Kind", 1, b"{}", digest)
    yield "sample of entries.cause", hash_cause("account", "key", digest)
    yield "sample of streams.mac", macs.compute("table/1", head)
    snapshot = Snapshot("table/1", SNAPSHOT_NAME, "form", head, b"data")
    yield "sample of the MAC in snapshots.form", bytes.fromhex(macs.compute_for_snapshot(snapshot))
    row = bytes.fromhex(hash_record(digest, schema.people, ("ann", b"{}")))
    yield "sample of a hash of a person's row", row


# --- types --------------------------------------------------------------------------------------


def _collect(info: Any, seen: dict[str, Any]) -> None:
    """Add the structs and dataclasses that a type consists of."""
    if isinstance(info, inspect.StructType | inspect.DataclassType):
        name = _name_struct(info)
        if name in seen:
            assert seen[name].cls is info.cls, f"two stored types have the name {name}"
            return
        seen[name] = info
        for field in info.fields:
            _collect(field.type, seen)
        return
    for part in _parts(info):
        _collect(part, seen)


def _alternatives(info: Any) -> tuple[Any, ...]:
    return info.types if isinstance(info, inspect.UnionType) else (info,)


def _parts(info: Any) -> Iterator[Any]:
    """Yield the types that a type is composed of."""
    match info:
        case inspect.UnionType():
            yield from info.types
        case inspect.DictType():
            yield from (info.key_type, info.value_type)
        case inspect.TupleType():
            yield from info.item_types
        case inspect.CollectionType():
            yield info.item_type
        case inspect.Metadata():
            yield info.type
        case _:
            pass


def _describe_struct(name: str, info: Any) -> Iterator[str]:
    yield name + _describe_settings(info)
    for field in info.fields:
        yield f"  {field.encode_name}: {_name_type(field.type)}{_describe_default(field)}"


def _describe_default(field: inspect.Field) -> str:
    """Return the value of a field that the stored bytes leave out."""
    if field.required:
        return ""
    default = field.default
    if field.default_factory is not NODEFAULT:
        default = field.default_factory()
    if default is NODEFAULT:
        return ", may be left out"
    made = type(default)
    is_plain = hasattr(made, "__match_args__") and default == made()
    return f" = {made.__name__}()" if is_plain else f" = {default!r}"


def _describe_settings(info: Any) -> str:
    """Return how a struct is encoded, as far as it is not an object with all its fields."""
    if not isinstance(info, inspect.StructType):
        return ""
    settings = [f"{info.tag_field} {info.tag!r}"] if info.tag_field else []
    settings += ["as an array"] if info.array_like else []
    settings += ["defaults are left out"] if info.cls.__struct_config__.omit_defaults else []
    settings += ["other fields are refused"] if info.forbid_unknown_fields else []
    return f" ({', '.join(settings)})" if settings else ""


def _name_struct(info: Any) -> str:
    return str(info.cls.__name__)


def _name_type(info: Any) -> str:
    """Return the name of a type with the limits of its values."""
    match info:
        case inspect.Metadata():
            return _name_type(info.type)
        case inspect.StructType() | inspect.DataclassType():
            return _name_struct(info)
        case inspect.UnionType():
            return " | ".join(sorted(map(_name_type, info.types)))
        case inspect.LiteralType():
            return f"one of {', '.join(map(repr, sorted(info.values, key=repr)))}"
        case inspect.EnumType():
            return f"one of {', '.join(repr(each.value) for each in info.cls)}"
        case inspect.VarTupleType():
            return f"tuple[{_name_type(info.item_type)}, ...]"
    inner = ", ".join(map(_name_type, _parts(info)))
    limits = {
        name: value
        for name in msgspec.structs.asdict(info)
        if name not in ("key_type", "value_type", "item_type", "item_types")
        and (value := getattr(info, name)) is not None
    }
    bounds = ", ".join(f"{name}={value!r}" for name, value in limits.items())
    kind = type(info).__name__.removesuffix("Type").lower()
    return kind + (f"[{inner}]" if inner else "") + (f" ({bounds})" if bounds else "")
