"""The build hook: makes the screens before a wheel or an editable install is put together.

Node comes from PyPI and is asked for only where the screens have to be built: a source
distribution brings them along.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from screens.build import NODE, build, is_built


class Screens(BuildHookInterface[Any]):
    """Builds the screens into the package, unless they are as their sources are."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what the build environment needs besides hatchling."""
        return [] if is_built() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the screens."""
        if not is_built():
            build()
