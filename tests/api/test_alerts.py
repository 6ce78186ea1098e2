"""`/v1/alerts`: the troubles there are; a tenant's own, and the installation's for its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.api.conftest import Api, caller, fields_of
from tests.db.queue_support import make_schedule
from tests.db.watch_kit import end, notice, run, watch

if TYPE_CHECKING:
    import httpx

    from rota.api.engine import Engine


async def _listed(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = await api.get("/v1/alerts", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_alerts_are_listed_by_whose_they_are(
    engine: Engine, http: httpx.AsyncClient, api: Api
) -> None:
    """RT5, MO8, S10: hosts and nodes are shown to the operator alone."""
    schedule = await make_schedule(engine.db)
    async with engine.db.transaction() as tx:
        await tx.execute(
            "UPDATE schedules SET tenant_id = (SELECT id FROM tenants WHERE name = 'default')"
        )
        tenant = await tx.fetch_value("SELECT tenant_id FROM schedules")
        await tx.execute(
            """INSERT INTO circuits (host, failures, opened_at, open_until)
               VALUES ('down.example', 20, now(), now())"""
        )
    for _ in range(3):
        await end(engine.db, schedule)
    await run(engine.db, "UPDATE unnoticed SET tenant_id = $1", tenant)
    await notice(engine.db)
    await watch(engine.db)
    circuit, dead = await _listed(api)
    assert (dead["kind"], dead["count"], dead["schedule_name"]) == ("dead", 3, schedule.name)
    assert (circuit["kind"], circuit["subject"], circuit["installation"]) == (
        "circuit",
        "down.example",
        True,
    )
    page = (await api.get("/v1/alerts", limit=1)).json()
    assert page["items"] == [circuit]
    assert (await api.get("/v1/alerts", cursor=page["next_cursor"])).json()["items"] == [dead]
    assert await _listed(api, kind="dead") == [dead]
    assert await _listed(api, open="false") == []
    reader = await caller(engine, http, "read")
    assert [each["kind"] for each in await _listed(reader)] == ["dead"]
    stranger = await caller(engine, http, "admin", tenant="another")
    assert await _listed(stranger) == []


async def test_what_cannot_be_asked_for_is_refused(api: Api) -> None:
    assert fields_of(await api.get("/v1/alerts", kind="odd")) == ["kind"]
    assert fields_of(await api.get("/v1/alerts", open="maybe")) == ["open"]
    assert fields_of(await api.get("/v1/alerts", cursor="IjAi")) == ["cursor"]
