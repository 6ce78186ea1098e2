"""`rota secret`: values that only requests show, and the keys they are sealed with.

What concerns a tenant goes through the API. `rotate` works on the database itself, as `migrate`
does: it needs the key ring, which no API should take, and it concerns every tenant.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rota import config as configuration
from rota.cli import client as api
from rota.cli import output
from rota.cli.config import DataDir, DirectDsn, Dsn, File, database, is_made
from rota.cli.signing import signing
from rota.errors import OperatorError

if TYPE_CHECKING:
    from rota.config import Config
    from rota.tenants.secrets.rotate import Rotated

Name = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and _.")]
Value = Annotated[
    str | None,
    typer.Option(help="The value. Others on this machine can see it: better give it on stdin."),
]
NewKey = Annotated[
    bool, typer.Option("--new-key", help="First put a new key in front of the ring's file.")
]

app = output.commands("Keep secrets: ${secrets.NAME} in what is sent.")
# The older name of `rota signing`.
app.command("signing", hidden=True)(signing)


@app.command("set")
def set_(
    name: Name,
    *,
    value: Value = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a secret or change its value; asked for, or read from stdin."""
    text = _asked(name) if value is None else value
    client = api.connect(url=server, data_dir=data_dir, file=file)
    secret: dict[str, Any] = client.put(f"/v1/secrets/{api.segment(name)}", {"value": text})
    output.done(secret, f"{secret['name']} is set (version {secret['version']}).", as_json=as_json)


@app.command("list")
def list_(
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """List the secrets, without their values."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    secrets = list(client.items("/v1/secrets"))
    if as_json:
        output.print_json(secrets)
    elif not secrets:
        output.say("There are no secrets; `rota secret set NAME` makes one.")
    else:
        rows = [(each["name"], str(each["version"]), each["updated_at"]) for each in secrets]
        output.table(rows, headers=("name", "version", "updated"))


@app.command()
def delete(
    name: Name,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Delete a secret; what wants it fails from then on."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    client.delete(f"/v1/secrets/{api.segment(name)}")
    output.done({"deleted": name}, f"{name} is deleted.", as_json=as_json)


@app.command("new-key")
def new_key(
    *,
    id_: Annotated[str, typer.Option("--id", help="What the key is called.")] = "k1",
    as_json: output.Json = False,
) -> None:
    """Print a new key for the ring (ROTA_SECRET_KEYS). It is stored nowhere."""
    from rota.tenants.secrets import ring  # noqa: PLC0415 - heavy, see app.py

    entry = ring.new_entry(id_)
    ring.parse(entry, where="--id")
    output.done({"key": entry}, entry, as_json=as_json)


@app.command()
def rotate(
    *,
    new_key: NewKey = False,
    file: File = None,
    dsn: Dsn = None,
    direct_dsn: DirectDsn = None,
    data_dir: DataDir = None,
    as_json: output.Json = False,
) -> None:
    """Seal all data keys with the ring's current key. Safe to break off, and to run again."""
    import asyncio  # noqa: PLC0415 - heavy, see app.py

    config = configuration.read(
        {"dsn": dsn, "direct_dsn": direct_dsn, "data_dir": data_dir}, file=file
    )
    if not is_made(config):
        raise OperatorError(f"there is no database in {config.data_dir} yet, so no secret either")
    rotated = asyncio.run(_rotate(config, new_key=new_key, aloud=not as_json))
    if as_json:
        output.print_json(
            {
                "current": rotated.current,
                "moved": rotated.moved,
                "removable": list(rotated.unused),
            }
        )
        return
    output.say(f"Moved {rotated.moved} under the key {rotated.current}; all is under it now.")
    for key_id in rotated.unused:
        output.say(
            f"The key {key_id} seals nothing any more: once every process has {rotated.current} "
            "first in its ring, take it out."
        )
    if not rotated.moved and not rotated.unused:
        output.note(
            "To change keys, put a new one first in the ring (--new-key does it in a file)."
        )


async def _rotate(config: Config, *, new_key: bool, aloud: bool) -> Rotated:
    from rota.db import migrate  # noqa: PLC0415 - heavy, see app.py
    from rota.tenants.secrets import Rings, Vault, rings, rotate  # noqa: PLC0415 - heavy

    def show(moved: int) -> None:
        if aloud:
            output.note(f"moved {moved}")

    async with database(config) as db:
        if await migrate.pending(db):
            raise OperatorError("this database is of an older version: run `rota migrate` first")
        path = rings.file_of(config)
        if new_key and path is None:
            raise OperatorError(
                "--new-key: expected a ring in a file; put a new key first in ROTA_SECRET_KEYS "
                "of every process instead (`rota secret new-key` prints one)"
            )
        # Looked at before anything changes: a ring that does not fit must not grow.
        ring = Rings.of(config)
        await db.run(lambda tx: rotate.check(tx, ring, Vault(ring)), read_only=True)
        if new_key and path is not None:
            rings.add_key(path)
        return await rotate.rotate(db, ring, on_batch=show)


def _asked(name: str) -> str:
    """From stdin, without the end of its last line; or asked for, when that is a terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    return typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True)
