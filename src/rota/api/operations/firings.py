"""Operations on firings: what became of them, and what may be done about it."""

from __future__ import annotations

from rota.api.operations.operation import (
    AWAY,
    KEY,
    LARGE,
    SLOW,
    STATE,
    UNKNOWN,
    WRONG,
    Operation,
    read,
)
from rota.history.log import GROUPS
from rota.history.queries import STATUSES
from rota.schedules.audit import ACTIONS

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
        problems=(_TOKEN, STATE, *LARGE, WRONG, AWAY),
    )


FIRINGS = (
    read(
        "list_audit",
        "/v1/audit",
        "Who changed which schedule, when, from where and what, the newest first.",
        "AuditPage",
        *("schedule", "actor", "action", "since", "limit", "cursor"),
        choices={"action": ACTIONS},
    ),
    read(
        "audit_slots",
        "/v1/audit/slots",
        "Expected slots against outcomes: how many each schedule had, and which are unexplained.",
        "SlotAuditPage",
        *("schedule_id", "since", "until", "limit", "cursor"),
    ),
    read(
        "list_log",
        "/v1/firings",
        "All firings: the live ones first, then those that ended, the newest end first.",
        "FiringPage",
        *("since", "status", "schedule_id", "limit", "cursor"),
        choices={"status": (*STATUSES, *GROUPS)},
    ),
    read(
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
        problems=(*KEY, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="replay_firing",
        method="post",
        path="/v1/firings/{firing_id}/replay",
        summary="Repeat a firing that has ended: a new one, which names it.",
        scope="write",
        answer="Firing",
        status=202,
        problems=(*KEY, UNKNOWN, STATE, WRONG, AWAY),
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
        also=(202,),
        problems=(*KEY, UNKNOWN, STATE, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="claim_firings",
        method="post",
        path="/v1/queues/{queue}/claim",
        summary="Take work of a queue, at once or, with `wait`, as soon as there is some.",
        scope="write",
        body="ClaimFields",
        optional_body=True,
        answer="ClaimResult",
        problems=(*KEY, *LARGE, WRONG, SLOW, AWAY),
    ),
    _work("complete", "The work is done; the result is kept with the firing.", "CompleteFields"),
    _work(
        "fail",
        "The work has failed: it is tried again as its schedule says, unless that is no use.",
        "FailFields",
    ),
    _work("extend", "The work takes longer.", "ExtendFields"),
)
