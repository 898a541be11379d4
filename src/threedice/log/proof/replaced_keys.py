"""Signing keys that replaced lost ones, as the log says.

Nothing endorses such a key. A person who trusts only the earlier keys is therefore told when, why
and by whom it was replaced, and has to ask the house.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.log.stores.sql_rows import LogRows

HOUSE_STREAM: Final = "house"
REPLACEMENT_KIND: Final = "KeysReplaced"


class ReplacedSigningKey(msgspec.Struct, frozen=True):
    """The part of the event that concerns the signing key; `at` is the time of its entry."""

    reason: str
    by: str
    second: str = ""
    old: tuple[str, ...] = ()
    new: str = ""
    at: int = 0

    def __str__(self) -> str:
        try:
            when = datetime.fromtimestamp(self.at / 1_000_000, UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError, OSError):
            when = "an unknown time"
        who = " and ".join(filter(None, (self.by, self.second)))
        return f"at {when} by {who}, without its endorsement: {self.reason}"


def read_replaced_keys(rows: LogRows) -> dict[str, ReplacedSigningKey]:
    """Return the replacements of signing keys by the id of the new key."""
    replacements = {}
    for entry in chain.from_iterable(rows.chunks(schema.entries, [HOUSE_STREAM])):
        _, _, at, kind, _, data, *_ = entry
        if kind == REPLACEMENT_KIND and isinstance(data, bytes) and isinstance(at, int):
            try:
                replacement = msgspec.json.decode(data, type=ReplacedSigningKey)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # reported by the replay of the stream
            if replacement.new:
                replacements[replacement.new] = msgspec.structs.replace(replacement, at=at)
    return replacements
