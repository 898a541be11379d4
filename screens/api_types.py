"""Writes the types of the house's API for the screens: `python screens/api_types.py`.

They follow from the OpenAPI document of this checkout; a test sees to it that they are up to date.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

sys.path.insert(0, str(Path(__file__).parent.parent))

from screens.build import SOURCES, install, run

from threedice.api.app import API_HANDLERS
from threedice.api.http.openapi import build_document

TYPES: Final = SOURCES / "src" / "api" / "schema.d.ts"


def write(into: Path = TYPES) -> None:
    """Write the types."""
    install()
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "openapi.json"
        asked.write_bytes(msgspec.json.encode(build_document(API_HANDLERS)))
        into.parent.mkdir(parents=True, exist_ok=True)
        tool = "node_modules/openapi-typescript/bin/cli.js"
        run(
            tool, str(asked), "--output", str(into), "--root-types", "--root-types-no-schema-prefix"
        )


if __name__ == "__main__":
    write()
