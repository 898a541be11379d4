"""The command `threedice serve` and its options."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 -- Typer reads the annotations
from typing import Annotated

import typer


def serve(
    database: Annotated[
        str,
        typer.Option(
            "--database",
            metavar="URL",
            help="sqlite:///PATH or postgresql://...; the user's own house without it.",
            envvar="THREEDICE_DATABASE",
        ),
    ] = "",
    house: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file that describes the house, house.toml."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; this machine only without it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any.")] = 8000,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate, with its chain, in PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The key of the certificate, in PEM.")
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="A proxy before it speaks TLS and adds X-Forwarded-For."
        ),
    ] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="An address that browsers reach it under, such as https://house.example; "
            "may be repeated.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="A house to try: play money, automatic dealers, sign-ins."),
    ] = False,
) -> None:
    """Serve a house: tables, people, the programming interface and its live sockets."""
    from threedice.api.listener import ListenAddress
    from threedice.cli import serve as command

    address = ListenAddress(host, port, tls_cert, tls_key, behind_proxy)
    if demo:
        command.serve_demo(database, house, address)
    else:
        command.serve(database, house, address, origin or [])
