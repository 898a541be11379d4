"""The reference of events, generated from their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import griffe
import msgspec
from docs.generator.markdown import code, plain, table

from threedice.account.events import AnyPlayerAccountEvent
from threedice.house.events import AnyHouseEvent
from threedice.table.events import AnyEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUPS = (
    (
        "Events of a table",
        "In the stream `table/ID`: what happened at a table, by its rulebook.",
        AnyEvent,
    ),
    (
        "Events of the house",
        "In the stream of a table or of the house: what the operator did around the tables.",
        AnyHouseEvent,
    ),
    ("Events of a player's account", "In the stream `account/PLAYER`.", AnyPlayerAccountEvent),
)
_MODULES = (
    "threedice.table.events",
    "threedice.table.commands",
    "threedice.table.limits",
    "threedice.house.events",
)
_SEEN_BY = {
    "everybody": "Everybody sees it",
    "its player": "The staff and its player see it",
    "staff": "The staff see it",
}


def page() -> str:
    """Return the page."""
    parts = [
        "# Events",
        "For developers and auditors: every event that a log can hold, generated from its class. "
        "An event is stored as JSON with its name as `type`, is never changed, and can be read by "
        "every later version.",
        "Amounts are integers in minor units. `by` is the actor: an id and a role.",
    ]
    for title, lead, union in _GROUPS:
        parts += [f"## {title}", lead]
        parts += [part for event in get_args(union) for part in _event(event)]
    parts += ["## Types of fields", table(("type", "definition", "meaning"), _types())]
    return "\n\n".join([*parts, ""])


def _event(event: Any) -> Iterator[str]:
    yield f"### {event.__struct_config__.tag}"
    yield plain(" ".join((event.__doc__ or "").split()))
    audience = event.audience
    hidden = ", ".join(code(name) for name in (*audience.hidden, *audience.others))
    listed = ", ".join(map(code, audience.lists))
    yield (
        f"{_SEEN_BY[audience.seen_by]}{f'; players without {hidden}' if hidden else ''}"
        f"{f'; players only their own items of {listed}' if listed else ''}."
    )
    annotations = {
        name: kind
        for each in reversed(event.__mro__)
        for name, kind in getattr(each, "__annotations__", {}).items()
    }
    rows = [
        (
            code(field.name),
            code(str(annotations[field.name])),
            "" if field.required else code(_default(field)),
        )
        for field in msgspec.structs.fields(event)
    ]
    yield table(("field", "type", "default"), rows)


def _default(field: Any) -> str:
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return "absent" if value is msgspec.UNSET else msgspec.json.encode(value).decode()


def _types() -> Iterator[tuple[str, str, str]]:
    """Yield the documented types that fields use, with their definitions."""
    for name in _MODULES:
        module = griffe.load(name, search_paths=["src"], docstring_parser=None)
        for attribute in module.attributes.values():
            if attribute.docstring and attribute.name[0].isupper() and not attribute.name.isupper():
                meaning = " ".join(attribute.docstring.value.split())
                yield code(attribute.name), code(str(attribute.value)), plain(meaning)
