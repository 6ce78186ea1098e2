"""What a firing says to targets that are not URLs. Pure: the same claim always says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rota import ids
from rota.workers.delivery.call_facts import idempotency_key, instant_text
from rota.workers.delivery.request import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.queue.claim import Claim
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule


def facts(claim: Claim, schedule: Schedule) -> dict[str, str]:
    """Which firing this is, and how a duplicate can be told (DS3, DS4, HX8)."""
    said = {
        "firing_id": ids.to_text(ids.Kind.FIRING, claim.id),
        "schedule_id": ids.to_text(ids.Kind.SCHEDULE, claim.schedule_id),
        "scheduled_for": instant_text(claim.scheduled_for),
        "attempt": str(claim.attempt),
        "catch_up": "true" if claim.catch_up else "false",
        "idempotency_key": idempotency_key(claim, schedule.definition),
    }
    if claim.fence is not None:
        said["fence"] = str(claim.fence)
    if claim.step is not None:
        said["step"] = claim.step.suffix
    return said


def delivery_id(said: Mapping[str, str]) -> str:
    """Of the firing; of one that goes through steps, of the step: one message for each of them."""
    step = said.get("step")
    return said["firing_id"] if step is None else f"{said['firing_id']}:{step}"


def payload(claim: Claim, definition: Definition) -> bytes:
    """The payload as JSON: the one given for this run, or the schedule's, or null."""
    if claim.payload is not None:
        return claim.payload.encode()
    return msgspec.json.encode(definition.payload)


def template(method: str, place: str, content: bytes, headers: Mapping[str, str]) -> Request:
    """What secrets are filled into, as a request: its body is JSON, its headers hold passwords."""
    return Request(method=method, url=place, headers=headers, body=content, is_payload=True)


def shown(method: str, place: str, said: Mapping[str, str], content: bytes) -> str:
    """As it is remembered (HX3); always of the template (S8)."""
    seen = {
        "method": method,
        "url": place,
        "headers": dict(said),
        "body": content.decode(errors="replace"),
    }
    return msgspec.json.encode(seen).decode()
