"""What a house says first to its scribe: of which version it is, and only then what is to be done.

A scribe is started from the package as it is installed at that time, which may be newer than the
house that starts it. What one of them means the other might read as something else, so a scribe
writes for a house of its own version only.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from threedice import __version__
from threedice.errors import HouseOutdated

if TYPE_CHECKING:
    from collections.abc import Sequence


class Greeting(msgspec.Struct, frozen=True):
    """The version of a house, that of its messages, and a message that nobody else need read.

    Other versions read this: what is here stays, whatever else may change.
    """

    version: str
    forms: str
    message: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Greeting).decode


def forms_of(messages: Sequence[Any], *others: object) -> str:
    """Return what changes with the form of any message, or with anything else that is given."""
    said = repr((msgspec.inspect.multi_type_info(messages), others))
    return sha256(said.encode()).hexdigest()


def greeting(forms: str, message: bytes) -> bytes:
    """Return a message with the version of whoever sends it."""
    return _encode(Greeting(__version__, forms, msgspec.Raw(message)))


def greeted(forms: str, said: bytes) -> bytes:
    """Return the message that comes with a greeting, from a house of this very version only."""
    theirs, own = "another version", _named(__version__, forms)
    try:
        heard = _decode(said)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # whatever it may be, it is not what this version says
    else:
        theirs = _named(heard.version, heard.forms)
        if theirs == own:
            return bytes(heard.message)
    raise HouseOutdated(
        f"Threedice was replaced while the house runs: the house is {theirs}, what is installed is"
        f" {own}; restart the house, nothing acknowledged is lost"
    )


def _named(version: str, forms: str) -> str:
    return f"{version} ({forms[:12]})"
