"""Every operation of the API, with what the OpenAPI document says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rota.tenants.tenant import Scope

_AWAY = (503, "The database is away; try again")
_KEY = ((401, "No key, or one that is not in force"), (403, "A key without the scope"))
_UNKNOWN = (404, "There is no such thing of yours")
_WRONG = (422, "Something in the request cannot be taken; `errors` says what")
_SLOW = (429, "Faster than the tenant may; Retry-After says when to go on")
_TAKEN = (409, "Another schedule has this key")
_LARGE = ((400, "Not JSON"), (413, "Too large"), (415, "Not declared as JSON"))

PARAMETERS = {
    "limit": ("integer", "How many items a page has, up to 1,000."),
    "cursor": ("string", "The next_cursor of the page before."),
    "status": ("string", "Only those of this status."),
    "enabled": ("boolean", "Only those that are, or are not, paused."),
    "job_type": ("string", "Only those that run this task."),
    "tag": ("string", "Only those with this tag."),
    "key": ("string", "Only the one with this key."),
    "name": ("string", "Only those of exactly this name."),
    "q": ("string", "Only those that contain this in name, key, description or target."),
    "partial": ("boolean", "Create what can be created, with a result for each item."),
    "at": ("string", "The slot; without an offset, on the wall clock of the schedule's zone."),
    "count": ("integer", "How many."),
    "tenant": ("string", "Whose, by id or name; the caller's own unless given."),
    "after": ("string", "From when on; now unless given."),
    "schedule_id": ("string", "Only those of this schedule."),
    "since": ("string", "Only slots from this instant on."),
    "until": ("string", "Only slots before this instant."),
}


HEADERS = {
    "Idempotency-Key": "The same request with the same key is carried out once, within a day.",
    "If-Match": "The ETag of the schedule as the caller knows it; another version is a 412.",
}
_ONCE = ("Idempotency-Key",)
_VERSION = ("If-Match",)
_CHANGED = (412, "It is not of the version in If-Match")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. `body` and `answer` name schemas of the document."""

    name: str
    method: Literal["get", "post", "put", "patch", "delete"]
    path: str
    summary: str
    scope: Scope | None = None
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    body: str | None = None
    optional_body: bool = False
    answer: str | None = None
    status: int = 200
    problems: tuple[tuple[int, str], ...] = ()


def _read(name: str, path: str, summary: str, answer: str, *query: str) -> Operation:
    return Operation(
        name=name,
        method="get",
        path=path,
        summary=summary,
        scope="read",
        query=query,
        answer=answer,
        problems=(*_KEY, *((_UNKNOWN,) if "{" in path else ()), _WRONG, _AWAY),
    )


def _control(verb: str, summary: str) -> Operation:
    return Operation(
        name=f"{verb}_schedule",
        headers=_ONCE,
        method="post",
        path=f"/v1/schedules/{{schedule_id}}/{verb}",
        summary=summary,
        scope="write",
        answer="Schedule",
        problems=(*_KEY, _UNKNOWN, _WRONG, _AWAY),
    )


_SCHEDULES = (
    Operation(
        name="create_schedule",
        headers=_ONCE,
        method="post",
        path="/v1/schedules",
        summary="Create a schedule.",
        scope="write",
        body="ScheduleFields",
        answer="Schedule",
        status=201,
        problems=(*_KEY, _TAKEN, *_LARGE, _WRONG, _SLOW, _AWAY),
    ),
    _read(
        "list_schedules",
        "/v1/schedules",
        "List, filter and search schedules, the newest first.",
        "SchedulePage",
        *("enabled", "job_type", "tag", "status", "q", "key", "name", "limit", "cursor"),
    ),
    _read("get_schedule", "/v1/schedules/{schedule_id}", "One schedule.", "Schedule"),
    Operation(
        name="update_schedule",
        headers=_VERSION,
        method="patch",
        path="/v1/schedules/{schedule_id}",
        summary="Change the fields given; null takes one back to its default. Re-arms from now.",
        scope="write",
        body="ScheduleChanges",
        answer="Schedule",
        problems=(_CHANGED, *_KEY, _UNKNOWN, _TAKEN, *_LARGE, _WRONG, _AWAY),
    ),
    Operation(
        name="delete_schedule",
        headers=_VERSION,
        method="delete",
        path="/v1/schedules/{schedule_id}",
        summary="Delete a schedule; its history stays.",
        scope="write",
        status=204,
        problems=(_CHANGED, *_KEY, _UNKNOWN, _WRONG, _AWAY),
    ),
    Operation(
        name="put_schedule",
        headers=_VERSION,
        method="put",
        path="/v1/schedules/by-key/{key}",
        summary="Create the schedule with this key, or make it what is given.",
        scope="write",
        body="ScheduleFields",
        answer="Schedule",
        problems=(_CHANGED, *_KEY, *_LARGE, _WRONG, _SLOW, _AWAY),
    ),
    Operation(
        name="create_schedules",
        headers=_ONCE,
        method="post",
        path="/v1/schedules/bulk",
        summary="Create up to 10,000 schedules: all or none, or with a result for each.",
        scope="write",
        query=("partial",),
        body="BulkFields",
        answer="BulkResult",
        status=201,
        problems=(*_KEY, _TAKEN, *_LARGE, _WRONG, _SLOW, _AWAY),
    ),
)

_CONTROLS = (
    _control("pause", "Stop it until it is resumed."),
    _control("resume", "Let it run again, from now on."),
    Operation(
        name="trigger_schedule",
        headers=_ONCE,
        method="post",
        path="/v1/schedules/{schedule_id}/trigger",
        summary="Run it now, once, beside its own slots.",
        scope="write",
        body="TriggerFields",
        optional_body=True,
        answer="Firing",
        status=202,
        problems=(*_KEY, _UNKNOWN, *_LARGE, _WRONG, _AWAY),
    ),
    Operation(
        name="backfill_schedule",
        method="post",
        path="/v1/schedules/{schedule_id}/backfill",
        summary="Fire the slots of a past range, up to 1,000, one after another.",
        scope="write",
        headers=_ONCE,
        body="BackfillFields",
        answer="Backfilled",
        status=202,
        problems=(*_KEY, _UNKNOWN, *_LARGE, _WRONG, _AWAY),
    ),
)

_READS = (
    _read(
        "list_firings",
        "/v1/schedules/{schedule_id}/firings",
        "Its firings, the newest first, live ones included.",
        "FiringPage",
        *("status", "limit", "cursor"),
    ),
    _read(
        "why",
        "/v1/schedules/{schedule_id}/why",
        "What became of a slot, and why.",
        "Why",
        "at",
    ),
    _read(
        "next_slots",
        "/v1/schedules/{schedule_id}/next",
        "The next slots, with zone, UTC and clock-change notes.",
        "Upcoming",
        *("count", "after"),
    ),
    Operation(
        name="preview_slots",
        method="post",
        path="/v1/preview",
        summary="The next slots of a trigger that is not stored anywhere.",
        scope="read",
        body="PreviewFields",
        answer="Upcoming",
        problems=(*_KEY, *_LARGE, _WRONG),
    ),
    _read("get_firing", "/v1/firings/{firing_id}", "One firing, live or ended.", "Firing"),
    _read(
        "list_attempts",
        "/v1/firings/{firing_id}/attempts",
        "Every try of a firing, with request and response.",
        "AttemptPage",
    ),
)

_NO_RING = (503, "The database is away, or there is no key ring; the sentence says which")

_SECRETS = (
    Operation(
        name="put_secret",
        method="put",
        path="/v1/secrets/{name}",
        summary="Make the secret of this name, or give it a new value.",
        scope="write",
        body="SecretFields",
        answer="Secret",
        problems=(*_KEY, *_LARGE, _WRONG, _NO_RING),
    ),
    _read(
        "list_secrets",
        "/v1/secrets",
        "List the secrets by name, without their values.",
        "SecretPage",
        *("limit", "cursor"),
    ),
    Operation(
        name="delete_secret",
        method="delete",
        path="/v1/secrets/{name}",
        summary="Delete a secret; what wants it fails from then on.",
        scope="write",
        status=204,
        problems=(*_KEY, _UNKNOWN, _AWAY),
    ),
    Operation(
        name="get_signing_secret",
        method="get",
        path="/v1/signing-secret",
        summary="The tenant's signing secret; made when it is first asked for.",
        scope="admin",
        answer="SigningSecretShown",
        problems=(*_KEY, _NO_RING),
    ),
    Operation(
        name="rotate_signing_secret",
        method="post",
        path="/v1/signing-secret/rotate",
        summary="Make a new signing secret; the one before signs beside it for a while.",
        scope="admin",
        body="RotateFields",
        optional_body=True,
        answer="SigningSecretShown",
        problems=(*_KEY, *_LARGE, _WRONG, _NO_RING),
    ),
)

_STATE = (409, "Its state does not allow it; `detail` says which it is")
_TOKEN = (403, "No token of this firing's attempt")


def _work(verb: str, summary: str, body: str) -> Operation:
    return Operation(
        name=f"{verb}_firing",
        method="post",
        path=f"/v1/firings/{{firing_id}}/{verb}",
        summary=summary,
        body=body,
        optional_body=True,
        answer="Completion",
        problems=(_TOKEN, _STATE, *_LARGE, _WRONG, _AWAY),
    )


_OUTCOMES = (
    _read(
        "list_dead",
        "/v1/dead",
        "The dead letters, the newest slot first.",
        "FiringPage",
        *("schedule_id", "since", "until", "limit", "cursor"),
    ),
    Operation(
        name="replay_dead",
        method="post",
        path="/v1/dead/replay",
        summary="Repeat the dead letters that fit and have no replay yet, or the firings named.",
        scope="write",
        body="ReplayFields",
        optional_body=True,
        answer="ReplayResult",
        status=202,
        problems=(*_KEY, *_LARGE, _WRONG, _AWAY),
    ),
    Operation(
        name="replay_firing",
        method="post",
        path="/v1/firings/{firing_id}/replay",
        summary="Repeat a firing that has ended: a new one, which names it.",
        scope="write",
        answer="Firing",
        status=202,
        problems=(*_KEY, _UNKNOWN, _STATE, _WRONG, _AWAY),
    ),
    Operation(
        name="cancel_firing",
        method="post",
        path="/v1/firings/{firing_id}/cancel",
        summary="End a firing: at once when no worker has it (200), else within a second (202).",
        scope="write",
        body="CancelFields",
        optional_body=True,
        answer="Firing",
        problems=(*_KEY, _UNKNOWN, _STATE, *_LARGE, _WRONG, _AWAY),
    ),
    _work("complete", "The work is done; the result is kept with the firing.", "CompleteFields"),
    _work(
        "fail",
        "The work has failed: it is tried again as its schedule says, unless that is no use.",
        "FailFields",
    ),
    _work("extend", "The work takes longer.", "ExtendFields"),
)

_OPERATING = (
    Operation(
        name="healthz",
        method="get",
        path="/healthz",
        summary="Whether the process answers.",
        answer="Health",
    ),
    Operation(
        name="readyz",
        method="get",
        path="/readyz",
        summary="Whether the process can serve: 503 while the database is away or it stops.",
        answer="Health",
        problems=((503, "Not ready"),),
    ),
)

_ADMIN = (*_KEY, _WRONG, _AWAY)

_ADMINISTERING = (
    Operation(
        name="create_tenant",
        method="post",
        path="/v1/tenants",
        summary="Make a tenant.",
        scope="admin",
        body="TenantFields",
        answer="Tenant",
        status=201,
        problems=(*_ADMIN, _STATE, *_LARGE),
    ),
    Operation(
        name="list_tenants",
        method="get",
        path="/v1/tenants",
        summary="List the tenants, the oldest first.",
        scope="admin",
        query=("limit", "cursor"),
        answer="TenantPage",
        problems=_ADMIN,
    ),
    Operation(
        name="get_tenant",
        method="get",
        path="/v1/tenants/{tenant_id}",
        summary="One tenant.",
        scope="admin",
        answer="Tenant",
        problems=(*_ADMIN, _UNKNOWN),
    ),
    Operation(
        name="update_tenant",
        method="patch",
        path="/v1/tenants/{tenant_id}",
        summary="Change the fields given; null takes one back to its default.",
        scope="admin",
        body="TenantChanges",
        answer="Tenant",
        problems=(*_ADMIN, _UNKNOWN, _STATE, *_LARGE),
    ),
    Operation(
        name="delete_tenant",
        method="delete",
        path="/v1/tenants/{tenant_id}",
        summary="End a tenant that has no schedules, with its keys and secrets.",
        scope="admin",
        status=204,
        problems=(*_ADMIN, _UNKNOWN, _STATE),
    ),
    Operation(
        name="create_key",
        method="post",
        path="/v1/keys",
        summary="Make a key; its text is shown this once.",
        scope="admin",
        body="KeyFields",
        answer="NewKey",
        status=201,
        problems=(*_ADMIN, *_LARGE),
    ),
    Operation(
        name="list_keys",
        method="get",
        path="/v1/keys",
        summary="List a tenant's keys, without their secrets.",
        scope="admin",
        query=("tenant", "limit", "cursor"),
        answer="KeyPage",
        problems=_ADMIN,
    ),
    Operation(
        name="delete_key",
        method="delete",
        path="/v1/keys/{key_id}",
        summary="Revoke a key; refused everywhere within a second.",
        scope="admin",
        status=204,
        problems=(*_ADMIN, _UNKNOWN, _STATE),
    ),
)

_CIRCUITS = (
    Operation(
        name="list_circuits",
        method="get",
        path="/v1/circuits",
        summary="List the hosts that fail, by name.",
        scope="admin",
        query=("limit", "cursor"),
        answer="CircuitPage",
        problems=_ADMIN,
    ),
    Operation(
        name="reset_circuit",
        method="delete",
        path="/v1/circuits/{host}",
        summary="Forget a host's failures: it is called again at once.",
        scope="admin",
        status=204,
        problems=(*_KEY, (404, "Nothing is held against this host"), _AWAY),
    ),
)

ALL = (
    *_SCHEDULES,
    *_CONTROLS,
    *_READS,
    *_OUTCOMES,
    *_SECRETS,
    *_ADMINISTERING,
    *_OPERATING,
    *_CIRCUITS,
)
