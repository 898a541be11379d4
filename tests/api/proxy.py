"""An nginx for one test, as a reverse proxy."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from tests.programs import nginx

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AROUND = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
access_log off;
{paths}
{text}
}}
"""
PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
ATTEMPTS = 200


@contextmanager
def proxying(folder: Path, text: str, port: int) -> Iterator[None]:
    """Run nginx with a configuration for as long as the context lasts."""
    paths = "\n".join(f"{name}_temp_path {folder}/{name};" for name in PATHS)
    file = folder / "nginx.conf"
    file.write_text(AROUND.format(folder=folder, paths=paths, text=text), encoding="utf-8")
    command = [str(nginx()), "-p", str(folder), "-e", "stderr", "-c", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Come back when it answers, if only that it wants TLS."""
    transport = httpx.HTTPTransport(retries=5)
    with httpx.Client(transport=transport) as client:
        for _ in range(ATTEMPTS):
            if process.poll() is not None:
                raise AssertionError("nginx did not take the configuration")
            try:
                client.get(f"http://127.0.0.1:{port}/")
            except httpx.ConnectError:
                continue
            return
