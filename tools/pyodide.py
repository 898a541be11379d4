"""Fetch Python for browsers into build/pyodide, for the live odds page of the documentation.

    python -m tools.pyodide

Pyodide comes as an npm package, msgspec as the wheel that is compiled for Pyodide's ABI. Both are
pinned by a hash, and nothing is fetched twice.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tarfile
from hashlib import sha256, sha512
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from screens.build import node, npm

PYODIDE: Final = "314.0.7"
PYODIDE_SHA512: Final = (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
PYODIDE_FILES: Final = (
    "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip",
)  # fmt: skip
FOLDER: Final = Path(__file__).parents[1] / "build" / "pyodide" / PYODIDE

MSGSPEC: Final = "0.22.0"
MSGSPEC_PLATFORM: Final = "pyemscripten_2026_0_wasm32"
MSGSPEC_WHEEL: Final = f"msgspec-{MSGSPEC}-cp314-cp314-{MSGSPEC_PLATFORM}.whl"
MSGSPEC_SHA256: Final = "a66b1766311e42371e509c996c3933b161c7ae0eabdf361af5316dec197e1022"


class WrongHash(Exception):
    """A fetched file is not the one that is pinned."""


def files() -> list[Path]:
    """Return the files of the runtime, whether they are there or not."""
    return [FOLDER / name for name in (*PYODIDE_FILES, MSGSPEC_WHEEL)]


def fetch() -> None:
    """Fetch the files that are missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not all((FOLDER / name).exists() for name in PYODIDE_FILES):
        _fetch_pyodide()
    if not (FOLDER / MSGSPEC_WHEEL).exists():
        _fetch_msgspec()


def _fetch_pyodide() -> None:
    with TemporaryDirectory() as folder:
        path = os.pathsep.join([str(Path(node()).parent), os.environ.get("PATH", "")])
        subprocess.run(
            [node(), str(npm()), "pack", "--silent", f"pyodide@{PYODIDE}"],
            cwd=folder, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": path},
        )  # fmt: skip
        (archive,) = Path(folder).iterdir()
        digest = base64.b64encode(sha512(archive.read_bytes()).digest()).decode()
        _compare(f"pyodide {PYODIDE}", digest, PYODIDE_SHA512)
        with tarfile.open(archive) as packed:
            for name in PYODIDE_FILES:
                member = packed.extractfile(f"package/{name}")
                assert member is not None, name
                (FOLDER / name).write_bytes(member.read())


def _fetch_msgspec() -> None:
    with TemporaryDirectory() as folder:
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                "--only-binary=:all:", f"--platform={MSGSPEC_PLATFORM}", "--python-version=3.14",
                "--implementation=cp", "--abi=cp314", f"--dest={folder}", f"msgspec=={MSGSPEC}",
            ],
            check=True, env={**os.environ, "PIP_CONSTRAINT": ""},
        )  # fmt: skip
        wheel = (Path(folder) / MSGSPEC_WHEEL).read_bytes()
    _compare(MSGSPEC_WHEEL, sha256(wheel).hexdigest(), MSGSPEC_SHA256)
    (FOLDER / MSGSPEC_WHEEL).write_bytes(wheel)


def _compare(name: str, digest: str, pinned: str) -> None:
    if digest != pinned:
        raise WrongHash(f"{name} has the hash {digest}, not {pinned}: check what was published")


if __name__ == "__main__":
    fetch()
