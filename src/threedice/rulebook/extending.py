"""Plain data laid over plain data: a book over the one it extends, a reading over its book."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from threedice.rulebook.place import Place, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

Data = dict[str, Any]
Path = tuple[str, ...]

ABSENT = object()
_PART = re.compile(r'[A-Za-z0-9_-]+|"[^"\n]+"')
_KEY = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")
_MAY_REPEAT: set[Path] = {("title",), ("version",)}


def merged(base: Data, change: Data) -> Data:
    """Return the base with a tree of changes laid over it: tables merge, all else replaces."""
    whole = dict(base)
    for key, value in change.items():
        under = whole.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            whole[key] = merged(under, value)
        else:
            whole[key] = value
    return whole


def extended(base: Data, own: Data, removes: Any, file: str) -> Data:
    """Return the base with a book's own keys in place of, or added to, its keys.

    A book names what it changes and nothing else: repeating an inherited value is refused.
    """
    whole = deepcopy(base)
    place = Place(file, ("removes",))
    if not isinstance(removes, list):
        raise place.error(f"{removes!r} is no list", "list dotted keys")
    for key in removes:
        _remove(whole, _dotted(key, place), place)
    for path, value in leaves(own):
        if repr(at(whole, path)) == repr(value) and path not in _MAY_REPEAT:
            raise Place(file, path).error(
                "repeats what the extended book says", "leave the key out"
            )
    return merged(whole, own)


def _dotted(key: Any, place: Place) -> Path:
    """Read a dotted key, parts in double quotes included."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise place.error(f"{key!r} is not a key", 'write a dotted key such as "readings.tumble"')
    return tuple(part.strip('"') for part in _PART.findall(key))


def _remove(data: Data, path: Path, place: Place) -> None:
    *above, last = path
    table = at(data, tuple(above))
    if not isinstance(table, dict) or last not in table:
        raise place.error(f"{key_text(path)} is not in the extended book", "leave it out")
    del table[last]


def leaves(data: Data, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value of a tree that is not a table, with its path."""
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def at(data: Any, path: Path) -> Any:
    """Return what stands at a path, or ABSENT."""
    for key in path:
        data = data.get(key, ABSENT) if isinstance(data, dict) else ABSENT
    return data
