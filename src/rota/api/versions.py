"""`ETag` and `If-Match`: who edits a schedule can make sure that nobody else has meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rota.schedules import update

if TYPE_CHECKING:
    from uuid import UUID

    from rota.api.given import AnyRequest
    from rota.db import Tx
    from rota.tenants.tenant import Principal

_TAG: Final = re.compile(r'\s*"v(\d{1,9})"\s*', re.ASCII)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an If-Match asks for: one of these versions; None for any, as long as it is there."""

    versions: frozenset[int] | None


def tag(version: int) -> dict[str, str]:
    """The header that names a schedule's version: one more after every change of its fields."""
    return {"ETag": f'"v{version}"'}


def wanted(request: AnyRequest) -> Wanted | None:
    """What the request's If-Match asks for; None without one."""
    header = request.headers.get("if-match")
    if header is None:
        return None
    if header.strip() == "*":
        return Wanted(None)
    # A tag that is none of ours names no version there can be.
    tags = [_TAG.fullmatch(each) for each in header.split(",")]
    return Wanted(frozenset(int(found[1]) for found in tags if found))


async def require(tx: Tx, caller: Principal, named: UUID | str, wish: Wanted | None) -> None:
    """Go on only if the caller's schedule is as the If-Match wants it."""
    if wish is not None:
        await update.require_version(tx, caller.tenant, named, wish.versions)
