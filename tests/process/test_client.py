"""`rota.Client` and `rota.AsyncClient` beside a real server: every method, with both."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.deadlines import patience
from tests.ports import reserve_port
from tests.process.client_target import Target, target
from tests.process.serving import Server, serving

import rota
from rota.db import embedded
from rota.sdk.client import (
    AsyncItems,
    Conflict,
    Firing,
    Forbidden,
    Invalid,
    Items,
    NotFound,
    PreconditionFailed,
    Schedule,
    Unauthorized,
)

if TYPE_CHECKING:
    from collections.abc import Generator


GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/python-client.md"
NEVER = "0 0 1 1 *"
OWN = {"send", "close", "aclose"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    home = tmp_path_factory.mktemp("client")
    with serving(home) as made:
        yield made
    asyncio.run(embedded.remove(_data_dir(home)))


def _data_dir(home: Path) -> Path:
    return home / ".local" / "share" / "rota"


class Asking:
    """Either client, asked in the same way; it remembers which methods were used."""

    def __init__(self, client: rota.Client | rota.AsyncClient) -> None:
        self.client = client
        self.used: set[str] = set()

    async def __call__(self, name: str, /, *args: Any, **more: Any) -> Any:
        self.used.add(name)
        answer = getattr(self.client, name)(*args, **more)
        if isinstance(answer, Items):
            return list(answer)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if isinstance(answer, AsyncItems):
            return [each async for each in answer]  # pyright: ignore[reportUnknownVariableType]
        return await answer if inspect.isawaitable(answer) else answer

    async def page(self, name: str, /, *args: Any, **more: Any) -> Any:
        answer = getattr(self.client, name)(*args, **more).page()
        return await answer if inspect.isawaitable(answer) else answer

    async def until(self, firing: Firing, status: str) -> Firing:
        """The firing, asked for again until it is of this status."""
        found: Firing = await self("firing", firing)
        for _ in range(600):
            if found.status == status:
                return found
            await asyncio.sleep(0.1)  # noqa: TID251 - another process; there is no event
            found = await self("firing", firing)
        raise AssertionError(f"expected {status}, got {found.status}: {found.reason}")


async def _story(ask: Asking, place: Target) -> None:
    await _health(ask)
    for left in await ask("list_schedules"):
        await ask("delete_schedule", left)
    await _calendars_and_monitors(ask)
    await _schedules(ask, place)
    await _many(ask, place)
    await _runs(ask, place)
    await _long_work(ask, place)
    await _pulling(ask)
    await _dead(ask, place)
    await _secrets(ask)
    await _watching(ask, place)
    await _tenants(ask)


def test_every_method_of_the_client_works(server: Server) -> None:
    """AP1 to AP7 through one method per route, against the real program."""
    with target() as place, rota.Client(data_dir=_data_dir(server.home)) as client:
        ask = Asking(client)
        asyncio.run(_story(ask, place))
    assert ask.used == _methods(rota.Client)


async def test_every_method_of_the_async_client_works(server: Server) -> None:
    """AP1 to AP7: the same with the other."""
    with target() as place:
        async with rota.AsyncClient(data_dir=_data_dir(server.home)) as client:
            ask = Asking(client)
            await _story(ask, place)
    assert ask.used == _methods(rota.AsyncClient)


def _methods(kind: type) -> set[str]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name for name, _ in found if not name.startswith("_")} - OWN


async def _health(ask: Asking) -> None:
    assert (await ask("healthz")).is_ok
    assert (await ask("readyz")).is_ok


async def _calendars_and_monitors(ask: Asking) -> None:
    saved = await ask("put_calendar", "spain", country="ES", dates=[date(2031, 8, 14)])
    assert (saved.country, saved.rearmed, saved.upcoming[0].date.year >= 2026) == ("ES", 0, True)
    assert [each.name for each in await ask("list_calendars")] == ["spain"]
    assert (await ask("get_calendar", "spain")).dates == ("2031-08-14",)
    left_out = await ask("preview", "0 9 6 * *", calendar="spain", after="2027-01-01", count=1)
    assert left_out.slots[0].note == "left out: 2027-01-06 (Epiphany)"
    monitor = await ask(
        "create_schedule", name="backup", monitor={"expect": "0 3 * * *", "grace": "1h"}
    )
    assert monitor.monitor is not None
    assert (monitor.monitor.grace, monitor.monitor_state) == ("1h", "waiting")
    assert (await ask("ping", monitor, note="done")).monitor_state == "up"
    token = str(monitor.ping_url).rpartition("/")[2]
    assert (await ask("ping_token", token)).status == "ok"
    assert (await ask("ping_token_saying", token, status="failed")).status == "ok"
    assert (await ask("get_schedule", monitor)).monitor_state == "down"
    await ask("delete_schedule", monitor)
    await ask("delete_calendar", "spain")


async def _schedules(ask: Asking, place: Target) -> None:
    made: Schedule = await ask(
        "create_schedule",
        {"name": "report", "cron_expr": "0 9 * * MON-FRI"},
        timezone="America/New_York",
        target_url=f"{place.url}/ok",
        misfire_grace=timedelta(minutes=5),
        payload={"team": "ops"},
        idempotency_key="report-ops",
        tags=["daily"],
    )
    assert made.next_fire_at is not None
    assert made.next_fire_at.tzinfo is UTC
    assert (made.misfire_grace, made.payload, made.tags) == ("5m", {"team": "ops"}, ("daily",))
    assert await ask("get_schedule", made) == await ask("get_schedule", made.id)

    changed = await ask("update_schedule", made, if_version=made.version, priority=7)
    assert (changed.priority, changed.version) == (7, made.version + 1)
    for method in ("update_schedule", "delete_schedule"):
        with pytest.raises(PreconditionFailed):
            await ask(method, made, if_version=made.etag)

    key = "../*/5 100% ключ"
    fields = {"name": "put", "cron_expr": NEVER, "target_url": place.url}
    put = await ask("put_schedule", key, fields)
    again = await ask("put_schedule", key, fields, description="again", if_version=put.etag)
    assert (put.key, again.id, again.description) == (key, put.id, "again")

    assert {each.id for each in await ask("list_schedules", page_size=1)} == {made.id, put.id}
    assert [each.id for each in await ask("list_schedules", tag="daily")] == [made.id]
    assert [each.id for each in await ask("list_schedules", key=key)] == [put.id]
    page = await ask.page("list_schedules", page_size=1)
    assert (len(page.items), page.next_cursor is None) == (1, False)

    assert (await ask("pause", made)).status == "paused"
    assert [each.id for each in await ask("list_schedules", enabled=False)] == [made.id]
    assert (await ask("resume", made)).status == "active"
    after = datetime(2027, 3, 12, tzinfo=UTC)
    upcoming = await ask("next", made, count=2, after=after)
    assert [each.utc.hour for each in upcoming.slots] == [14, 13]
    assert upcoming == await ask(
        "preview", cron_expr="0 9 * * MON-FRI", timezone="America/New_York", after=after, count=2
    )
    assert len((await ask("preview", interval=timedelta(minutes=5))).slots) == 10
    why = await ask("why", made, upcoming.slots[0].utc)
    assert (why.schedule_id, why.at, why.firing) == (made.id, upcoming.slots[0].utc, None)
    changes = await ask("audit", schedule=made)
    assert changes[-1].action == "created"
    assert {each.schedule_id for each in changes} == {made.id}
    [slots] = await ask("audit_slots", made)
    assert (slots.schedule_id, slots.unexplained, slots.has_no_timer) == (made.id, 0, False)

    with pytest.raises(Invalid) as refused:
        await ask("create_schedule", name="x", cron_expr="61 * * * *", target_url="nowhere")
    assert {"cron_expr", "target_url"} <= refused.value.fields.keys()
    for one in (made, put):
        await ask("delete_schedule", one)
    with pytest.raises(NotFound, match="no schedule of yours"):
        await ask("get_schedule", made)


async def _many(ask: Asking, place: Target) -> None:
    items = [{"name": f"many-{at}", "cron_expr": NEVER, "target_url": place.url} for at in range(3)]
    done = await ask("create_schedules", [*items, {"name": "wrong"}], partial=True)
    assert (done.created, done.failed) == (3, 1)
    assert done.items[3].problem.status == 422
    with pytest.raises(Conflict):
        await ask("create_schedules", [{**items[0], "key": done.items[0].key}])
    new, key = [{**items[0], "name": "new"}], f"once-{type(ask.client).__name__}"
    twice = [await ask("create_schedules", new, request_key=key) for _ in range(2)]
    assert twice[0] == twice[1]


async def _made(ask: Asking, url: str, **more: Any) -> Schedule:
    return await ask("create_schedule", name=url, cron_expr=NEVER, target_url=url, **more)


async def _runs(ask: Asking, place: Target) -> None:
    work = await _made(ask, f"{place.url}/ok")
    firing = await ask("trigger", work, payload={"n": 1})
    path, _, body = place.next_call()
    assert (path, json.loads(body)) == ("/ok", {"n": 1})
    ended = await ask.until(firing, "succeeded")
    assert (ended.has_ended, ended.result_code, ended.triggered_by) == (True, 200, "api")
    assert [each.response_status for each in await ask("attempts", firing)] == [200]
    replay = await ask("replay", firing)
    assert replay.replay_of == firing.id
    await ask.until(replay, "succeeded")
    found = await ask("firings", work, status="succeeded", page_size=1)
    assert [each.id for each in found] == [replay.id, firing.id]
    since, until = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    filled = await ask("backfill", work, since=since, until=until)
    assert [each.scheduled_for for each in filled.items] == [since]
    await ask.until(filled.items[0], "succeeded")

    slow = await _made(ask, f"{place.url}/slow")
    held = await ask("trigger", slow)
    while place.next_call()[0] != "/slow":
        pass
    await ask("cancel", held, reason="no longer wanted")
    assert (await ask.until(held, "cancelled")).reason == "no longer wanted"
    with pytest.raises(Conflict):
        await ask("cancel", held)


async def _long_work(ask: Asking, place: Target) -> None:
    work = await _made(ask, f"{place.url}/async", overlap_policy="allow")

    async def begun() -> tuple[Firing, str]:
        firing: Firing = await ask("trigger", work)
        return firing, place.next_call()[1]["rota-token"]

    firing, token = await begun()
    with pytest.raises(Forbidden):
        await ask("complete", firing, token="rft_wrong")
    extended = await ask("extend", firing, token=token, seconds=600)
    assert extended.status == "running"
    done = await ask("complete", firing, token=token, result={"rows": 3})
    assert done.status == "succeeded"
    assert json.loads((await ask("firing", firing)).result_excerpt) == {"rows": 3}
    firing, token = await begun()
    failed = await ask("fail", firing, token=token, error="no disk", retry=False)
    assert failed.status == "dead"


async def _pulling(ask: Asking) -> None:
    fields = {"name": "pulled", "cron_expr": NEVER, "job_type": "x", "queue": "pulled"}
    work = await ask("create_schedule", fields, tags=["pulled"])
    firing = await ask("trigger", work, payload=[1])
    (item,) = (await ask("claim", "pulled", wait=20, worker="me")).items
    assert (item.id, item.job_type, item.payload, item.attempt) == (firing.id, "x", [1], 1)
    assert item.token not in repr(item)
    assert (await ask("complete", item, token=item.token)).status == "succeeded"
    assert (await ask("claim", "pulled")).items == ()
    until = datetime(2036, 1, 1, tzinfo=UTC)
    paused = await ask("pause_all", tag="pulled", reason="enough", until=until)
    assert (paused.paused, paused.more) == (1, False)
    seen = await ask("get_schedule", work)
    assert (seen.status_reason, seen.paused_until) == ("enough", until)
    assert (await ask("resume_all", tag="pulled")).resumed == 1
    await ask("delete_schedule", work)


async def _dead(ask: Asking, place: Target) -> None:
    host = f"127.0.0.1:{reserve_port()}"
    down = await _made(ask, f"http://{host}/", max_attempts=1)
    firing = await ask("trigger", down)
    await ask.until(firing, "dead")
    assert [each.id for each in await ask("dead", schedule=down, page_size=1)] == [firing.id]
    assert await ask("dead", schedule=down, until=datetime(2026, 1, 1, tzinfo=UTC)) == []
    replayed = await ask("replay_dead", schedule=down)
    assert (replayed.replayed, len(replayed.items), replayed.more) == (1, 1, False)
    await ask.until(await ask("firing", replayed.items[0]), "dead")
    by_name = await ask("replay_dead", firings=[firing])
    await ask.until(await ask("firing", by_name.items[0]), "dead")

    ended = await ask("all_firings", status="ended", schedule=down, page_size=2)
    assert firing.id in {each.id for each in ended}
    figures = await ask("stats")
    assert figures.firings_last_hour["dead"] >= 1
    assert figures.schedules["active"] >= 1
    cluster = await ask("cluster")
    assert [node.alive for node in cluster.nodes if node.alive] == [True]

    (circuit,) = [each for each in await ask("list_circuits") if each.host == host]
    assert (circuit.state, circuit.failures) == ("closed", 3)
    await ask("reset_circuit", circuit)
    with pytest.raises(NotFound):
        await ask("reset_circuit", host)


async def _secrets(ask: Asking) -> None:
    assert (await ask("put_secret", "TOKEN", "hush")).version >= 1
    assert [each.name for each in await ask("list_secrets", page_size=1)] == ["TOKEN"]
    await ask("delete_secret", "TOKEN")
    with pytest.raises(NotFound):
        await ask("delete_secret", "TOKEN")
    link = await ask("create_sign_in_link")
    assert link.path.startswith("/sign-in?token=")
    old = await ask("signing_secret", "example.com")
    new = await ask("rotate_signing_secret", overlap=timedelta(hours=1), host="example.com")
    assert (new.host, new.shared) == ("example.com", False)
    assert new.secret != old.secret
    assert [each.version for each in new.retiring][:1] == [old.version]


async def _watching(ask: Asking, place: Target) -> None:
    made = await ask("create_channel", "ops", f"{place.url}/told", events=["dead"], tags=["x"])
    assert (made.url, made.events) == (f"{place.url}/…", ("dead",))
    changed = await ask("update_channel", made, name="pager", tags=None)
    assert (changed.name, changed.tags) == ("pager", ())
    assert await ask("get_channel", made.id) == changed
    assert [each.id for each in await ask("list_channels", page_size=1)] == [made.id]
    asked = await ask("test_channel", made)
    while place.next_call()[0] != "/told":
        pass
    # What died elsewhere in this story is told there, too.
    said = await ask("list_notifications", made)
    assert [each.id for each in said if each.event == asked.event] == [asked.id]
    await ask("delete_channel", made)
    with pytest.raises(NotFound):
        await ask("get_channel", made)
    alerts = await ask("list_alerts", kind="dead", page_size=1)
    assert {each.kind for each in alerts} == {"dead"}
    assert all(each.is_open for each in await ask("list_alerts", is_open=True))


async def _tenants(ask: Asking) -> None:
    acme = await ask("create_tenant", {"weight": 2}, name="acme", min_interval="2s")
    assert (await ask("get_tenant", acme)).min_interval == "2s"
    assert (await ask("update_tenant", acme, max_schedules=5)).max_schedules == 5
    assert acme.id in [each.id for each in await ask("list_tenants", page_size=1)]
    expires_at = datetime(2036, 1, 1, tzinfo=UTC)
    key = await ask("create_key", scopes=["read"], tenant=acme, expires_at=expires_at, name="r")
    assert key.expires_at == expires_at
    assert [each.id for each in await ask("list_keys", tenant=acme)] == [key.id]
    with rota.Client(ask.client.url, key.key) as reader:
        assert list(reader.list_schedules()) == []
        with pytest.raises(Forbidden):
            reader.create_schedule(name="x", cron_expr=NEVER, target_url="http://127.0.0.1:1/")
    with pytest.raises(Unauthorized), rota.Client(ask.client.url, "rota_a_b") as nobody:
        nobody.list_keys().page()
    await ask("delete_key", key)
    await ask("delete_tenant", acme)


def test_what_the_guide_shows_runs(server: Server) -> None:
    """Every block of it, in order, as one program beside a server."""
    blocks = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    environment = {"HOME": str(server.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        env=environment,
        cwd=server.home,
        capture_output=True,
        text=True,
        timeout=patience(100),
        check=False,
    )
    assert done.returncode == 0, done.stderr
