"""A schedule's page: how it stands, what became of it, and what can be done."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.dashboard.conftest import visitor
from tests.dashboard.schedule_support import EVIL, fired, made, only, path
from tests.db.secrets_kit import vault

from rota.api.app import create
from rota.runtime.dashboard import pages
from rota.schedules import update
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine


async def test_it_says_when_it_runs_next_and_how_it_has_done(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every weekday at 9am", timezone="America/New_York")
    await fired(engine, schedule, 30)
    await fired(engine, schedule, 10, "dead", "HTTP 500")
    page = await browser.page(path(schedule))
    assert "every weekday at 09:00" in page
    assert "09:00 <span" in page
    assert "75.0 %" in page
    assert "40 ms" in page
    assert "2 ms" in page
    assert page.count("<rect") > 300
    assert "HTTP 500" in page
    for part in ("/now", "/history", "/year"):
        assert "<html" not in await browser.page(path(schedule, part))


async def test_with_a_fire_window_the_next_runs_say_when_they_are_due(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every day at 9am", fire_window_seconds=3600)
    page = await browser.page(path(schedule, "/now"))
    assert page.count("due at 09:") == page.count('<li>\n        <time datetime="')
    plain = await made(engine, name="plain", text="every day at 9am")
    assert "due at" not in await browser.page(path(plain, "/now"))


async def test_history_goes_on_page_by_page_and_by_status(browser: Browser, engine: Engine) -> None:
    schedule = await made(engine, text="every minute")
    await fired(engine, schedule, 45)
    await fired(engine, schedule, 1, "dead", "it broke")
    seen: set[str] = set()
    rest, pages = "", 0
    while pages < 5:
        page = await browser.page(path(schedule, rest))
        table = page.partition('<div class="table">')[2]
        seen |= {each[:30] for each in table.split('class="name" href="/firings/')[1:]}
        pages += 1
        following = table.partition('">Older</a>')[0].rpartition('href="')[2]
        if '">Older</a>' not in table:
            break
        rest = "?" + following.partition("?")[2].partition("#")[0].replace("&amp;", "&")
    assert (len(seen), pages) == (46, 3)
    page = await browser.page(path(schedule, "?status=dead"))
    assert page.partition("<tbody>")[2].count('class="name"') == 1
    assert "No firing is cancelled" in await browser.page(path(schedule, "?status=cancelled"))


async def test_pause_resume_and_delete(browser: Browser, engine: Engine) -> None:
    schedule = await made(engine, text="every hour")
    answer = await browser.send(path(schedule, "/pause"))
    assert (answer.status_code, answer.headers["location"]) == (303, path(schedule))
    page = await browser.page(path(schedule))
    assert "<b>Paused.</b>" in page
    assert ">Resume</button>" in page
    await browser.send(path(schedule, "/resume"))
    assert ">Pause</button>" in await browser.page(path(schedule))
    answer = await browser.send(path(schedule, "/delete"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/schedules")
    assert (await browser.get(path(schedule))).status_code == 404
    for verb in ("/pause", "/resume", "/delete", "/trigger", "/backfill"):
        assert (await browser.send(path(schedule, verb))).status_code in (404, 422), verb


async def test_a_pause_says_why_and_until_when_on_the_clock_of_the_schedule(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every day at 9am", timezone="Europe/Madrid")
    given = {"reason": f"moving {EVIL}", "until": "2199-07-01T10:00"}
    assert (await browser.send(path(schedule, "/pause"), **given)).status_code == 303
    page = await browser.page(path(schedule))
    assert EVIL not in page
    assert "<b>Paused.</b> moving &#34;&gt;&lt;script" in page
    assert "It resumes by itself" in page
    assert 'datetime="2199-07-01T08:00:00+00:00"' in page
    assert "10:00 Madrid" in page
    listed = await browser.page("/schedules")
    assert "paused: moving" in listed
    assert "resumes by itself" in listed
    assert EVIL not in listed


async def test_a_pause_that_cannot_be_is_refused_with_what_was_typed(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every hour")
    for until, wrong in (("2020-01-01T10:00", "to come"), ("soon", "Invalid instant")):
        answer = await browser.send(path(schedule, "/pause"), reason="moving", until=until)
        assert answer.status_code == 422
        assert wrong in answer.text
        assert 'value="moving"' in answer.text
        assert f'value="{until}"' in answer.text
        assert '<details class="panel" open>' in answer.text
    answer = await browser.send(path(schedule, "/pause"), reason="x" * 201)
    assert (answer.status_code, "Invalid reason: expected" in answer.text) == (422, True)
    assert (await only(engine)).status == "active"


async def test_it_runs_with_a_payload_that_is_json(browser: Browser, engine: Engine) -> None:
    schedule = await made(engine, text="every hour", overlap_policy="allow")
    answer = await browser.send(path(schedule, "/trigger"), payload='{"a": 1}')
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/firings/fir_")
    async with engine.db.transaction(read_only=True) as tx:
        assert await tx.fetch_value("SELECT payload::text FROM queue") == '{"a": 1}'
    # Not JSON, and it would be stored as null.
    assert (await browser.send(path(schedule, "/trigger"), payload="NaN")).status_code == 422
    answer = await browser.send(path(schedule, "/trigger"), payload="{'a'")
    assert answer.status_code == 422
    assert "expected JSON" in answer.text
    assert "{&#39;a&#39;</textarea>" in answer.text


async def test_a_range_that_has_passed_is_filled_on_the_schedules_own_clock(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every day at 9am", timezone="Europe/Paris")
    answer = await browser.send(
        path(schedule, "/backfill"), since="2026-03-01T09:00", until="2026-03-04T09:00:00"
    )
    assert answer.status_code == 303
    assert "filled=3" in answer.headers["location"]
    assert "3 slots are being fired" in await browser.page(answer.headers["location"])
    for since, until in [("2099-01-01T00:00", "2099-02-01T00:00"), ("", "x")]:
        answer = await browser.send(path(schedule, "/backfill"), since=since, until=until)
        assert answer.status_code == 422
        assert "field-wrong" in answer.text


async def test_why_at_a_local_time_that_exists_twice_answers_for_both(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, cron_expr="30 1 * * *", timezone="America/New_York")
    page = await browser.page(path(schedule, "?at=2090-11-05+01:30"))
    assert "exists twice" in page
    assert '<time datetime="2090-11-05T05:30:00+00:00">' in page
    assert '<time datetime="2090-11-05T06:30:00+00:00">' in page


async def test_why_is_answered_for_any_instant(browser: Browser, engine: Engine) -> None:
    schedule = await made(engine, text="every day at 9am", timezone="Europe/Paris")
    day = (engine.clock.now() + timedelta(days=3)).date()
    assert "It is to come" in await browser.page(path(schedule, f"?at={day}T09:00"))
    assert "no slot at that instant" in await browser.page(path(schedule, f"?at={day}T09:01"))
    assert "field-wrong" in await browser.page(path(schedule, "?at=yesterdayish"))


async def test_a_monitor_shows_its_ping_url_to_whoever_may_write(engine: Engine) -> None:
    """And to nobody else: the URL is an authority of its own."""
    engine = replace(engine, vault=vault(), public_url="https://rota.example/")
    app = create(engine, pages=pages(engine))
    schedule = await made(engine, target_url=None, monitor={"expect": "every day at 3am"})
    seen: dict[str, str] = {}
    for scope in ("read", "write"):
        somebody = await visitor(app, engine, scope)
        await somebody.sign_in()
        seen[scope] = await somebody.page(path(schedule))
        assert "Next pings" in seen[scope]
        assert "Send now" not in seen[scope]
        assert "Backfill" not in seen[scope]
    assert "https://rota.example/ping/" in seen["write"]
    assert "/ping/" not in seen["read"]


async def test_schedules_that_follow_one_another_lead_to_each_other(
    browser: Browser, engine: Engine
) -> None:
    first = await made(engine, text="every hour", key="first", name="the first")
    then = await made(engine, after={"key": "first"}, key="then", name="the second")
    assert f'<a href="{path(then)}">the second</a>' in await browser.page(path(first))
    page = await browser.page(path(then))
    assert f'<a href="{path(first)}">the first</a>' in page
    assert "no times of its own" in page


async def test_steps_are_listed_with_what_undoes_them(browser: Browser, engine: Engine) -> None:
    call = {"target_url": "https://x.example/undo"}
    steps = [{"name": "book", "target_url": "https://x.example/book", "compensate": call}]
    schedule = await made(engine, text="every hour", target_url=None, steps=steps)
    page = await browser.page(path(schedule))
    assert "<b>book</b>" in page
    assert "https://x.example/undo" in page


async def test_hostile_names_and_answers_are_only_text(browser: Browser, engine: Engine) -> None:
    """S14."""
    schedule = await made(
        engine, text="every hour", name=EVIL, description=EVIL, tags=[EVIL], payload=EVIL, key=EVIL
    )
    await fired(engine, schedule, 1, "dead", EVIL)
    page = await browser.page(path(schedule, "?at=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


async def test_who_may_only_read_sees_it_and_has_no_buttons(app: Litestar, engine: Engine) -> None:
    schedule = await made(engine, text="every hour")
    reader = await visitor(app, engine, "read")
    await reader.sign_in()
    page = await reader.page(path(schedule))
    for word in ("Send now", ">Pause<", ">Delete<", "Backfill", "/edit"):
        assert word not in page, word
    for verb in ("pause", "resume", "delete", "trigger", "backfill"):
        assert (await reader.send(path(schedule, f"/{verb}"))).status_code == 403


@pytest.mark.parametrize("verb", ["pause", "resume", "delete", "trigger", "backfill"])
async def test_nothing_is_done_to_another_tenants_schedule(
    app: Litestar, engine: Engine, verb: str
) -> None:
    """TN2."""
    schedule = await made(engine, text="every hour")
    other = await visitor(app, engine, "admin", tenant="other")
    await other.sign_in()
    answer = await other.send(
        path(schedule, f"/{verb}"), since="2026-03-01T09:00", until="2026-03-02T09:00"
    )
    assert answer.status_code == 404
    async with engine.db.transaction(read_only=True) as tx:
        assert await tx.fetch_value("SELECT status FROM schedules") == "active"
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 0


async def test_it_shows_who_changed_it_and_what(browser: Browser, engine: Engine) -> None:
    schedule = await made(engine, text="every weekday at 9am")
    await browser.send(path(schedule, "/pause"), reason=EVIL)
    await browser.send(path(schedule, "/resume"))
    for hour in range(12):
        async with engine.db.transaction(actor="api:1a2b") as tx:
            tenant = await tenants.default_tenant(tx)
            await update.update(tx, tenant, schedule.id, {"text": f"every day at {hour}:00"})
    page = await browser.page(path(schedule))
    changes = page.partition('id="changes"')[2].partition("</section>")[0]
    assert changes.count("<code>api:1a2b</code>") == 10
    assert "every day at 10:00 → every day at 11:00" in changes
    older = changes.partition('">Older changes</a>')[0].rpartition('href="')[2]
    page = await browser.page(older.partition("#")[0])
    changes = page.partition('id="changes"')[2].partition("</section>")[0]
    assert "<td>paused</td>" in changes
    assert "<td>resumed</td>" in changes
    assert changes.count("<code>dashboard:") == 2
    assert EVIL not in page
    assert "<td>created</td>" in changes
