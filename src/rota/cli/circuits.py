"""`rota circuits`: the hosts that fail, and letting them be called again."""

from typing import Annotated

import typer

from rota.cli import client as api
from rota.cli import output, shown
from rota.cli.config import DataDir, File

Host = Annotated[
    str, typer.Argument(metavar="HOST", help="Such as example.com or example.com:8443.")
]

_HEADERS = ("host", "tenant", "circuit", "failures", "open until", "last error")

app = output.commands("Show the hosts that fail, and those that are left alone for it.")
app.info.no_args_is_help = False


@app.callback(invoke_without_command=True)
def circuits(
    context: typer.Context,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show the hosts that fail, and those that are left alone for it."""
    if context.invoked_subcommand is not None:
        return
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = list(client.items("/v1/circuits"))
    if as_json:
        output.print_json(found)
        return
    if not found:
        output.say("No host fails.")
        return
    rows = [
        (
            str(each["host"]),
            str(each["tenant"] or ""),
            str(each["state"]),
            str(each["failures"]),
            shown.instant(each["open_until"]),
            str(each["last_error"] or ""),
        )
        for each in found
    ]
    output.table(rows, headers=_HEADERS)


@app.command("reset")
def reset(
    host: Host,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Forget a host's failures, for all tenants: it is called again at once."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    client.delete(f"/v1/circuits/{api.segment(host)}")
    output.done({"reset": host}, f"{host} is called again.", as_json=as_json)
