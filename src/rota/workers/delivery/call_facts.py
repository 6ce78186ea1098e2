"""What Rota says about a call in headers of its own: which firing it is for, and who sent it when.

Pure. These headers are all that differs between the requests of a schedule. They are written three
times for every request (as lines of the request, as lines of what is signed, and as JSON for the
history), so each is one format string.
"""

from __future__ import annotations

from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from rota import ids
from rota.signatures import CALL_SIGNATURE, ID, SIGNATURE, TIMESTAMP

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.definition import Definition

TOKEN_HEADER: Final = "Rota-Token"  # noqa: S105 - a header's name
CALLBACK_HEADER: Final = "Rota-Callback"
STEP_HEADER: Final = "Rota-Step"
"""Of one that goes through steps: which one this is, as `charge` or `charge:compensate`."""
HIDDEN: Final = "…"
"""In place of a value that is not to be seen."""


class CallFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The facts of one call. A Struct, as a `Claim` is, and for the same reason."""

    firing_id: str
    idempotency_key: str
    """The same for every attempt and after every crash: made of the slot, never of now."""
    schedule_id: str
    scheduled_for: str
    attempt: int
    catch_up: bool
    fence: int | None = None
    step: str | None = None
    token: str | None = None
    """The authority to complete this attempt later; hidden in the history."""
    callback: str | None = None
    """Where to say so."""
    sent_at: int | None = None
    """In seconds since 1970; None for a request that is not signed."""

    def __repr__(self) -> str:
        return f"CallFacts({self.firing_id}, attempt {self.attempt})"

    @property
    def message_id(self) -> str:
        """Of the signed message. A receiver that has seen one step must not take the next for a
        duplicate."""
        return self.firing_id if self.step is None else f"{self.firing_id}:{self.step}"

    def lines(self) -> tuple[str, int]:
        """The lines of the request, without those that hold the signatures, and their count."""
        more, count = "", 6
        if self.fence is not None:
            more, count = f"Rota-Fence: {self.fence}\r\n", count + 1
        if self.step is not None:
            more, count = f"{more}Rota-Step: {self.step}\r\n", count + 1
        if self.token is not None:
            more, count = f"{more}Rota-Token: {self.token}\r\n", count + 1
        if self.callback is not None:
            more, count = f"{more}Rota-Callback: {self.callback}\r\n", count + 1
        if self.sent_at is not None:
            count += 2
            more = f"{more}webhook-id: {self.message_id}\r\nwebhook-timestamp: {self.sent_at}\r\n"
        return (
            f"Idempotency-Key: {self.idempotency_key}\r\n"
            f"Rota-Schedule-Id: {self.schedule_id}\r\n"
            f"Rota-Firing-Id: {self.firing_id}\r\n"
            f"Rota-Scheduled-For: {self.scheduled_for}\r\n"
            f"Rota-Attempt: {self.attempt}\r\n"
            f"Rota-Catch-Up: {'true' if self.catch_up else 'false'}\r\n"
            f"{more}"
        ), count

    def signed_lines(self) -> str:
        """What the call's signature covers of them: by name, in the order of the names."""
        callback = "" if self.callback is None else f"rota-callback:{self.callback}\n"
        fence = "" if self.fence is None else f"rota-fence:{self.fence}\n"
        step = "" if self.step is None else f"\nrota-step:{self.step}"
        token = "" if self.token is None else f"\nrota-token:{self.token}"
        return (
            f"idempotency-key:{self.idempotency_key}\n"
            f"rota-attempt:{self.attempt}\n"
            f"{callback}"
            f"rota-catch-up:{'true' if self.catch_up else 'false'}\n"
            f"{fence}"
            f"rota-firing-id:{self.firing_id}\n"
            f"rota-schedule-id:{self.schedule_id}\n"
            f"rota-scheduled-for:{self.scheduled_for}"
            f"{step}{token}"
        )

    def headers(self) -> dict[str, str]:
        """The same as a mapping; without signatures, but with their place."""
        headers = {
            "Idempotency-Key": self.idempotency_key,
            "Rota-Schedule-Id": self.schedule_id,
            "Rota-Firing-Id": self.firing_id,
            "Rota-Scheduled-For": self.scheduled_for,
            "Rota-Attempt": str(self.attempt),
            "Rota-Catch-Up": "true" if self.catch_up else "false",
        }
        if self.fence is not None:
            headers["Rota-Fence"] = str(self.fence)
        if self.step is not None:
            headers[STEP_HEADER] = self.step
        if self.token is not None:
            headers[TOKEN_HEADER] = self.token
        if self.callback is not None:
            headers[CALLBACK_HEADER] = self.callback
        if self.sent_at is not None:
            headers[ID] = self.message_id
            headers[TIMESTAMP] = str(self.sent_at)
            headers[SIGNATURE] = headers[CALL_SIGNATURE] = HIDDEN
        return headers

    def shown(self) -> dict[str, str]:
        """The headers as they are remembered: whoever has the token can speak for the target."""
        headers = self.headers()
        if self.token is not None:
            headers[TOKEN_HEADER] = HIDDEN
        return headers


def facts_of(
    claim: Claim,
    definition: Definition,
    *,
    token: str | None = None,
    callback: str | None = None,
    sent_at: int | None = None,
) -> CallFacts:
    """Who calls, for which slot, and how a duplicate can be told."""
    firing, slot = ids.to_text(ids.Kind.FIRING, claim.id), instant_text(claim.scheduled_for)
    own, step = definition.idempotency_key, claim.step
    key = firing if own is None else f"{own}:{slot}"
    return CallFacts(
        firing_id=firing,
        # Each step is a request of its own, and so is what undoes it.
        idempotency_key=key if step is None else f"{key}:{step.suffix}",
        schedule_id=_schedule_text(claim.schedule_id),
        scheduled_for=slot,
        attempt=claim.attempt,
        catch_up=claim.catch_up,
        fence=claim.fence,
        step=None if step is None else step.suffix,
        token=token,
        callback=callback,
        sent_at=sent_at,
    )


def idempotency_key(claim: Claim, definition: Definition) -> str:
    """The key alone."""
    return facts_of(claim, definition).idempotency_key


@lru_cache(maxsize=10_000)
def _schedule_text(schedule_id: UUID) -> str:
    return ids.to_text(ids.Kind.SCHEDULE, schedule_id)


def instant_text(instant: datetime) -> str:
    """As `2026-03-09T13:00:00Z`."""
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    return f"{instant.isoformat()[:-6]}Z"
