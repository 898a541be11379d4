"""Read the history of a table's equipment from its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast, get_args

from threedice.house.codec import decode, tag_of
from threedice.house.stream_state import table_stream
from threedice.table.equipment.history import HISTORY_EVENTS
from threedice.table.events import AnyEquipmentEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.log.entry import Entry
    from threedice.log.store import Store
    from threedice.table.events import AnyEvent

_EQUIPMENT_KINDS: Final = {tag_of(each): each for each in get_args(AnyEquipmentEvent)}
_HISTORY_KINDS: Final = frozenset(tag_of(each) for each in HISTORY_EVENTS)


def read_equipment_history(store: Store, table: str) -> Iterator[AnyEvent]:
    """Yield the events of a table that tell which equipment served which round."""
    for entry in store.scan(table_stream(table)):
        if entry.kind in _HISTORY_KINDS:
            yield cast("AnyEvent", decode(entry))


def read_piece_history(
    store: Store, table: str, piece: str
) -> Iterator[tuple[Entry, AnyEquipmentEvent]]:
    """Yield the entries about a piece of equipment with their events, the oldest first."""
    for entry in store.scan(table_stream(table)):
        if entry.kind in _EQUIPMENT_KINDS:
            event = cast("AnyEquipmentEvent", decode(entry))
            if piece in (getattr(event, "piece", ""), getattr(event, "replacement", "")):
                yield entry, event
