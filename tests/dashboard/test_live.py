"""What happens, told to every page that is open."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from tests.dashboard.conftest import visitor
from tests.dashboard.test_lists import died, made
from tests.deadlines import patience

from rota.api.app import create
from rota.dashboard.desk import Desk
from rota.dashboard.feeds import MOST, Feeds, _Feed, _note
from rota.dashboard.pages.live import _beats, told
from rota.history.firing import Firing
from rota.runtime.dashboard import pages
from rota.tenants import service as tenants
from rota.tenants import sessions
from rota.tenants.authenticate import Authenticator

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine
    from rota.db import Tx


async def test_every_reader_hears_once_of_what_ended(browser: Browser, engine: Engine) -> None:
    feeds = Feeds(engine.db, engine.clock)
    async with engine.db.transaction() as tx:
        tenant = (await tenants.default_tenant(tx)).id
    schedule = await made(browser, name="report")
    async with (
        asyncio.timeout(patience(20)),
        feeds.follow(tenant) as first,
        feeds.follow(tenant) as second,
    ):
        await first.get()
        firing = await died(engine, schedule)
        heard: list[str] = []
        while not heard:
            beat = await first.get()
            assert beat is not None
            heard += [each["id"] for each in told(beat)["firings"]]
            assert told(beat)["firings"] == [] or told(beat)["firings"][0]["name"] == "report"
        assert heard == [firing]
        again = await first.get()
        assert again is not None
        assert again.firings == []  # not told twice
        assert await second.get() is not None
        feeds.close()
        while await first.get() is not None:
            pass
    assert feeds._feeds == {}  # nobody looks on, nobody asks


async def test_a_stream_is_for_who_is_signed_in(browser: Browser) -> None:
    browser.http.cookies.clear()
    answer = await browser.http.get("/live", headers={"Accept": "text/event-stream"})
    assert answer.status_code == 401


async def _sign_out(tx: Tx, session: sessions.Session) -> None:
    await sessions.end(tx, session.secret)


async def _revoke(tx: Tx, session: sessions.Session) -> None:
    who = session.principal
    assert who.key_id is not None
    assert await tenants.revoke_key(tx, who.tenant, who.key_id)


async def _expire(tx: Tx, session: sessions.Session) -> None:
    expired = "UPDATE api_keys SET expires_at = now() - interval '1 s' WHERE id = $1"
    await tx.execute(expired, session.principal.key_id)


@pytest.mark.parametrize("ending", [_sign_out, _revoke, _expire])
async def test_nothing_is_told_once_the_session_has_ended(
    browser: Browser,
    engine: Engine,
    ending: Callable[[Tx, sessions.Session], Awaitable[None]],
) -> None:
    """S9: a key that was revoked opens nothing a second later, not even what is open already."""
    desk = Desk(
        db=engine.db,
        clock=engine.clock,
        bus=engine.bus,
        shards=engine.shards,
        authenticator=Authenticator(engine.db),
        feeds=Feeds(engine.db, engine.clock),
    )
    async with engine.db.transaction() as tx:
        key = await tenants.create_key(tx, await tenants.default_tenant(tx), scopes=("read",))
    principal = await desk.authenticator.authenticate(key.text)
    assert principal is not None
    async with engine.db.transaction() as tx:
        session = await sessions.begin_with_key(tx, principal)
    assert session is not None
    beats = _beats(desk, session)
    async with asyncio.timeout(patience(20)):
        assert "queue" in await anext(beats)
        assert "queue" in await anext(beats)
        async with engine.db.transaction() as tx:
            await ending(tx, session)
        assert [beat async for beat in beats] == []
    assert desk.feeds._feeds == {}


async def test_so_many_pages_may_follow_and_no_more(
    browser: Browser, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each keeps a connection: a reader must not be able to take all there are."""
    monkeypatch.setattr("rota.dashboard.feeds.MOST_READERS", 1)
    feeds = Feeds(engine.db, engine.clock)
    async with engine.db.transaction() as tx:
        tenant = (await tenants.default_tenant(tx)).id
    crowded = create(engine, pages=pages(engine, feeds))
    somebody = await visitor(crowded, engine, "read")
    await somebody.sign_in()
    async with feeds.follow(tenant):
        assert (await somebody.get("/live")).status_code == 429
    assert not feeds.is_full(tenant)


async def test_who_is_slow_to_read_or_comes_late_still_hears_that_it_is_over(
    browser: Browser, engine: Engine
) -> None:
    feeds = Feeds(engine.db, engine.clock)
    async with engine.db.transaction() as tx:
        tenant = (await tenants.default_tenant(tx)).id
    async with asyncio.timeout(patience(20)), feeds.follow(tenant) as slow:
        await slow.get()  # it has begun
        task = feeds._feeds[tenant].task
        assert task is not None
        feeds.close()
        await asyncio.wait([task])  # no beat comes after it
        heard = [slow.get_nowait() for _ in range(slow.qsize())]
        assert heard[-1] is None
        async with feeds.follow(tenant) as late:
            assert await late.get() is None


def test_of_many_that_ended_the_newest_are_remembered() -> None:
    """What is forgotten too soon is told twice."""
    feed, beats = _Feed(), [[_ended(beat * MOST + n) for n in range(MOST)] for beat in range(20)]
    for beat in beats:
        _note(feed, beat)
    assert {each.id for beat in beats[-4:] for each in beat} <= set(feed.seen)
    assert len(feed.seen) <= MOST * 5


def _ended(n: int) -> Firing:
    at = datetime(2026, 11, 16, tzinfo=UTC) + timedelta(milliseconds=n)
    return Firing(
        id=uuid5(NAMESPACE_URL, str(n)),
        schedule_id=UUID(int=1),
        tenant_id=UUID(int=2),
        version=1,
        scheduled_for=at,
        last_slot_at=None,
        slot_count=1,
        status="succeeded",
        reason=None,
        attempt=1,
        triggered_by="schedule",
        catch_up=False,
        available_at=None,
        started_at=at,
        finished_at=at,
        result_code=200,
        result_excerpt=None,
    )
