"""The HTTP request of a firing. Pure: the same claim always makes the same request (I6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from rota import ids
from rota.targets.http import FORBIDDEN_PREFIXES
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
STEP_HEADER: Final = "Rota-Step"
"""Of one that goes through steps: which one this is, as `charge` or `charge:compensate`."""


HIDDEN_HEADERS: Final = ("Rota-Token", "webhook-signature", "Rota-Signature")
"""Shown without their values: who has them can speak for the target, or for Rota. Only Rota can set
them, so they are always spelt so."""

_JSON = "application/json"


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
            "headers": self._shown_headers(),
            "body": clean(self.body.decode(errors="replace")),
        }
        return msgspec.json.encode(seen).decode()

    def _shown_headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        for name in HIDDEN_HEADERS:
            if name in headers:
                headers[name] = "…"
        return headers

    def __repr__(self) -> str:
        # Once it is filled in, every part of it may hold a secret.
        return f"Request({self.method} …)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """What all requests of a schedule have in common, worked out once."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    is_payload: bool
    definition: Definition

    @staticmethod
    def of(definition: Definition) -> Still:
        body, kind = _body(definition)
        assert definition.target_url is not None
        return Still(
            method=definition.method,
            url=definition.target_url,
            headers=_headers(definition, kind),
            body=body,
            is_payload=definition.body is None,
            definition=definition,
        )

    def request(self, claim: Claim) -> Request:
        """With what this firing has to say."""
        headers, body, is_payload = self.headers, self.body, self.is_payload
        if claim.payload is not None:
            headers = _headers(self.definition, _JSON)
            body, is_payload = claim.payload.encode(), True
        return Request(
            method=self.method,
            url=self.url,
            headers={**headers, **rota_headers(claim, self.definition)},
            body=body,
            is_payload=is_payload,
        )


def request_of(claim: Claim, schedule: Schedule) -> Request:
    """The schedule's target, with what this firing has to say."""
    return Still.of(schedule.definition).request(claim)


def rota_headers(claim: Claim, definition: Definition) -> dict[str, str]:
    """Who calls, for which slot, and how a duplicate can be told (DS3, DS4, HX8)."""
    firing = ids.to_text(ids.Kind.FIRING, claim.id)
    own_key = definition.idempotency_key
    headers = {
        "Idempotency-Key": _of_step(firing if own_key is None else _of_slot(own_key, claim), claim),
        "Rota-Schedule-Id": _schedule_text(claim.schedule_id),
        "Rota-Firing-Id": firing,
        "Rota-Scheduled-For": instant_text(claim.scheduled_for),
        "Rota-Attempt": str(claim.attempt),
        "Rota-Catch-Up": "true" if claim.catch_up else "false",
    }
    if claim.fence is not None:
        headers["Rota-Fence"] = str(claim.fence)
    if claim.step is not None:
        headers[STEP_HEADER] = claim.step.suffix
    return headers


def idempotency_key(claim: Claim, definition: Definition) -> str:
    """The same for every attempt and after every crash: made of the slot, never of now (DS5)."""
    if definition.idempotency_key is None:
        return _of_step(ids.to_text(ids.Kind.FIRING, claim.id), claim)
    return _of_step(_of_slot(definition.idempotency_key, claim), claim)


def _of_step(key: str, claim: Claim) -> str:
    """Each step is a request of its own, and so is what undoes it."""
    return key if claim.step is None else f"{key}:{claim.step.suffix}"


def _of_slot(key: str, claim: Claim) -> str:
    return f"{key}:{instant_text(claim.scheduled_for)}"


@lru_cache(maxsize=10_000)
def _schedule_text(schedule_id: UUID) -> str:
    return ids.to_text(ids.Kind.SCHEDULE, schedule_id)


def instant_text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _body(definition: Definition) -> tuple[bytes, str | None]:
    """The content and its type."""
    if definition.body is not None:
        return definition.body.encode(), "text/plain; charset=utf-8"
    if definition.payload is not None:
        return msgspec.json.encode(definition.payload), _JSON
    return b"", None


def _headers(definition: Definition, kind: str | None) -> dict[str, str]:
    """Ours, the owner's in their place, and what nobody may change."""
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*"}
    if kind is not None:
        headers["Content-Type"] = kind
    # Refused when it is made; whatever is stored, Rota's own names are Rota's.
    theirs = {name: value for name, value in definition.headers.items() if not _is_ours(name)}
    # Compressed answers are refused: a kilobyte can unpack to a gigabyte (S5).
    return _over(_over(headers, theirs), {"Accept-Encoding": "identity"})


def _is_ours(name: str) -> bool:
    return name.lower() == "idempotency-key" or name.lower().startswith(FORBIDDEN_PREFIXES)


def _over(headers: dict[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """`more` in place of headers of the same name, in whatever case."""
    replaced = {name.lower() for name in more}
    return {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(
        more
    )
