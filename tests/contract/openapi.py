"""Normalise the OpenAPI document: drop prose and component names, keep everything else.

Schemas are stored once under a hash of their content and referred to by it, because inlining every
reference would make the recording four times as large. `expand` inlines them again, so that a
comparison shows the place that changed instead of a chain of changed hashes.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

PROSE = frozenset({"summary", "description", "title"})
UNORDERED = frozenset({"required", "enum", "anyOf", "oneOf", "parameters"})
KEY_BYTES = 6


def normalised(document: dict[str, Any]) -> dict[str, Any]:
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


def expanded(recorded: dict[str, Any]) -> dict[str, Any]:
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
