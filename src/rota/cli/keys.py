"""`rota key`: the keys that programs and people talk to the API with."""

import re
from typing import Annotated, Any

import typer

from rota.cli import client as api
from rota.cli import fields, output, shown
from rota.cli.config import DataDir, File
from rota.errors import CallerError

Whose = Annotated[
    str | None, typer.Option("--tenant", help="Whose, by name or id; your own unless given.")
]
Scopes = Annotated[
    list[str] | None,
    typer.Option("--scope", help="read, write or admin; write unless given. May be repeated."),
]
Expires = Annotated[
    str | None,
    typer.Option(
        "--expires", help="When it ends: 2030-01-01 00:00 (UTC), or a time from now such as 90d."
    ),
]
For = Annotated[str, typer.Option("--name", help="What it is for.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="Its id or prefix, not its secret.")]

app = output.commands("Administer API keys.")

_ID = re.compile(r"key_[0-9A-Za-z]{26}", re.IGNORECASE)


@app.command("new")
def new(
    *,
    tenant: Whose = None,
    scope: Scopes = None,
    expires: Expires = None,
    name: For = "",
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a key. It is printed this once, and stored nowhere."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    expires_at = None if expires is None else fields.instant(expires, from_now=True)
    wish = {"tenant": tenant, "scopes": scope or ["write"], "expires_at": expires_at, "name": name}
    made: dict[str, Any] = client.post("/v1/keys", wish)
    if as_json:
        output.print_json(made)
        return
    output.say(str(made["key"]))
    output.note(f"This is key {made['id']}. It is shown this once: keep it somewhere safe.")


@app.command("list")
def list_(
    *,
    tenant: Whose = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """List keys, without their secrets."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    keys = list(client.items("/v1/keys", tenant=tenant))
    if as_json:
        output.print_json(keys)
        return
    rows = [
        (
            each["prefix"],
            each["name"],
            " ".join(each["scopes"]),
            shown.instant(each["expires_at"]),
            shown.instant(each["last_used_at"]),
            each["id"],
        )
        for each in keys
    ]
    output.table(rows, headers=("prefix", "name", "scopes", "expires", "last used", "id"))


@app.command("revoke")
def revoke(
    key: Key,
    *,
    tenant: Whose = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Revoke a key; refused everywhere within a second. By its prefix, of your own tenant or of
    --tenant; by its id, of any tenant you may administer."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    listed = client.items("/v1/keys", tenant=tenant)
    found = next((each for each in listed if key in {each["id"], each["prefix"]}), None)
    if found is None and not _ID.fullmatch(key):
        # What was given may be a whole key, so it is not repeated.
        whose = f"the tenant {tenant!r}" if tenant else "your own tenant"
        raise CallerError(
            f"expected the id or prefix of a key of {whose}; `rota key list` has them. For a key "
            "of another tenant, give its id, or --tenant NAME"
        )
    deleted = str(found["id"]) if found else key
    client.delete(f"/v1/keys/{deleted}")
    name = found["prefix"] if found else deleted
    output.done({"deleted": deleted}, f"{name} is revoked.", as_json=as_json)
