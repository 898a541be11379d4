"""The shape of JSON: its keys and types, with tags and enumerated values but no other content.

The OpenAPI schema says which strings are enumerated and which objects are maps. The keys of a map
are ids, so they are left out.
"""

from __future__ import annotations

import json
from typing import Any

TAG_KEYS = frozenset({"type", "code", "what", "kind", "role"})
"""Keys whose strings are kept although the schema gives no enumeration."""


def shape(value: Any, schema: dict[str, Any], key: str = "") -> Any:
    """Return the shape of a value."""
    schema = _chosen(value, schema)
    if isinstance(value, dict):
        properties = schema.get("properties")
        others = schema.get("additionalProperties")
        if properties is None and isinstance(others, dict):
            return {"*": _merged(shape(each, others) for each in value.values())}
        known = properties or {}
        return {name: shape(each, known.get(name, {}), name) for name, each in value.items()}
    if isinstance(value, list):
        if places := schema.get("prefixItems"):
            return [shape(each, place) for each, place in zip(value, places, strict=True)]
        items = schema.get("items", {})
        return _merged(shape(each, items if isinstance(items, dict) else {}) for each in value)
    if isinstance(value, str) and ("enum" in schema or key in TAG_KEYS):
        return f"={value}"
    return _type(value)


def _merged(shapes: Any) -> list[Any]:
    """Return the different shapes of some values, in a stable order."""
    texts = {json.dumps(each, sort_keys=True) for each in shapes}
    return [json.loads(text) for text in sorted(texts)]


def _chosen(value: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the member of a union that a value belongs to."""
    members = schema.get("anyOf") or schema.get("oneOf")
    if not members:
        return schema
    fitting = [chosen for each in members if _fits(value, chosen := _chosen(value, each))]
    return fitting[0] if fitting else {"enum": []}


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if "enum" in schema:
        enumerated: list[Any] = schema["enum"]
        return value in enumerated
    found = _type(value)
    if schema.get("type", found) not in (found, "number" if found == "integer" else found):
        return False
    tags = schema.get("properties", {}).get("type", {}).get("enum")
    return tags is None or not isinstance(value, dict) or value.get("type") in tags


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case _:
            return "array"
