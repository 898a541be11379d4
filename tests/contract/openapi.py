"""The OpenAPI document without prose and component names, and the shapes of values it describes.

Schemas are stored once under a hash of their content and referred to by it, because inlining every
reference would make the recording four times as large. `inline_schemas` inlines them, so
that a comparison shows the place that changed instead of a chain of changed hashes.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

PROSE = frozenset({"summary", "description", "title"})
UNORDERED = frozenset({"required", "enum", "anyOf", "oneOf", "parameters"})
KEY_BYTES = 6


def normalise(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without prose and component names."""
    pool = _Pool(document["components"]["schemas"])
    return {
        "operations": {
            f"{method.upper()} {path}": pool.reduce(operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        },
        "live": {path: pool.reduce(each) for path, each in document["x-live"].items()},
        "security": pool.reduce(document["components"]["securitySchemes"]),
        "schemas": pool.schemas,
        "openapi": document["openapi"],
    }


def inline_schemas(recorded: dict[str, Any]) -> dict[str, Any]:
    """Return a normalised document with all schemas inlined."""
    schemas = recorded["schemas"]

    def expand(value: Any) -> Any:
        if isinstance(value, dict):
            if "schema-hash" in value:
                return expand(schemas[value["schema-hash"]])
            return {key: expand(each) for key, each in value.items()}
        return [expand(each) for each in value] if isinstance(value, list) else value

    return {key: expand(each) for key, each in recorded.items() if key != "schemas"}


class _Pool:
    """Reduces schemas to their structure and stores each component once."""

    def __init__(self, components: dict[str, Any]) -> None:
        self._components = components
        self._hashes: dict[str, str] = {}
        self.schemas: dict[str, Any] = {}

    def reduce(self, value: Any, *, names: bool = False) -> Any:
        """Return a part of the document without prose; `names` marks a mapping of property names.

        A property may be called `title` or `description`; only keywords are dropped.
        """
        if isinstance(value, dict):
            if "$ref" in value:
                return {"schema-hash": self._stored(value["$ref"])}
            return {
                key: self._keyword(key, each)
                for key, each in value.items()
                if names or key not in PROSE
            }
        return [self.reduce(each) for each in value] if isinstance(value, list) else value

    def _keyword(self, key: str, value: Any) -> Any:
        if key == "mapping" and isinstance(value, dict):  # a discriminator's tags
            return {tag: {"schema-hash": self._stored(ref)} for tag, ref in value.items()}
        reduced = self.reduce(value, names=key in ("properties", "responses"))
        if key in UNORDERED and isinstance(reduced, list):
            return sorted(reduced, key=_text)
        return reduced

    def _stored(self, reference: str) -> str:
        name = reference.rpartition("/")[2]
        if name not in self._hashes:
            reduced = self.reduce(self._components[name])
            digest = sha256(_text(reduced).encode()).hexdigest()[: 2 * KEY_BYTES]
            self._hashes[name], self.schemas[digest] = digest, reduced
        return self._hashes[name]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# --- shapes -------------------------------------------------------------------------------------
#
# The shape of JSON is its keys and types, with tags and enumerated values but no other content.
# The schema says which strings are enumerated and which objects are maps, whose keys are IDs.

TAG_KEYS = frozenset({"type", "code", "what", "kind", "role"})
"""Keys whose strings are kept although the schema gives no enumeration."""


def shape_of(value: Any, schema: dict[str, Any], key: str = "") -> Any:
    """Return the shape of a value."""
    schema = _chosen(value, schema)
    if isinstance(value, dict):
        properties = schema.get("properties")
        others = schema.get("additionalProperties")
        if properties is None and isinstance(others, dict):
            return {"*": _merged(shape_of(each, others) for each in value.values())}
        known = properties or {}
        return {name: shape_of(each, known.get(name, {}), name) for name, each in value.items()}
    if isinstance(value, list):
        if places := schema.get("prefixItems"):
            return [shape_of(each, place) for each, place in zip(value, places, strict=True)]
        items = schema.get("items", {})
        return _merged(shape_of(each, items if isinstance(items, dict) else {}) for each in value)
    if isinstance(value, str) and ("enum" in schema or key in TAG_KEYS):
        return f"={value}"
    return _type_of(value)


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
    found = _type_of(value)
    if schema.get("type", found) not in (found, "number" if found == "integer" else found):
        return False
    tags = schema.get("properties", {}).get("type", {}).get("enum")
    return tags is None or not isinstance(value, dict) or value.get("type") in tags


def _type_of(value: Any) -> str:
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
