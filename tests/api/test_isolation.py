"""Nothing of one tenant is known to another: every operation, three ways (S10, TN1).

With a name of its own, with another tenant's, and with one that nobody has: the last two are
answered alike, byte for byte.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, LiteralString, cast

import pytest
from tests.api.conftest import SCHEDULE, Api, caller
from tests.api.walk import NOBODYS, call, names_in
from tests.db.secrets_kit import vault
from tests.db.walls_kit import TENANT_TABLES

from rota.api import operations

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine
    from rota.db import Tx

CANARY = "canary-7731"

BY_NAME = sorted(
    (each for each in operations.ALL if names_in(each)),
    # What makes a thing of the caller's own comes last, or it would be found by the others.
    key=lambda each: each.method == "put",
)
LISTS = [each for each in operations.ALL if not names_in(each) and each.method == "get"]

STATUSES = {"claim_firings": 200, "reset_circuit": 403} | dict.fromkeys(
    ("complete_firing", "fail_firing", "extend_firing"), 403
)
"""What a stranger gets, where it is not 404: nothing in the queue; not the operator; no token."""

OPERATORS = {"reset_circuit", "update_tenant", "delete_tenant"}
"""What not even the owner may do."""

CHANGING = {"now", "checked_at", "lag_seconds"}
"""Fields that differ from one call to the next."""

REFERENCES: list[tuple[str, str, str]] = [
    # Method, address, body or query: {schedule} and the like are a stranger's or nobody's.
    ("get", "/v1/schedules", '{{"key": "{key}"}}'),
    ("get", "/v1/schedules", '{{"name": "{name}"}}'),
    ("get", "/v1/schedules", '{{"q": "{key}"}}'),
    ("get", "/v1/schedules", '{{"tag": "{key}"}}'),
    ("get", "/v1/firings", '{{"schedule_id": "{schedule_id}"}}'),
    ("get", "/v1/audit", '{{"schedule": "{schedule_id}"}}'),
    ("get", "/v1/audit/slots", '{{"schedule_id": "{schedule_id}"}}'),
    ("get", "/v1/audit", '{{"schedule": "{key}"}}'),
    ("get", "/v1/dead", '{{"schedule_id": "{schedule_id}"}}'),
    ("get", "/v1/keys", '{{"tenant": "{tenant_id}"}}'),
    ("get", "/v1/keys", '{{"tenant": "{tenant}"}}'),
    ("post", "/v1/keys", '{{"scopes": ["read"], "tenant": "{tenant_id}"}}'),
    ("post", "/v1/keys", '{{"scopes": ["read"], "tenant": "{tenant}"}}'),
    ("post", "/v1/dead/replay", '{{"schedule_id": "{schedule_id}"}}'),
    ("post", "/v1/dead/replay", '{{"ids": ["{firing_id}"]}}'),
    ("post", "/v1/pause", '{{"tag": "{key}"}}'),
    ("post", "/v1/resume", '{{"tag": "{key}"}}'),
]

ELSEWHERE = {
    "create_schedule": "test_the_same_key_is_free_for_every_tenant",
    "create_schedules": "test_the_same_key_is_free_for_every_tenant",
    "preview_slots": "reads nothing that is stored",
    "rotate_signing_secret": "has no name in it",
    "create_channel": "makes one of the caller's own",
    "create_sign_in_link": "signs in with the rights of the caller's own key (test_sessions.py)",
    "create_tenant": "for the operator alone (test_scopes.py)",
}
"""Operations without a name in their path that are not in REFERENCES, and where they are shown."""


@dataclass(frozen=True)
class Owner:
    """A tenant that has one of everything, and what each is called."""

    api: Api
    names: dict[str, str]


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    return replace(engine, vault=vault())


@pytest.fixture
async def stranger(engine: Engine, http: httpx.AsyncClient) -> Api:
    return await caller(engine, http, "admin", tenant="stranger")


@pytest.fixture
async def owner(engine: Engine, http: httpx.AsyncClient) -> Owner:
    api = await caller(engine, http, "admin", tenant=f"{CANARY}-tenant")
    return Owner(api, await belongings(api))


async def belongings(api: Api) -> dict[str, str]:
    """One of everything that has a name, by what the name is called in a path."""
    made = await api.created(name=CANARY, key=CANARY, tags=[CANARY])
    task: dict[str, Any] = {"target_url": None, "job_type": "t", "queue": CANARY}
    queued = await api.created(**task, name=CANARY, key=f"{CANARY}-task")
    firing = (await api.post(f"/v1/schedules/{made['id']}/trigger")).json()
    await api.post(f"/v1/schedules/{queued['id']}/trigger")
    name = CANARY.replace("-", "_")
    for operation in operations.ALL:
        if operation.method == "put" and operation.name != "put_schedule":
            assert (await call(api, operation, name=name)).is_success, operation.name
    target = {"name": CANARY, "url": "https://acme.example/hook"}
    channel = (await api.post("/v1/channels", target)).json()
    # Not the one that it speaks with.
    key = (await api.post("/v1/keys", {"scopes": ["read"], "name": CANARY})).json()
    return {
        "schedule_id": made["id"],
        "firing_id": firing["id"],
        "tenant_id": key["tenant"],
        "tenant": f"{CANARY}-tenant",
        "key_id": key["id"],
        "channel_id": channel["id"],
        "key": CANARY,
        "name": name,
        "queue": CANARY,
        "host": "acme.example",
    }


async def test_what_others_own_is_like_what_nobody_has(owner: Owner, stranger: Api) -> None:
    before = await rows_of(owner)
    for operation in BY_NAME:
        theirs = await call(stranger, operation, **owner.names)
        nobodys = await call(stranger, operation)
        statuses = [theirs.status_code, nobodys.status_code]
        assert headers_of(theirs) == headers_of(nobodys), operation.name
        if operation.method == "put":
            assert statuses[0] == statuses[1] in {200, 201}, operation.name
            assert theirs.json().keys() == nobodys.json().keys()
        else:
            assert statuses == [STATUSES.get(operation.name, 404)] * 2, operation.name
            assert theirs.content == nobodys.content, operation.name
            assert CANARY not in theirs.text
    assert await rows_of(owner) == before


async def test_lists_counts_and_searches_are_as_if_there_were_nobody_else(
    engine: Engine, http: httpx.AsyncClient, stranger: Api
) -> None:
    before = {each.name: steady(await call(stranger, each)) for each in LISTS}
    api = await caller(engine, http, "admin", tenant=f"{CANARY}-tenant")
    await belongings(api)
    for operation in LISTS:
        after = steady(await call(stranger, operation))
        assert after == before[operation.name], operation.name
        assert CANARY not in after


async def test_a_reference_to_what_others_own_is_one_to_nothing(
    owner: Owner, stranger: Api
) -> None:
    before = await rows_of(owner)
    nobodys = {**NOBODYS, "tenant": "nobodys"}
    for method, path, form in REFERENCES:
        answers: list[httpx.Response] = []
        for names in (owner.names, nobodys):
            given = json.loads(form.format(**names))
            sent: dict[str, Any] = {"params" if method == "get" else "json": given}
            answers.append(
                await stranger.http.request(method, path, headers=stranger.headers, **sent)
            )
        theirs, nobody = answers
        assert theirs.status_code == nobody.status_code, (method, path, form)
        assert theirs.content == nobody.content, (method, path, form)
        assert headers_of(theirs) == headers_of(nobody)
        assert theirs.json().get("items", []) == [], (method, path, form)
    assert await rows_of(owner) == before


async def test_ones_own_is_there_by_the_same_names(owner: Owner) -> None:
    """Or the others would prove nothing."""
    last = sorted(BY_NAME, key=lambda each: each.method == "delete")
    for operation in last:
        answer = await call(owner.api, operation, **owner.names)
        refused = operation.scope is None or operation.name in OPERATORS
        # By its state, or by what was sent; never because there is none.
        assert (answer.status_code in {401, 403, 404}) == refused, (operation.name, answer.text)


async def test_the_same_key_is_free_for_every_tenant(owner: Owner, stranger: Api) -> None:
    """A key, a name and an Idempotency-Key of another tenant are in nobody's way."""
    body = SCHEDULE | {"name": CANARY, "key": CANARY}
    del body["idempotency_key"]
    headers = {"Idempotency-Key": "the-same"}
    answers = [
        await api.http.post("/v1/schedules", json=body, headers=api.headers | headers)
        for api in (replace(owner.api), stranger)
    ]
    assert [each.status_code for each in answers] == [409, 201]
    bulk = await stranger.post("/v1/schedules/bulk", [body | {"key": f"{CANARY}-task"}])
    assert bulk.status_code == 201


def test_every_operation_is_walked() -> None:
    """A new one is compared as well, or it says why not."""
    addressed = {(method, path) for method, path, _ in REFERENCES}
    missing = [
        each.name
        for each in operations.ALL
        if not names_in(each)
        and each.method != "get"
        and (each.method, each.path) not in addressed
        and each.name not in ELSEWHERE
    ]
    assert missing == [], "add them to REFERENCES or ELSEWHERE"


def headers_of(answer: httpx.Response) -> dict[str, str]:
    """All but the date, and how long an answer is that holds a name of one's own."""
    skipped = {"date"} if answer.is_error else {"date", "content-length"}
    return {name: value for name, value in answer.headers.items() if name not in skipped}


def steady(answer: httpx.Response) -> str:
    """The answer without what changes by itself."""
    body: dict[str, Any] = answer.json()
    return f"{answer.status_code} {[(k, v) for k, v in body.items() if k not in CHANGING]}"


async def rows_of(owner: Owner) -> dict[str, str]:
    """All that the owner has, by table."""
    async with owner.api.engine.db.transaction(read_only=True) as tx:
        tables = [row["relname"] for row in await tx.fetch(TENANT_TABLES)]
        return {table: await _rows(tx, owner, table) for table in tables if table != "api_keys"}


async def _rows(tx: Tx, owner: Owner, table: str) -> str:
    text = cast(
        "LiteralString",
        f"SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM {table} t "
        "WHERE t.tenant_id = (SELECT id FROM tenants WHERE name = $1)",
    )
    return str(await tx.fetch_value(text, owner.names["tenant"]))
