"""Install the wheel with the newest and with the lowest versions it allows, and run a house there.

`python -m tools.versions [newest] [lowest]`; `make versions` and nox run it. It is no part of
`make test`, which must not fail because somebody released a package. Each environment begins empty:
a plain installation runs the cases, then the extra `house` is added and `installed_house.py` runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from venv import EnvBuilder

ROOT: Final = Path(__file__).parents[1]
HOUSE_SCRIPT: Final = ROOT / "tools" / "installed_house.py"
NEWEST, LOWEST = "newest", "lowest"
_LOWEST_VERSION: Final = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")
_INHERITED_SETTINGS: Final = ("PIP_CONSTRAINT", "PYTHONPATH", "THREEDICE_DATABASE")
"""Settings of a clone, under which an installation would not be a stranger's."""


def lowest_versions(project: dict[str, Any]) -> list[str]:
    """Return the direct dependencies of a house, pinned to the lowest version that is allowed.

    >>> lowest_versions({"dependencies": ["a>=1.2,<2"], "optional-dependencies": {"house": []}})
    ['a==1.2']
    """
    requirements = [*project["dependencies"], *project["optional-dependencies"]["house"]]
    return [_LOWEST_VERSION.sub(r"\1==\2", each).partition(",")[0] for each in requirements]


def run_versions(versions: str, folder: Path) -> None:
    """Install the package into an empty environment, and use it there."""
    EnvBuilder(with_pip=True).create(folder / "environment")
    programs = folder / "environment" / "bin"
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check"]
    constraints = folder / "constraints.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = lowest_versions(project) if versions == LOWEST else []
    constraints.write_text("".join(f"{each}\n" for each in pinned), encoding="utf-8")
    _run(folder, *pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("threedice-*.whl")
    install = [*pip, "install", "--quiet", "--constraint", constraints]
    _run(folder, *install, f"threedice @ {wheel.as_uri()}")
    _run(folder, programs / "threedice", "cases")
    _run(folder, programs / "threedice", "odds", "sg-rws-tai-sai-v6/a", "--json")
    _run(folder, *install, f"threedice[house] @ {wheel.as_uri()}")
    installed = _run(folder, *pip, "list", "--format=freeze").split()
    print(f"{versions}: {', '.join(installed)}", flush=True)
    print(_run(folder, programs / "python", "-I", HOUSE_SCRIPT), end="", flush=True)


def _run(folder: Path, *words: object) -> str:
    own = {name: value for name, value in os.environ.items() if name not in _INHERITED_SETTINGS}
    done = subprocess.run(
        [*map(str, words)], cwd=folder, env=own, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{done.stdout}{' '.join(map(str, words))}: exit code {done.returncode}")
    return done.stdout


def main() -> None:
    """Run the named versions, or both."""
    for versions in sys.argv[1:] or (NEWEST, LOWEST):
        with TemporaryDirectory() as folder:
            run_versions(versions, Path(folder))


if __name__ == "__main__":
    main()
