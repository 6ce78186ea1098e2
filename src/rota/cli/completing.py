"""What the shell is told when somebody presses TAB: schedules and tags that there are.

Nothing when no server answers at once: a shell is no place for an error, nor for waiting.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import typer  # noqa: TC002 - typer itself reads the annotations

from rota.cli import client as api
from rota.cli.line import Line

if TYPE_CHECKING:
    from collections.abc import Iterable

_SECONDS: Final = 2.0
_MOST: Final = 50
_LOOKED_AT: Final = 1_000


def schedules(ctx: typer.Context, incomplete: str) -> list[str]:
    """Keys that begin so; by a word in them, when none does."""
    found = _listed(ctx, q=incomplete or None, limit=_MOST)
    keys = [str(item["key"]) for item in found]
    return [key for key in keys if key.startswith(incomplete)] or keys


def tags(ctx: typer.Context, incomplete: str) -> list[str]:
    """Tags that begin so."""
    return sorted(
        tag for tag in tags_of(_listed(ctx, limit=_LOOKED_AT)) if _begins(tag, incomplete)
    )


def tags_of(items: Iterable[dict[str, Any]]) -> set[str]:
    """The tags that some schedules have."""
    return {str(tag) for item in items for tag in item["tags"]}


def _begins(tag: str, incomplete: str) -> bool:
    return tag.lower().startswith(incomplete.lower())


def _listed(ctx: typer.Context, **query: object) -> list[dict[str, Any]]:
    given: dict[str, Any] = ctx.params
    with contextlib.suppress(Exception):
        where = {"url": given.get("server"), "data_dir": given.get("data_dir")}
        client = api.connect(**where, file=given.get("file"), line=Line(_SECONDS))
        return client.get("/v1/schedules", **query)["items"]
    return []
