"""A house served by a process of its own, its users over HTTP, and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import httpx

from tests.api.serve_process import ROOT, start_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.api.serve_process import ServeProcess


class User:
    """A browser or a program that talks to the house."""

    _keys = count(1)

    def __init__(self, client: httpx.Client, prefix: str) -> None:
        self.http, self._prefix = client, prefix
        self.id, self.last_key = "", ""

    def sign_in(self, name: str, password: str, code: str = "") -> dict[str, Any]:
        """Sign in and return the session as the house describes it."""
        session: dict[str, Any] = self.post("/api/session", name=name, password=password, code=code)
        self.id = session["account"]
        return session

    def get(self, path: str) -> Any:
        """Return the content at a path."""
        return _content(self.http.get(path))

    def post(self, path: str, **body: Any) -> Any:
        """Send a body and return the answer."""
        return _content(self.http.post(path, json=body))

    def put(self, path: str, **body: Any) -> Any:
        """Send a body and return the answer."""
        return _content(self.http.put(path, json=body))

    def command(self, path: str, command: str, **fields: Any) -> Any:
        """Send a command under a key of its own and return the answer."""
        self.last_key = f"{self._prefix}-{next(self._keys)}"
        headers = {"Idempotency-Key": self.last_key}
        body = {"type": command, **fields}
        return _content(self.http.post(f"{path}/commands", json=body, headers=headers))


def _content(response: httpx.Response) -> Any:
    assert response.is_success, (response.request.url, response.status_code, response.text)
    return response.json() if response.content else None


@dataclass
class Site:
    """A house that is being served."""

    url: str
    process: ServeProcess
    prefix: str
    _exits: ExitStack = field(default_factory=ExitStack)

    def user(self, token: str = "") -> User:
        """Return a user with their own cookies, or a program with its token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {"Origin": self.url}
        client = self._exits.enter_context(
            httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)
        )
        return User(client, self.prefix)


@contextmanager
def serving(database: str, data: Path, house_file: Path, prefix: str) -> Iterator[Site]:
    """Serve a house until the context ends, then stop it in an orderly way.

    `data` stands for the user's data folder; `prefix` begins the idempotency keys, which a house
    keeps for ever.
    """
    words = ("--database", database, "--house", str(house_file), "--port", "0")
    with start_server(data, *words) as process, ExitStack() as exits:
        port = process.wait_until_listening()
        yield Site(f"http://127.0.0.1:{port}", process, prefix, exits)
        process.send_signal()
        assert process.wait() == 0, process.errors


def run_cli(data: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `threedice` with a data folder of its own."""
    return subprocess.run(
        [sys.executable, "-m", "threedice", *words],
        cwd=ROOT,
        env=os.environ | {"XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(data / "none")},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
