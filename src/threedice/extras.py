"""The optional parts of the package: the modules that each extra brings, and a check for them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, Literal

from threedice.errors import MissingExtra, UnsupportedSystem

ExtraName = Literal["house", "sim", "cluster", "gpu", "research"]

EXTRA_MODULES: Final[dict[ExtraName, tuple[str, ...]]] = {
    "house": (
        "argon2",
        "cryptography",
        "httptools",
        "litestar",
        "platformdirs",
        "prometheus_client",
        "psycopg",
        "psycopg_pool",
        "pyotp",
        "pyrage",
        "tzdata",
        "uvicorn",
        "websockets",
        "zxcvbn",
    ),
    "sim": ("numba", "numpy"),
    "cluster": ("dask", "distributed", "numba", "numpy"),
    "gpu": ("numba_cuda", "numba", "numpy"),
    "research": ("gymnasium", "pettingzoo", "pyarrow", "numba", "numpy"),
}
"""The modules without which an extra counts as missing; uvloop is not among them, because the
server also runs on asyncio's own event loop."""


POSIX_MODULE: Final = "fcntl"
"""A module of Python that only POSIX systems have; a house locks its files with it."""


def require_extra(extra: ExtraName, subject: str) -> None:
    """Raise `MissingExtra` if a module of an extra is not installed.

    `subject` is the command, package or function that needs the extra. Without POSIX nothing that
    could be installed would help, so that `UnsupportedSystem` comes first.
    """
    if extra == "house" and find_spec(POSIX_MODULE) is None:
        raise UnsupportedSystem(subject)
    if any(find_spec(module) is None for module in EXTRA_MODULES[extra]):
        raise MissingExtra(subject, extra)
