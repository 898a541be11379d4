"""Commands and events of any kind, with arbitrary values of the right types.

Recordings and random histories use them, so that a new command or event is covered by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import inspect

if TYPE_CHECKING:
    from random import Random

Message = TypeVar("Message", bound=msgspec.Struct)

TEXTS = ("seen", "SGD")


def sample(kind: type[Message], random: Random) -> Message:
    """Return a command or an event of a kind; optional fields keep their defaults."""
    return msgspec.convert(_value(inspect.type_info(kind), random), kind)


def _value(of: Any, random: Random) -> Any:
    return _value_of_type(of.type if isinstance(of, inspect.Metadata) else of, random)


def _value_of_type(of: Any, random: Random) -> Any:
    match of:
        case inspect.StructType():
            tag = {of.tag_field: of.tag} if of.tag_field else {}
            fields = {each.encode_name: each.type for each in of.fields if each.required}
            return tag | {name: _value(each, random) for name, each in fields.items()}
        case inspect.StrType():
            return next(text for text in TEXTS if re.search(of.pattern or "", text))
        case inspect.LiteralType():
            return random.choice(of.values)
        case inspect.UnionType():
            return _value(of.types[0], random)
        case inspect.ListType():
            return [_value(of.item_type, random)]
        case inspect.TupleType():
            return [_value(each, random) for each in of.item_types]
        case inspect.DictType():
            return {}
        case inspect.BoolType():
            return random.random() < 0.5
        case inspect.IntType():
            return random.randint(1, 6)
        case _:
            raise NotImplementedError(f"no sample of {of}")
