"""The HTTP request of a firing. Pure: the same claim always makes the same request (I6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from rota import ids
from rota.version import __version__
from rota.workers.capture import clean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule

USER_AGENT = f"Rota/{__version__}"


HIDDEN_HEADERS: Final = frozenset({"rota-token", "webhook-signature"})
"""Shown without their values: who has them can speak for the target, or for Rota."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Request:
    """What is sent: a template, with `${secrets.NAME}` in it, until the last moment."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    is_payload: bool = False
    """Whether the body is the payload, which is JSON whatever the headers say."""

    @property
    def shown(self) -> str:
        """As it is remembered (HX3). Only ever asked of the template (S8)."""
        seen = {
            "method": self.method,
            "url": self.url,
            "headers": {
                name: "…" if name.lower() in HIDDEN_HEADERS else value
                for name, value in self.headers.items()
            },
            "body": clean(self.body.decode(errors="replace")),
        }
        return msgspec.json.encode(seen).decode()

    def __repr__(self) -> str:
        # Once it is filled in, every part of it may hold a secret.
        return f"Request({self.method} …)"


def request_of(claim: Claim, schedule: Schedule) -> Request:
    """The schedule's target, with what this firing has to say."""
    definition = schedule.definition
    body, kind = _body(claim, definition)
    is_payload = claim.payload is not None or definition.body is None
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*"}
    if kind is not None:
        headers["Content-Type"] = kind
    headers = _over(headers, definition.headers)
    # Compressed answers are refused: a kilobyte can unpack to a gigabyte (S5).
    headers = _over(headers, {"Accept-Encoding": "identity", **rota_headers(claim, schedule)})
    assert definition.target_url is not None
    return Request(
        method=definition.method,
        url=definition.target_url,
        headers=headers,
        body=body,
        is_payload=is_payload,
    )


def rota_headers(claim: Claim, schedule: Schedule) -> dict[str, str]:
    """Who calls, for which slot, and how a duplicate can be told (DS3, DS4, HX8)."""
    firing = ids.to_text(ids.Kind.FIRING, claim.id)
    own_key = schedule.definition.idempotency_key
    headers = {
        "Idempotency-Key": firing if own_key is None else _of_slot(own_key, claim),
        "Rota-Schedule-Id": _schedule_text(claim.schedule_id),
        "Rota-Firing-Id": firing,
        "Rota-Scheduled-For": instant_text(claim.scheduled_for),
        "Rota-Attempt": str(claim.attempt),
        "Rota-Catch-Up": "true" if claim.catch_up else "false",
    }
    if claim.fence is not None:
        headers["Rota-Fence"] = str(claim.fence)
    return headers


def idempotency_key(claim: Claim, definition: Definition) -> str:
    """The same for every attempt and after every crash: made of the slot, never of now (DS5)."""
    if definition.idempotency_key is None:
        return ids.to_text(ids.Kind.FIRING, claim.id)
    return _of_slot(definition.idempotency_key, claim)


def _of_slot(key: str, claim: Claim) -> str:
    return f"{key}:{instant_text(claim.scheduled_for)}"


@lru_cache(maxsize=10_000)
def _schedule_text(schedule_id: UUID) -> str:
    return ids.to_text(ids.Kind.SCHEDULE, schedule_id)


def instant_text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _body(claim: Claim, definition: Definition) -> tuple[bytes, str | None]:
    """The content and its type: a payload given for this run, the body, or the payload."""
    if claim.payload is not None:
        return claim.payload.encode(), "application/json"
    if definition.body is not None:
        return definition.body.encode(), "text/plain; charset=utf-8"
    if definition.payload is not None:
        return msgspec.json.encode(definition.payload), "application/json"
    return b"", None


def _over(headers: dict[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """`more` in place of headers of the same name, in whatever case."""
    replaced = {name.lower() for name in more}
    return {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(
        more
    )
