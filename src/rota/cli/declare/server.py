"""Reading from the server what a plan needs to know: what is wanted and what the owners own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.cli.declare.documents import OWNER_TAG
from rota.cli.declare.standing import Standing, of_record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.cli.client import Client

PAGE = 1_000
#: Beyond so many, a list of everything is read sooner than one by one.
_ONE_BY_ONE = 100


def standing(client: Client, *, keys: Iterable[str], owners: Iterable[str]) -> list[Standing]:
    """The schedules of these keys and of these owners, as far as there are any."""
    found: dict[str, dict[str, Any]] = {}
    for owner in sorted(set(owners)):
        for record in client.items("/v1/schedules", tag=OWNER_TAG + owner, limit=PAGE):
            found[record["key"]] = record
    missing = sorted(set(keys) - found.keys())
    if len(missing) <= _ONE_BY_ONE:
        for key in missing:
            for record in client.get("/v1/schedules", key=key, limit=1)["items"]:
                found[record["key"]] = record
    else:
        unseen = set(missing)
        for record in client.items("/v1/schedules", limit=PAGE):
            if record["key"] in unseen:
                found[record["key"]] = record
    return [of_record(record) for record in found.values()]
