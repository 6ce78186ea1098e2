"""The secrets that a schedule names in what it sends, and which of them there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from rota.targets.placeholders import BEGINNING, PLACEHOLDER
from rota.tenants.secrets import sql as secrets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule

K = TypeVar("K")

_NONE: frozenset[str] = frozenset()


def used(definition: Definition) -> frozenset[str]:
    """The names of the secrets that are filled into what it sends."""
    sent = (
        *(definition.target_url, definition.stream, definition.headers),
        *(definition.body, definition.payload, definition.steps),
    )
    text = msgspec.json.encode(sent).decode()
    return frozenset(PLACEHOLDER.findall(text)) if BEGINNING in text else _NONE


async def unknown(
    tx: Tx, tenant_id: UUID, names: Mapping[K, frozenset[str]]
) -> dict[K, tuple[str, ...]]:
    """For each that names a secret that there is not, what to say about it."""
    wanted = _NONE.union(*names.values())
    missing = wanted - await secrets.existing(tx, tenant_id, wanted) if wanted else _NONE
    return {
        key: tuple(map(_warning, sorted(each & missing)))
        for key, each in names.items()
        if each & missing
    }


async def warnings(tx: Tx, schedule: Schedule) -> tuple[str, ...]:
    """What there is to say about the secrets of one schedule."""
    found = await unknown(tx, schedule.tenant_id, {schedule.id: used(schedule.definition)})
    return found.get(schedule.id, ())


def _warning(name: str) -> str:
    return (
        f"There is no secret {name}: firings fail until `rota secret set {name}` makes it, "
        "and are not retried."
    )
