"""Who may do what: every operation of the OpenAPI document, for every kind of caller (S11)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from tests.api.conftest import Api, caller, problem
from tests.api.walk import call

from rota.api import openapi, operations

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine

ANYBODY, TOKEN = "anybody", "token"
READ, WRITE, ADMIN, OPERATOR = "read", "write", "admin", "operator"

TABLE: Final[dict[str, str]] = {
    # Schedules
    "create_schedule": WRITE,
    "list_schedules": READ,
    "get_schedule": READ,
    "update_schedule": WRITE,
    "delete_schedule": WRITE,
    "put_schedule": WRITE,
    "create_schedules": WRITE,
    "pause_schedule": WRITE,
    "resume_schedule": WRITE,
    "pause_all": WRITE,
    "resume_all": WRITE,
    "trigger_schedule": WRITE,
    "backfill_schedule": WRITE,
    "list_firings": READ,
    "why": READ,
    "next_slots": READ,
    "preview_slots": READ,
    "put_calendar": WRITE,
    "list_calendars": READ,
    "get_calendar": READ,
    "delete_calendar": WRITE,
    # Firings
    "get_firing": READ,
    "list_attempts": READ,
    "list_log": READ,
    "list_audit": READ,
    "audit_slots": READ,
    "list_dead": READ,
    "replay_dead": WRITE,
    "replay_firing": WRITE,
    "cancel_firing": WRITE,
    "claim_firings": WRITE,
    "complete_firing": TOKEN,
    "fail_firing": TOKEN,
    "extend_firing": TOKEN,
    "ping_schedule": WRITE,
    "ping": TOKEN,
    "post_ping": TOKEN,
    "get_stats": READ,
    # Channels
    "create_channel": WRITE,
    "list_channels": READ,
    "get_channel": READ,
    "update_channel": WRITE,
    "delete_channel": WRITE,
    "test_channel": WRITE,
    "list_notifications": READ,
    "list_alerts": READ,
    # Secrets
    "put_secret": WRITE,
    "list_secrets": READ,
    "delete_secret": WRITE,
    "get_signing_secret": ADMIN,
    "rotate_signing_secret": ADMIN,
    # Administration: an admin of any tenant for its own, the operator for all
    "create_tenant": OPERATOR,
    "list_tenants": ADMIN,
    "get_tenant": ADMIN,
    "update_tenant": OPERATOR,
    "delete_tenant": OPERATOR,
    "create_key": ADMIN,
    "list_keys": ADMIN,
    "delete_key": ADMIN,
    "create_sign_in_link": READ,
    "list_circuits": OPERATOR,
    "reset_circuit": OPERATOR,
    "get_cluster": OPERATOR,
    "healthz": ANYBODY,
    "readyz": ANYBODY,
}
"""The least that a caller needs for an operation. One that is missing here is an operation whose
rights nobody has thought about."""

ROLES: Final = ("nobody", READ, WRITE, ADMIN, OPERATOR)
_RANK: Final = {role: rank for rank, role in enumerate(ROLES)}


def expected(need: str, role: str) -> set[int] | None:
    """The statuses with which it is refused; None when it is not."""
    if need == ANYBODY:
        return None
    if need == TOKEN:
        # No key of any kind stands for a token, and there is none of nobody's firing.
        return {403, 404}
    if role == "nobody":
        return {401}
    return None if _RANK[role] >= _RANK[need] else {403}


def test_every_operation_of_the_document_is_in_the_table_and_no_other() -> None:
    documented = {
        operation["operationId"]
        for methods in openapi.document()["paths"].values()
        for operation in methods.values()
    }
    assert sorted(documented) == sorted(TABLE), "say in TABLE who may call it"
    assert {each.name for each in operations.ALL} == documented


def test_the_document_says_the_same_scopes() -> None:
    scopes = {ANYBODY: None, TOKEN: None, OPERATOR: ADMIN}
    for methods in openapi.document()["paths"].values():
        for operation in methods.values():
            need = TABLE[operation["operationId"]]
            assert operation.get("x-scope") == scopes.get(need, need), operation["operationId"]


async def test_every_operation_is_open_to_whom_the_table_says_and_to_nobody_else(
    engine: Engine, http: httpx.AsyncClient
) -> None:
    callers = {
        "nobody": Api(http, engine, {}),
        READ: await caller(engine, http, "read", tenant="a"),
        WRITE: await caller(engine, http, "write", tenant="b"),
        ADMIN: await caller(engine, http, "admin", tenant="c"),
        OPERATOR: await caller(engine, http, "admin"),
    }
    wrong: list[tuple[Any, ...]] = []
    for operation in operations.ALL:
        need = TABLE[operation.name]
        for role, api in callers.items():
            names = await _own_tenant(api, role) if "tenant_id" in operation.path else {}
            answer = await call(api, operation, **names)
            refused = expected(need, role)
            status = answer.status_code
            if status not in (refused or ()) and (refused or status in {401, 403}):
                wrong.append((operation.name, role, status, refused))
            if status == HTTPStatus.UNAUTHORIZED:
                problem(answer, 401)
                assert answer.headers["www-authenticate"].startswith("Bearer")
    assert wrong == []


async def _own_tenant(api: Api, role: str) -> dict[str, str]:
    """Of another tenant an admin would not even hear that it may not change it."""
    if role not in (ADMIN, OPERATOR):
        return {}
    return {"tenant_id": (await api.get("/v1/tenants")).json()["items"][0]["id"]}
