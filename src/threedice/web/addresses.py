"""The parts of addresses that name something, each with its form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

TableId = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
PlayerId = Annotated[str, msgspec.Meta(pattern=r"^[^/\s\x00-\x1f\x7f-\x9f]{1,100}$")]
"""A player's id: one word, and nothing in it that no database holds or no screen shows."""

Key = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9._-]{1,100}$")]
Id = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9]{1,64}$")]
Name = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
RoundNumber = Annotated[int, msgspec.Meta(ge=1, le=2**53)]

PARTS: Final[dict[str, Any]] = {
    "table": TableId,
    "player": PlayerId,
    "key": Key,
    "round": RoundNumber,
    "book": Name,
    "layout": Name,
    "request": Id,
    "session": Id,
    "token": Id,
    "person": Id,
    "assignment": Id,
}

KEY: Final = re.compile(rb'"?([A-Za-z0-9._-]{1,100})"?')
"""An idempotency key as its header has it, in quotes or not."""

_PART: Final = re.compile(r"{(\w+)}")


def parts_of(path: str) -> list[str]:
    """Return the names of the parts of an address.

    >>> parts_of("/api/tables/{table}/rounds/{round}")
    ['table', 'round']
    """
    return _PART.findall(path)


def as_route(path: str) -> str:
    """Return an address as Litestar writes it, which keeps some names for itself.

    >>> as_route("/api/requests/{request}")
    '/api/requests/{the_request:str}'
    """
    return _PART.sub(r"{the_\1:str}", path)


def from_route(params: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of an address by their own names."""
    return {name.removeprefix("the_"): value for name, value in params.items()}
