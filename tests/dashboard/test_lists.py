"""Schedules, firings and dead letters, as people see them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.dashboard.conftest import visitor

from rota import ids

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


async def made(browser: Browser, **fields: Any) -> str:
    """The id of a new schedule."""
    given = {
        "name": "report",
        "cron_expr": "0 9 * * MON-FRI",
        "timezone": "America/New_York",
        "target_url": "https://acme.example/hook",
    } | fields
    answer = await browser.http.post(
        "/v1/schedules", json=given, headers={"Authorization": f"Bearer {browser.key}"}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def died(engine: Engine, schedule_id: str, *, reason: str = "HTTP 500") -> str:
    """The id of a dead firing of the schedule, with one attempt whose response is hostile."""
    id_ = ids.from_text(ids.Kind.SCHEDULE, schedule_id)
    async with engine.db.transaction() as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        tenant = await tx.fetch_value("SELECT tenant_id FROM schedules WHERE id = $1", id_)
        firing = ids.manual_firing_id(now)
        await tx.execute(
            """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                    reason, attempt, triggered_by, started_at, finished_at)
               VALUES ($1, $2, $3, 1, $4, 'dead', $5, 1, 'schedule', $4, $6)""",
            firing,
            id_,
            tenant,
            now,
            reason,
            now + timedelta(milliseconds=12),
        )
        await tx.execute(
            """INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt,
                                     worker, started_at, finished_at, outcome, error, request,
                                     response_status, response_headers, response_body)
               VALUES ($1, $2, $3, $4, 1, $1, $4, $4, 'failed', $5, $6::text::jsonb, 500,
                       $7::text::jsonb, $8)""",
            firing,
            tenant,
            id_,
            now,
            reason,
            '{"method": "POST", "url": "https://acme.example/hook", "headers": {"X-Key": '
            '"${secrets.TOKEN}"}, "body": "{\\"team\\": \\"ops\\"}"}',
            '[["X-Evil", "<b>bold</b>"]]',
            HOSTILE.encode(),
        )
    return ids.to_text(ids.Kind.FIRING, firing)


async def test_a_schedule_says_when_it_runs_next_and_on_whose_clock(browser: Browser) -> None:
    """TZ9, DB1."""
    await made(browser)
    page = await browser.page("/schedules")
    assert "every weekday at 09:00 (America/New_York)" in page
    assert "09:00 New York" in page
    assert "UTC</time>" in page


async def test_schedules_are_found_by_word_tag_and_status(browser: Browser) -> None:
    await made(browser, name="alpha", tags=["billing"])
    await made(browser, name="beta", enabled=False)
    assert "beta" not in await browser.page("/schedules?q=alph")
    assert "beta" not in await browser.page("/schedules?tag=billing")
    assert "alpha" not in await browser.page("/schedules?status=paused")
    assert "Nothing fits" in await browser.page("/schedules?q=nowhere")


async def test_many_are_paused_resumed_and_deleted_at_once(
    browser: Browser, engine: Engine
) -> None:
    chosen = [await made(browser, name=f"s{at}") for at in range(3)]

    async def statuses() -> list[str]:
        async with engine.db.transaction() as tx:
            rows = await tx.fetch("SELECT status FROM schedules ORDER BY id")
            return [row["status"] for row in rows]

    for action, after in (
        ("pause", ["paused"] * 3),
        ("resume", ["active"] * 3),
        ("delete", []),
        ("pause", []),  # gone meanwhile: nothing to do, and no harm
    ):
        answer = await browser.send("/schedules/together", id=chosen, action=action)
        assert answer.status_code == 303, answer.text
        assert await statuses() == after
    assert (await browser.send("/schedules/together", id=[], action="explode")).status_code == 400


async def test_many_are_paused_with_a_reason_and_an_end(browser: Browser) -> None:
    first, second, other = [await made(browser, name=f"s{at}") for at in range(3)]
    given: dict[str, Any] = {"id": [first, second], "action": "pause", "reason": "moving"}
    back = "/schedules?q=s&status=active"
    refused = await browser.send(
        "/schedules/together", **given, until="2020-01-01T10:00", back=back
    )
    assert refused.status_code == 422
    assert "Invalid until: expected an instant to come" in refused.text
    assert refused.text.count(" checked>") == 2
    assert 'value="moving"' in refused.text
    assert "/schedules?q=s&amp;status=active" in refused.text
    answer = await browser.send("/schedules/together", **given, until="2199-07-01T10:00")
    assert answer.status_code == 303
    page = await browser.page("/schedules?status=paused")
    assert page.count("paused: moving") == 2
    assert page.count("10:00 UTC") == 2
    assert other not in page


async def test_a_firing_shows_every_attempt_and_nothing_of_it_is_markup(
    browser: Browser, engine: Engine
) -> None:
    """DB2, S14: a response is hostile input; a secret is shown by its name."""
    firing = await died(engine, await made(browser, name=HOSTILE), reason=HOSTILE)
    page = await browser.page(f"/firings/{firing}")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b>bold</b>" not in page
    assert "&lt;script&gt;alert" in page
    assert "${secrets.TOKEN}" in page
    assert "curl -X POST" in page
    for path in ("/", "/dead", "/schedules"):
        assert "<script>alert" not in await browser.page(path)


async def test_dead_letters_are_replayed_one_by_one_and_all_together(
    browser: Browser, engine: Engine
) -> None:
    """RT5."""
    schedule = await made(browser, overlap_policy="allow")
    first, second, third = [await died(engine, schedule) for _ in range(3)]
    answer = await browser.send(f"/firings/{first}/replay")
    assert answer.status_code == 303
    page = await browser.page(answer.headers["location"])
    assert first in page  # it names the one it repeats
    answer = await browser.send("/dead/replay", id=[second], action="some")
    assert answer.headers["location"] == "/dead?replayed=1"
    answer = await browser.send("/dead/replay", action="all")
    assert answer.headers["location"] == "/dead?replayed=1"  # the third alone had none yet
    page = await browser.page("/dead?replayed=1")
    assert page.count('badge calm">replayed') == 3
    assert third in page


async def test_a_firing_that_waits_can_be_ended(browser: Browser, engine: Engine) -> None:
    schedule = await made(browser)
    answer = await browser.http.post(
        f"/v1/schedules/{schedule}/trigger", headers={"Authorization": f"Bearer {browser.key}"}
    )
    firing = answer.json()["id"]
    assert (await browser.send(f"/firings/{firing}/cancel")).status_code == 303
    assert "cancelled in the dashboard" in await browser.page(f"/firings/{firing}")
    assert (await browser.send(f"/firings/{firing}/cancel")).status_code == 409


async def test_another_tenants_things_are_not_there(
    app: Litestar, engine: Engine, browser: Browser
) -> None:
    """S10: byte for byte as if they did not exist."""
    schedule = await made(browser)
    firing = await died(engine, schedule)
    stranger = await visitor(app, engine, "admin", tenant="other")
    await stranger.sign_in()
    missing = "fir_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    for path in ("/firings/{}", "/firings/{}/cancel", "/firings/{}/replay"):
        method = stranger.get if path == "/firings/{}" else stranger.send
        theirs, nobodys = [await method(path.format(each)) for each in (firing, missing)]
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.text == nobodys.text
    assert schedule not in await stranger.page("/schedules")
    assert firing not in await stranger.page("/dead")
    await stranger.send("/schedules/together", id=[schedule], action="delete")
    assert schedule in await browser.page("/schedules")
    assert (await stranger.get("/cluster")).status_code == 403


@pytest.mark.parametrize("path", ["/schedules/together", "/dead/replay"])
async def test_who_may_only_read_changes_nothing(app: Litestar, engine: Engine, path: str) -> None:
    """S11."""
    reader = await visitor(app, engine, "read")
    await reader.sign_in()
    assert (await reader.send(path, action="pause")).status_code == 403
    assert "New schedule" not in await reader.page("/schedules")
