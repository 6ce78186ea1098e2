"""`rota signing`: the key that a receiver verifies Rota's calls with."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import output
from rota.cli.config import DataDir, File  # noqa: TC001 - typer reads the annotations
from rota.errors import InvalidInput

Host = Annotated[
    str | None,
    typer.Option(help="The receiver's host, such as example.com or example.com:8443; or its URL."),
]
Rotate = Annotated[
    bool, typer.Option("--rotate", help="Make new keys for all hosts; the old ones sign as well.")
]
Overlap = Annotated[
    str | None, typer.Option(help='How long the old keys sign on, such as "24h" or "0s".')
]


def signing(
    *,
    host: Host = None,
    rotate: Rotate = False,
    overlap: Overlap = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show the key that verifies calls to a host; or make new keys."""
    if overlap is not None and not rotate:
        raise InvalidInput("--overlap: expected it with --rotate only")
    if host is None and not rotate:
        raise InvalidInput(
            "--host: expected the host of a receiver, such as example.com: each has its own key"
        )
    client = api.connect(url=server, data_dir=data_dir, file=file)
    if rotate:
        given = {"overlap": overlap, "host": host}
        body = {name: value for name, value in given.items() if value is not None}
        shown: dict[str, Any] = client.post("/v1/signing-secret/rotate", body)
    else:
        shown = client.get("/v1/signing-secret", host=host)
    if as_json:
        output.print_json(shown)
    else:
        _show(shown)


def _show(shown: dict[str, Any]) -> None:
    if shown["secret"] is None:
        output.say(f"Version {shown['version']} signs from now on.")
        output.note("`rota signing --host HOST` shows the new key of each receiver")
    else:
        output.say(shown["secret"])
    if shown["shared"]:
        output.note(
            "all hosts share this key, so one receiver can sign for another: "
            "`rota signing --rotate` gives each its own"
        )
    for each in shown["retiring"]:
        output.note(f"version {each['version']} signs next to it until {each['retired_at']}")
