"""`/v1/channels`: URLs go in and come out redacted; who may do what (NO1, S8, S10)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.db.watch_kit import VAULT, receiving, rows, sending

from rota.api.app import create
from rota.targets import OPEN, TargetPolicy
from rota.targets.policy import HIDDEN
from rota.tenants import service as tenants
from rota.tenants.secrets import Rings, Vault

if TYPE_CHECKING:
    from rota.api.engine import Engine

CANARY = "CANARY-41ab"
URL = f"https://hooks.example.com:8443/{CANARY}?token={CANARY}"


@pytest.fixture
async def engine(engine: Engine) -> Engine:
    return replace(engine, vault=VAULT, apprise=True)


async def _made(api: Api, **fields: Any) -> dict[str, Any]:
    answer = await api.post("/v1/channels", {"name": "ops", "url": URL, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a plugin of apprise
async def test_a_channel_is_made_shown_changed_and_deleted(api: Api) -> None:
    made = await _made(api, tags=["billing"])
    assert made | {"id": 0, "created_at": 0, "updated_at": 0} == {
        "id": 0,
        "name": "ops",
        "url": "https://hooks.example.com:8443/…",
        "events": ["dead", "missed", "overdue", "moved", "limit", "recovered", "installation"],
        "tags": ["billing"],
        "enabled": True,
        "created_at": 0,
        "updated_at": 0,
        "last_sent_at": None,
        "last_error": None,
    }
    path = f"/v1/channels/{made['id']}"
    assert (await api.get(path)).json() == made
    changes: dict[str, Any] = {"name": "pager", "events": ["dead"], "tags": None, "enabled": False}
    changed = (await api.patch(path, changes)).json()
    assert [changed[name] for name in changes] == ["pager", ["dead"], [], False]
    moved = (await api.patch(path, {"url": "pagerduty://key@api"})).json()
    assert (moved["url"], moved["name"]) == ("pagerduty://…", "pager")
    assert (await api.delete(path)).status_code == 204
    problem(await api.delete(path), 404)
    problem(await api.get(path), 404)


async def test_the_list_has_pages_in_the_order_of_names(api: Api) -> None:
    for name in ("b", "C", "a 9", "B"):
        await _made(api, name=name)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api.get("/v1/channels", limit=2, cursor=cursor)).json()
        seen += [each["name"] for each in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["B", "C", "a 9", "b"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"url": None}, "url"),
    ({"url": [CANARY]}, "url"),
    ({"url": CANARY}, "url"),
    ({"url": f"ftp://{CANARY}"}, "url"),
    ({"url": f"nonsense://{CANARY}"}, "url"),
    ({"url": f"json://{CANARY}"}, "url"),
    ({"url": f"https://\u00e9/{CANARY}"}, "url"),
    ({"url": f"https://host:99999/{CANARY}"}, "url"),
    ({"url": "https://x/" + CANARY * 300}, "url"),
    ({"url": f"http://169.254.169.254/{CANARY}"}, "url"),
    ({"name": None}, "name"),
    ({"name": "a/b"}, "name"),
    ({"name": "chn_1"}, "name"),
    ({"events": []}, "events"),
    ({"events": ["dead", "alive"]}, "events"),
    ({"events": "dead"}, "events"),
    ({"tags": ["a"] * 21}, "tags"),
    ({"tags": [""]}, "tags"),
    ({"enabled": "yes"}, "enabled"),
    ({"password": CANARY}, "password"),
]


async def test_what_cannot_be_a_channel_is_refused_and_not_repeated(api: Api) -> None:
    for fields, field in WRONG:
        answer = await api.post("/v1/channels", {"name": "ops", "url": URL, **fields})
        assert fields_of(answer) == [field], fields
        assert CANARY not in answer.text
    assert (await api.get("/v1/channels")).json()["items"] == []


async def test_the_guard_of_targets_is_asked_and_apprise_only_where_it_is_on(
    engine: Engine, api: Api
) -> None:
    """S1; a URL that only the sending can judge is judged there."""
    closed = replace(engine, apprise=False, targets=TargetPolicy())
    transport = httpx.ASGITransport(create(closed))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as http:
        there = Api(http, closed, api.headers)
        for url in ("http://127.0.0.1:1/x", "https://[::ffff:10.0.0.1]/", "slack://a/b/c"):
            answer = await there.post("/v1/channels", {"name": "ops", "url": url})
            assert fields_of(answer) == ["url"], url
        assert "ROTA_APPRISE" in answer.text


async def test_other_tenants_have_no_apprise_where_only_the_operator_has_it(
    engine: Engine, api: Api
) -> None:
    theirs = await caller(engine, api.http, "admin", tenant="beta")
    wanted = {"name": "ops"}
    for url in ("slack://a/b/c", "mailto://x:y@example.com"):
        answer = await theirs.post("/v1/channels", {**wanted, "url": url})
        assert fields_of(answer) == ["url"]
        assert "other services are off here" in answer.text
    opened = replace(engine, apprise_for_all=True)
    transport = httpx.ASGITransport(create(opened))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as http:
        there = Api(http, opened, theirs.headers)
        answer = await there.post("/v1/channels", {**wanted, "url": "slack://a/b/c"})
        assert "are off here" not in answer.text


async def test_other_tenants_learn_nothing_of_addresses_from_channels_and_schedules(
    engine: Engine, api: Api
) -> None:
    theirs = await caller(engine, api.http, "admin", tenant="beta")
    async with engine.db.transaction() as tx:
        operator = (await tenants.default_tenant(tx)).id
    targets = OPEN.for_others(operator, allow_private=False)
    shared = replace(engine, targets=targets)
    transport = httpx.ASGITransport(create(shared))  # pyright: ignore[reportArgumentType] - ASGI
    fields = {"name": "s", "cron_expr": "0 9 * * *", "target_url": "http://127.0.0.1:1/x"}
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as http:
        ours, there = Api(http, shared, api.headers), Api(http, shared, theirs.headers)
        # Ours first: what was read for the operator must not be good for others.
        for path, body in (
            ("/v1/schedules", fields),
            ("/v1/schedules/bulk", {"items": [{**fields, "key": "b"}]}),
            ("/v1/channels", {"name": "ops", "url": "http://127.0.0.1:1/x"}),
        ):
            made = await ours.post(path, body)
            assert made.status_code in {200, 201}, made.text
            refused = await there.post(path, body)
            assert refused.status_code == 422, refused.text
            assert HIDDEN in refused.text
            assert "loopback" not in refused.text
        assert HIDDEN in (await there.put("/v1/schedules/by-key/k", fields)).text
        made = await there.post("/v1/schedules", {**fields, "target_url": "https://a.example"})
        path = f"/v1/schedules/{made.json()['id']}"
        changed = await there.patch(path, {"target_url": "http://[::1]/"})
        assert HIDDEN in changed.text


async def test_a_name_is_used_once_and_a_request_carried_out_once(api: Api) -> None:
    one = await _made(api)
    assert fields_of(await api.post("/v1/channels", {"name": "ops", "url": URL})) == ["name"]
    two = await _made(api, name="other")
    assert fields_of(await api.patch(f"/v1/channels/{two['id']}", {"name": "ops"})) == ["name"]
    headers = api.headers | {"Idempotency-Key": "k"}
    body = {"name": "once", "url": URL}
    made = [await api.http.post("/v1/channels", json=body, headers=headers) for _ in range(2)]
    assert made[0].json() == made[1].json()
    assert one["id"] != two["id"]


async def test_without_a_key_ring_there_are_no_channels(engine: Engine, api: Api) -> None:
    off = replace(engine, vault=Vault(Rings(None)))
    transport = httpx.ASGITransport(create(off))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as http:
        there = Api(http, off, api.headers)
        answer = await there.post("/v1/channels", {"name": "ops", "url": URL})
    assert "ROTA_SECRET_KEYS" in problem(answer, 503)["detail"]


async def test_others_neither_see_nor_touch_them(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """S10: the same answer as for a channel that nobody has."""
    stranger = await caller(engine, http, "admin", tenant="another")
    theirs = f"/v1/channels/{(await _made(api))['id']}"
    nobodys = "/v1/channels/chn_01HX0000000000000000000000"
    for method, path, body in (
        ("GET", "", None),
        ("DELETE", "", None),
        ("PATCH", "", {"name": "mine"}),
        ("POST", "/test", None),
        ("GET", "/notifications", None),
    ):
        answers = [
            await http.request(method, f"{place}{path}", json=body, headers=stranger.headers)
            for place in (theirs, nobodys)
        ]
        assert [each.status_code for each in answers] == [404, 404], (method, path)
        assert answers[0].content == answers[1].content
    assert (await stranger.get("/v1/channels")).json()["items"] == []


async def test_what_concerns_the_installation_is_for_its_operator(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """Hosts and nodes are no tenant's business; nor may a lesser key lead the word elsewhere."""
    tenant = await caller(engine, http, "admin", tenant="another")
    writer = await caller(engine, http, "write")
    body = {"name": "all", "url": URL, "events": ["dead", "installation"]}
    assert "installation" not in (await _made(tenant))["events"]
    for each in (tenant, writer):
        problem(await each.post("/v1/channels", body), 403)
    path = f"/v1/channels/{(await api.post('/v1/channels', body)).json()['id']}"
    problem(await writer.patch(path, {"url": "https://mine.example/"}), 403)
    problem(await writer.delete(path), 403)
    problem(await writer.post(f"{path}/test"), 403)
    reader = await caller(engine, http, "read")
    problem(await reader.post("/v1/channels", body), 403)
    assert (await reader.get(path)).status_code == 200


async def test_a_test_is_sent_and_its_end_shown(engine: Engine, api: Api) -> None:
    async with receiving() as receiver, sending(engine.db) as sender:
        path = f"/v1/channels/{(await _made(api, url=receiver.url))['id']}"
        asked = await api.post(f"{path}/test")
        assert (asked.status_code, asked.json()["status"]) == (202, "pending")
        await sender.run_once()
        (said,) = (await api.get(f"{path}/notifications")).json()["items"]
        assert (said["id"], said["status"]) == (asked.json()["id"], "sent")
        assert (await api.get(path)).json()["last_sent_at"] is not None
        receiver.status = 500
        await api.post(f"{path}/test")
        await sender.run_once()
    page = (await api.get(f"{path}/notifications", limit=1)).json()
    assert [(each["status"], each["error"]) for each in page["items"]] == [("given_up", "HTTP 500")]
    rest = await api.get(f"{path}/notifications", limit=1, cursor=page["next_cursor"])
    assert [each["status"] for each in rest.json()["items"]] == ["sent"]
    assert (await api.get(path)).json()["last_error"] == "HTTP 500"
    assert receiver.types == ["channel.test"] * 2


async def test_a_url_shows_nowhere(engine: Engine, api: Api) -> None:
    """S7, S8: not in an answer, and not in the database."""
    made = await _made(api, url=f"https://user:{CANARY}@hooks.example.com/{CANARY}")
    path = f"/v1/channels/{made['id']}"
    seen = str(made) + (await api.get("/v1/channels")).text + (await api.get(path)).text
    seen += (await api.patch(path, {"url": URL})).text + (await api.post(f"{path}/test")).text
    seen += (await api.get(f"{path}/notifications")).text + (await api.get("/v1/alerts")).text
    for table in ("channels", "notifications", "alerts"):
        seen += str([dict(row) for row in await rows(engine.db, table)])
    assert CANARY not in seen
