"""The tags that name a command or an event in the log, in the API and in the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec


def tag_of(message: msgspec.Struct | type[msgspec.Struct]) -> str:
    """Return the tag of a tagged struct; unlike the class name, it never changes."""
    tag: str = message.__struct_config__.tag  # type: ignore[assignment]
    return tag
