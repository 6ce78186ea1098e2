"""Calling every operation there is: what stands for the names in its path, and what is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import httpx
    from tests.api.conftest import Api

    from rota.api import operations

ID: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NOBODYS: Final[dict[str, str]] = {
    "schedule_id": f"sch_{ID}",
    "firing_id": f"fir_{ID}",
    "tenant_id": f"ten_{ID}",
    "key_id": f"key_{ID}",
    "channel_id": f"chn_{ID}",
    "key": "nobodys",
    "name": "NOBODYS",
    "queue": "nobodys",
    "host": "nobodys.example",
    # Whoever has one may use it, so nobody has another's.
    "token": "nobodys",
}
"""For every name in a path: one that nobody has."""

BODIES: Final[dict[str, Any]] = {
    "patch": {"priority": 1},
    "post": {},
    "put": {},
    "backfill_schedule": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
    "preview_slots": {"cron_expr": "0 9 * * *"},
    "put_schedule": {"name": "n", "cron_expr": "0 9 * * *", "target_url": "https://acme.example"},
    "put_secret": {"value": "v"},
    "put_calendar": {"weekdays": ["sunday"]},
    "update_channel": {"enabled": False},
}
"""What is sent, by operation or else by method."""


def path_of(operation: operations.Operation, **names: str) -> str:
    """The operation's address, with these names in it and else nobody's."""
    known = {**NOBODYS, **names}
    unknown = set(names_in(operation)) - known.keys()
    assert not unknown, f"{operation.name}: say in tests/api/walk.py what stands for {unknown}"
    path = operation.path.format(**known)
    return f"{path}?at=2090-01-01" if "at" in operation.query else path


def names_in(operation: operations.Operation) -> list[str]:
    """What the operation's path has names for."""
    return re.findall(r"{(\w+)}", operation.path)


def body_of(operation: operations.Operation) -> Any:
    return BODIES.get(operation.name, BODIES.get(operation.method))


async def call(api: Api, operation: operations.Operation, **names: str) -> httpx.Response:
    """Call it as `api` would."""
    return await api.http.request(
        operation.method,
        path_of(operation, **names),
        json=body_of(operation),
        headers=api.headers,
    )
