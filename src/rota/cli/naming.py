"""Which schedule a person means by NAME: an id, a key, or a name that only one schedule has."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rota.cli import completing
from rota.cli.client import RequestRefused
from rota.errors import CallerError

if TYPE_CHECKING:
    from rota.cli.client import Client

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A schedule's key, name or id.",
        autocompletion=completing.schedules,
    ),
]
Tag = Annotated[
    str | None,
    typer.Option(help="Only those with this tag.", autocompletion=completing.tags),
]

_ID = re.compile(r"sch_[0-9A-Za-z]{26}", re.IGNORECASE)
_SEARCHED = 1_000


class UnknownSchedule(CallerError):
    """No schedule goes by that name, or more than one does."""


def find(client: Client, name: str) -> dict[str, Any]:
    """The schedule; an error that helps on when there is none, or no single one."""
    found = None
    if name:
        found = _by_id(client, name) or _by_key(client, name) or _by_name(client, name)
    if found is None:
        raise UnknownSchedule(
            f"expected a schedule's key, name or id, got {name!r}{_hint(client, name)}"
        )
    return found


def find_past(client: Client, name: str) -> dict[str, Any]:
    """The schedule; or when there is none, the last of that id, key or name that was deleted."""
    try:
        return find(client, name)
    except UnknownSchedule:
        page = client.get("/v1/audit", schedule=name, action="deleted", limit=1) if name else None
        if not page or not page["items"]:
            raise
        gone = page["items"][0]
        return {
            "id": gone["schedule_id"],
            "key": gone["schedule_key"],
            "name": gone["schedule_name"],
            "status": "deleted",
        }


def tag_hint(client: Client, tag: str) -> str:
    """What to say of a tag that no schedule has."""
    known = completing.tags_of(_listed(client, limit=_SEARCHED))
    near = difflib.get_close_matches(tag, sorted(known), n=1)
    return f"No schedule has the tag {tag!r}{f'; did you mean {near[0]!r}?' if near else '.'}"


def path(schedule: dict[str, Any], *more: str) -> str:
    """Where the schedule is in the API."""
    return "/".join(("/v1/schedules", str(schedule["id"]), *more))


def _by_id(client: Client, name: str) -> dict[str, Any] | None:
    if not _ID.fullmatch(name):
        return None
    try:
        return client.get(f"/v1/schedules/{name}")
    except RequestRefused as error:
        if error.status in {404, 422}:
            return None
        raise


def _by_key(client: Client, name: str) -> dict[str, Any] | None:
    items = _listed(client, key=name, limit=1)
    return items[0] if items else None


def _by_name(client: Client, name: str) -> dict[str, Any] | None:
    items = _listed(client, name=name, limit=10)
    if len(items) > 1:
        keys = "\n".join(f"  {item['key']}" for item in items)
        raise UnknownSchedule(f"expected one schedule, {name!r} is the name of several:\n{keys}")
    return items[0] if items else None


def _listed(client: Client, **query: object) -> list[dict[str, Any]]:
    return client.get("/v1/schedules", **query)["items"]


def _hint(client: Client, name: str) -> str:
    items = _listed(client, limit=_SEARCHED)
    known = [item["name"] for item in items] + [item["key"] for item in items]
    near = difflib.get_close_matches(name, dict.fromkeys(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "; `rota list` shows them all"
