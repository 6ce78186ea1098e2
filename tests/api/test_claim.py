"""`POST /v1/queues/{queue}/claim`: pull workers, in any language."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.api.conftest import Api, caller, fields_of, problem
from tests.api.outcomes import found, token, triggered, vault
from tests.deadlines import Strain, patience

from rota import ids
from rota.api.events import FiringsPulled
from rota.api.polls import Polls
from rota.db import Cause, Notice, Wake
from rota.events import Recorder
from rota.queue.rescue import MAY_NOT_HAVE_BEEN_SENT, rescue
from rota.tenants.secrets import Rings, Vault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from rota.api.engine import Engine

TASK: dict[str, Any] = {
    "target_url": None,
    "job_type": "images.resize",
    "queue": "images",
    "overlap_policy": "allow",
}


@pytest.fixture(autouse=True)
def with_a_ring(api: Api) -> None:
    # The engine is made for every test anew.
    object.__setattr__(api.engine, "vault", vault())


async def pulled(api: Api, queue: str = "images", **body: Any) -> list[dict[str, Any]]:
    answer = await api.post(f"/v1/queues/{queue}/claim", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def say(api: Api, item: dict[str, Any], verb: str, **body: Any) -> httpx.Response:
    """As curl would: with the token, without any key."""
    return await api.http.post(
        f"/v1/firings/{item['id']}/{verb}", json={"token": item["token"], **body}
    )


async def run_out(api: Api) -> None:
    """As if the time of every claim were up."""
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE queue SET claimed_until = now() - interval '1 second'")


async def rescued(api: Api) -> list[str]:
    async with api.engine.db.transaction() as tx:
        return [each.state for each in await rescue(tx)]


async def due_in(api: Api, firing: dict[str, Any], length: timedelta) -> None:
    async with api.engine.db.transaction() as tx:
        await tx.execute(
            "UPDATE queue SET available_at = clock_timestamp() + $2 WHERE id = $1",
            ids.from_text(ids.Kind.FIRING, firing["id"]),
            length,
        )


async def test_what_is_claimed_says_all_that_a_worker_needs(api: Api) -> None:
    """AP: curl alone is enough to be a worker."""
    schedule = await api.created(**TASK, timeout_seconds=90, max_attempts=4)
    firing = await triggered(api, schedule, {"image": 7})
    before = datetime.now(UTC)  # noqa: TID251 - what a worker elsewhere would read
    (item,) = await pulled(api, worker="alice's laptop")
    after = datetime.now(UTC)  # noqa: TID251 - the same
    assert (item["id"], item["schedule_id"]) == (firing["id"], schedule["id"])
    assert (item["status"], item["attempt"], item["queue"]) == ("running", 1, "images")
    assert (item["job_type"], item["payload"]) == ("images.resize", {"image": 7})
    assert item["idempotency_key"].startswith("morning-report-ops")
    assert (item["timeout_seconds"], item["max_attempts"]) == (90, 4)
    assert item["schedule_key"] == schedule["key"]
    started, until, deadline = (
        datetime.fromisoformat(item[name]) for name in ("started_at", "claimed_until", "deadline")
    )
    assert until - before > timedelta(seconds=59)
    assert until - after < timedelta(seconds=61)
    assert deadline - started == timedelta(seconds=90)
    assert item["token"] == await token(api, firing["id"])
    assert (await found(api, firing["id"]))["status"] == "running"
    assert await pulled(api) == []


async def test_completed_it_has_succeeded_and_its_attempt_names_the_worker(api: Api) -> None:
    firing = await triggered(api, await api.created(**TASK))
    (item,) = await pulled(api, worker="alice")
    done = await say(api, item, "complete", result={"bytes": 12})
    assert done.json()["status"] == "succeeded"
    ended = await found(api, firing["id"])
    assert (ended["status"], ended["result_excerpt"]) == ("succeeded", '{"bytes":12}')
    assert ended["started_at"] == item["started_at"]
    (attempt,) = (await api.get(f"/v1/firings/{firing['id']}/attempts")).json()["items"]
    assert (attempt["outcome"], attempt["request"]) == ("succeeded", {"worker": "alice"})


async def test_the_schedules_own_payload_comes_when_none_was_given(api: Api) -> None:
    await triggered(api, await api.created(**TASK))
    (item,) = await pulled(api)
    assert item["payload"] == {"team": "ops"}
    assert (await say(api, item, "complete")).status_code == 200


async def test_a_retry_has_another_token_and_the_stale_one_is_refused(api: Api) -> None:
    """RT, QW: what an attempt that was given up says later changes nothing."""
    firing = await triggered(api, await api.created(**TASK, backoff_delay=0))
    (first,) = await pulled(api)
    failed = await say(api, first, "fail", error="disk full")
    assert failed.json()["status"] == "retrying"
    await due_in(api, firing, timedelta())
    (second,) = await pulled(api)
    assert (second["attempt"], second["id"]) == (2, first["id"])
    assert second["token"] != first["token"]
    assert second["idempotency_key"] == first["idempotency_key"]
    for verb in ("complete", "fail", "extend"):
        assert "attempt 2" in problem(await say(api, first, verb), 409)["detail"]
    assert (await say(api, second, "complete")).json()["status"] == "succeeded"


async def test_a_claim_that_runs_out_is_rescued_and_handed_out_again(api: Api) -> None:
    """QW11: the worker has no row in nodes, so its claims are its own until they run out."""
    await triggered(api, await api.created(**TASK))
    (first,) = await pulled(api, visibility=5)
    assert await rescued(api) == []
    await run_out(api)
    assert await rescued(api) == ["waiting"]
    (second,) = await pulled(api)
    assert (second["id"], second["attempt"]) == (first["id"], 2)
    assert problem(await say(api, first, "complete"), 409)


async def test_at_most_once_is_dead_when_its_claim_runs_out(api: Api) -> None:
    firing = await triggered(api, await api.created(**TASK, delivery="at_most_once"))
    await pulled(api)
    await run_out(api)
    assert await rescued(api) == ["dead"]
    assert (await found(api, firing["id"]))["reason"] == MAY_NOT_HAVE_BEEN_SENT
    assert await pulled(api) == []


async def test_extended_it_stays_the_workers(api: Api) -> None:
    """QW12."""
    await triggered(api, await api.created(**TASK))
    (item,) = await pulled(api, visibility=5)
    usual = (await say(api, item, "extend")).json()
    assert usual["until"] > item["claimed_until"]
    longer = (await say(api, item, "extend", seconds=600)).json()
    length = datetime.fromisoformat(longer["until"]) - datetime.fromisoformat(item["started_at"])
    assert length > timedelta(seconds=590)
    left = datetime.fromisoformat(longer["until"]) - datetime.now(UTC)  # noqa: TID251 - the same
    assert left < timedelta(seconds=601)
    assert await rescued(api) == []


async def test_a_worker_learns_of_a_cancel_when_it_extends(api: Api) -> None:
    firing = await triggered(api, await api.created(**TASK))
    (item,) = await pulled(api)
    asked = await api.post(f"/v1/firings/{firing['id']}/cancel", {"reason": "wrong image"})
    assert asked.status_code in (200, 202)
    told = problem(await say(api, item, "extend"), 409)
    assert told["detail"] == "the firing has ended; it is cancelled: wrong image"
    ended = await found(api, firing["id"])
    assert (ended["status"], ended["reason"]) == ("cancelled", "wrong image")
    assert problem(await say(api, item, "complete"), 409)["detail"] == told["detail"]
    assert problem(await say(api, item, "extend"), 409)["detail"] == told["detail"]


async def test_the_higher_priority_comes_first_and_then_the_older(api: Api) -> None:
    """TN4."""
    low = await api.created(**TASK, name="low", priority=1)
    high = await api.created(**TASK, name="high", priority=9)
    wanted = [(await triggered(api, each))["id"] for each in (low, high, low, high)]
    items = await pulled(api, limit=3)
    assert [each["id"] for each in items] == [wanted[1], wanted[3], wanted[0]]
    assert [each["id"] for each in await pulled(api, limit=100)] == [wanted[2]]


async def test_nothing_is_handed_out_before_its_instant(api: Api) -> None:
    """I9; and whoever waits gets it as soon as it has come, without any news."""
    firing = await triggered(api, await api.created(**TASK))
    await due_in(api, firing, timedelta(hours=1))
    assert await pulled(api) == []
    await due_in(api, firing, timedelta(milliseconds=300))
    (item,) = await pulled(api, wait=20)
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT bool_and(pulled_at >= available_at) FROM queue")
    assert item["id"] == firing["id"]


async def test_other_tenants_queues_and_lanes_are_never_seen(
    api: Api, engine: Engine, http: httpx.AsyncClient
) -> None:
    """S11."""
    await triggered(api, await api.created(**TASK))
    await triggered(api, await api.created(name="a call"))
    other = await caller(engine, http, "write", tenant="another")
    assert await pulled(other) == []
    assert await pulled(api, "unknown") == []
    for lane in ("http", "stream", "celery"):
        refused = await api.post(f"/v1/queues/{lane}/claim")
        assert problem(refused, 422)
        assert fields_of(refused) == ["queue"]
    assert len(await pulled(api)) == 1


async def test_a_tenant_never_has_more_than_its_cap_at_once(api: Api) -> None:
    """TN2: over all who claim at the same time."""
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE tenants SET max_concurrency = 3")
    schedule = await api.created(**TASK)
    for _ in range(8):
        await triggered(api, schedule)
    taken = await asyncio.gather(*(pulled(api, limit=2) for _ in range(5)))
    items = [item for each in taken for item in each]
    assert len(items) == 3
    assert await pulled(api, limit=10) == []
    await say(api, items[0], "complete")
    assert len(await pulled(api, limit=10)) == 1


async def test_five_claimers_get_each_of_two_hundred_exactly_once(api: Api) -> None:
    """QW: exclusive claims."""
    schedule = await api.created(**TASK)
    async with api.engine.db.transaction() as tx:
        for _ in range(200):
            await tx.execute(
                """INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for,
                                      available_at, state, triggered_by, lane)
                   SELECT $1, s.id, s.tenant_id, s.version, now(), now(), 'waiting', 'api', $2
                     FROM schedules s""",
                ids.new(at=datetime.now(UTC)),  # noqa: TID251 - a row as of now
                "images",
            )

    async def work() -> list[str]:
        mine: list[str] = []
        while items := await pulled(api, limit=7):
            for item in items:
                assert (await say(api, item, "complete")).status_code == 200
                mine.append(item["id"])
        return mine

    done = [id_ for each in await asyncio.gather(*(work() for _ in range(5))) for id_ in each]
    assert len(done) == len(set(done)) == 200
    async with api.engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 0
        ended = await tx.fetch_value("SELECT count(*) FROM firings WHERE status = 'succeeded'")
    assert (ended, schedule["status"]) == (200, "active")


async def test_a_long_poll_wakes_for_news_of_its_queue(api: Api) -> None:
    """QW17: by the poll too; here the clock stands, so that only the news can have woken it."""
    polls = api.engine.polls
    schedule = await api.created(**TASK)
    waiting = asyncio.create_task(pulled(api, wait=30))
    await until(lambda: len(polls) == 1)
    firing = await triggered(api, schedule)
    polls.ring(["images"])
    (item,) = await waiting
    assert item["id"] == firing["id"]
    assert len(polls) == 0


async def test_a_long_poll_ends_empty_when_its_time_is_up(api: Api) -> None:
    strain, began = Strain(), api.engine.clock.monotonic()
    assert await pulled(api, wait=0.3) == []
    assert 0.25 < api.engine.clock.monotonic() - began < 10 + strain.seconds


async def test_long_polls_hold_no_connection(api: Api) -> None:
    """More of them than the pool has connections, and the API still answers."""
    waiting = [asyncio.create_task(pulled(api, wait=30)) for _ in range(30)]
    await until(lambda: len(api.engine.polls) == 30)
    assert (await api.get("/v1/schedules")).status_code == 200
    api.engine.polls.close()
    assert await asyncio.gather(*waiting) == [[]] * 30


async def test_no_more_wait_at_once_than_there_are_places(api: Api) -> None:
    object.__setattr__(api.engine, "polls", Polls(most=10, most_of_tenant=2))
    waiting = [asyncio.create_task(pulled(api, wait=30)) for _ in range(2)]
    await until(lambda: len(api.engine.polls) == 2)
    refused = await api.post("/v1/queues/images/claim", {"wait": 1})
    assert problem(refused, 429)
    assert refused.headers["retry-after"] == "1"
    assert await pulled(api, wait=0) == []
    api.engine.polls.close()
    assert await asyncio.gather(*waiting) == [[], []]


async def test_whoever_hangs_up_while_waiting_leaves_the_work_to_others(api: Api) -> None:
    polls = api.engine.polls
    firing = await triggered(api, await api.created(**TASK))
    await due_in(api, firing, timedelta(hours=1))
    hung_up = asyncio.Event()
    waiting = asyncio.create_task(_raw_claim(api, hung_up))
    await until(lambda: len(polls) == 1)
    await due_in(api, firing, timedelta())
    hung_up.set()
    await waiting
    (item,) = await pulled(api)
    assert (item["id"], item["attempt"]) == (firing["id"], 1)


async def _raw_claim(api: Api, hung_up: asyncio.Event) -> None:
    """A request over ASGI whose caller can go away."""
    transport: Any = api.http._transport  # pyright: ignore[reportPrivateUsage]
    body = b'{"wait": 30}'
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(_: dict[str, Any]) -> None:
        """Nobody is there to get it."""

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/v1/queues/images/claim",
        "raw_path": b"/v1/queues/images/claim",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (b"authorization", api.headers["Authorization"].encode()),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ],
        "server": ("rota", 80),
        "client": ("127.0.0.1", 1),
        "state": {},
    }
    app: Callable[..., Awaitable[None]] = transport.app
    await app(scope, receive, send)


async def test_what_was_paused_or_edited_meanwhile_is_not_handed_out(api: Api) -> None:
    schedule = await api.created(**TASK)
    firing = await triggered(api, schedule)
    async with api.engine.db.transaction() as tx:
        await tx.execute("UPDATE schedules SET version = 2")
    assert await pulled(api, wait=0.2) == []
    ended = await found(api, firing["id"])
    assert (ended["status"], ended["reason"]) == ("skipped", "edited")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"wait": -1}, "wait"),
        ({"wait": 31}, "wait"),
        ({"visibility": 4}, "visibility"),
        ({"visibility": 3601}, "visibility"),
        ({"worker": ""}, "worker"),
        ({"worker": "a\nb"}, "worker"),
        ({"worker": "x" * 101}, "worker"),
        ({"other": 1}, "other"),
    ],
)
async def test_what_cannot_be_is_refused_and_claims_nothing(
    api: Api, body: dict[str, Any], field: str
) -> None:
    await triggered(api, await api.created(**TASK))
    answer = await api.post("/v1/queues/images/claim", body)
    assert problem(answer, 422)
    assert fields_of(answer) == [field]
    assert len(await pulled(api)) == 1


@pytest.mark.parametrize("queue", ["a b", "%00", "x" * 101, "-x"])
async def test_a_name_that_no_queue_can_have_is_refused(api: Api, queue: str) -> None:
    assert problem(await api.post(f"/v1/queues/{queue}/claim"), 422)


async def test_a_body_is_not_needed_but_the_scope_is(
    api: Api, engine: Engine, http: httpx.AsyncClient
) -> None:
    await triggered(api, await api.created(**TASK))
    reader = await caller(engine, http, "read")
    assert problem(await reader.post("/v1/queues/images/claim"), 403)
    answer = await api.post("/v1/queues/images/claim")
    assert len(answer.json()["items"]) == 1


async def test_without_a_key_ring_there_are_no_tokens_and_so_no_claims(api: Api) -> None:
    await triggered(api, await api.created(**TASK))
    object.__setattr__(api.engine, "vault", Vault(Rings(None)))
    assert problem(await api.post("/v1/queues/images/claim"), 503)
    object.__setattr__(api.engine, "vault", vault())
    assert (await pulled(api))[0]["attempt"] == 1


async def test_a_claim_is_published(api: Api) -> None:
    recorder = Recorder(api.engine.bus)
    await triggered(api, await api.created(**TASK))
    await pulled(api, worker="alice")
    event = await recorder.wait_for(FiringsPulled)
    assert (event.queue, event.count, event.worker) == ("images", 1, "alice")


async def test_news_rings_for_its_lane_alone_and_a_gap_in_it_for_all() -> None:
    polls = Polls()
    owner = ids.new(at=datetime.now(UTC))  # noqa: TID251 - any id
    with polls.waiting(owner, "a") as a, polls.waiting(owner, "b") as b:
        await polls.hear(Said(Wake(Cause.NOTIFIED, frozenset({Notice("rota_queue", "a")}))))
        await polls.pass_on()
        assert (a.is_set(), b.is_set()) == (True, False)
        a.clear()
        await polls.pass_on()
        assert not a.is_set()
        await polls.hear(Said(Wake(Cause.MISSED)))
        await polls.pass_on()
        assert (a.is_set(), b.is_set()) == (True, True)
    assert len(polls) == 0


class Said:
    """News that is there already."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake

    async def wait(self, _: timedelta) -> Wake:
        return self._wake


async def until(is_so: Callable[[], bool]) -> None:
    """Let other tasks run until it is so."""
    async with asyncio.timeout(patience(20)):
        while not is_so():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)  # noqa: TID251 - the same
