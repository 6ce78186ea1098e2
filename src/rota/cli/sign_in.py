"""`rota sign-in`: a link to the dashboard, made with the key that commands use."""

from typing import Any

from rota.cli import client as api
from rota.cli import output, shown
from rota.cli.config import DataDir, File


def sign_in(
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a link that signs you in to the dashboard once, within ten minutes."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    made: dict[str, Any] = client.post("/v1/sign-in-links")
    link = client.url.rstrip("/") + str(made["path"])
    if as_json:
        output.print_json({"url": link, "expires_at": made["expires_at"]})
        return
    output.say(link)
    output.note(
        f"It works once, until {shown.instant(made['expires_at'])}: open it, do not share it."
    )
