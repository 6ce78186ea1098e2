"""The circuit of one host for one tenant, as a state machine. Pure.

    closed ──failures in a row──▶ open ──time──▶ half-open ──one probe──▶ closed
                                   ▲                            │
                                   └────── for longer ◀── failed ┘

Only a probe decides about an open circuit. Attempts that were under way when it opened end in one
way or the other, and say nothing that is not known: their failures are counted, no more.

`rota.queue.circuits` is the same machine on rows; a test holds the two together.

What an open circuit means to other tenants follows from all circuits of the host (`wide_open`):
nothing, unless its failures cannot be its tenant's own doing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, timedelta

    from rota.queue.circuits import Circuit, Heard, Reach, Rules

State = Literal["closed", "open", "half_open"]

_MAX_DOUBLINGS = 20


def state_of(circuit: Circuit, now: datetime) -> State:
    """Open while it is to be left alone; half-open when one may try."""
    if circuit.open_until is None:
        return "closed"
    return "open" if now < circuit.open_until else "half_open"


def may_probe(circuit: Circuit, now: datetime) -> bool:
    """Whether nobody is known to be trying a half-open one."""
    return state_of(circuit, now) == "half_open" and (
        circuit.probe_until is None or circuit.probe_until <= now
    )


def after(circuit: Circuit, heard: Heard, now: datetime, rules: Rules) -> Circuit | None:
    """What becomes of it; None when the host has answered, and nothing is held against it."""
    closed = circuit.open_until is None
    if heard.probe == "answered" or (closed and heard.answered and not heard.failures):
        return None
    since = replace(circuit, failures=0, shared=0, refused=0) if heard.answered else circuit
    since = since if closed else circuit
    counted = replace(
        circuit,
        failures=since.failures + heard.failures,
        shared=since.shared + heard.shared,
        refused=since.refused + heard.refused,
    )
    if counted.failures >= rules.failures if closed else heard.probe == "failed":
        return _opened(counted, heard.retry_after, now, rules)
    if heard.failures and circuit.open_until is not None and now < circuit.open_until:
        # Who says when to come back is believed, within reason.
        asked = now + min(heard.retry_after, rules.longest)
        counted = replace(counted, open_until=max(circuit.open_until, asked))
    return replace(counted, probe_until=None) if heard.probe == "void" else counted


def reach_of(circuit: Circuit, rules: Rules) -> Reach:
    """Whom it concerns when it opens: as many failures of a kind as open it go that far."""
    if circuit.refused >= rules.failures:
        return "host"
    return "shared" if circuit.shared >= rules.failures else "tenant"


def wide_open(circuits: Iterable[Circuit]) -> Circuit | None:
    """Of one host's circuits, the one that says until when all tenants leave the host alone.

    The last to end of those that reach all by themselves, or of the others that go beyond their
    tenant the last but one: when it ends, no two tenants say the same any more.
    """
    far = sorted(
        (
            (each.open_until, each.tenant_id, each)
            for each in circuits
            if each.reach != "tenant" and each.open_until is not None
        ),
        reverse=True,
    )
    if not far or far[0][2].reach == "host":
        return far[0][2] if far else None
    return far[1][2] if len(far) > 1 else None


def keep_to_tenant(circuit: Circuit) -> Circuit:
    """The host has answered another tenant: what failed is its own tenant's affair."""
    return replace(circuit, shared=0, refused=0, reach="tenant")


def open_for(trips: int, retry_after: timedelta, rules: Rules) -> timedelta:
    """How long, when it has opened `trips` times before without an answer in between."""
    doubled = rules.interval * 2 ** min(trips, _MAX_DOUBLINGS)
    return min(rules.longest, max(doubled, retry_after))


def _opened(circuit: Circuit, retry_after: timedelta, now: datetime, rules: Rules) -> Circuit:
    return replace(
        circuit,
        reach=reach_of(circuit, rules),
        trips=circuit.trips + 1,
        opened_at=now,
        open_until=now + open_for(circuit.trips, retry_after, rules),
        probe_until=None,
    )
