"""The forecast's page, and how schedules are drawn for it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.dashboard.conftest import visitor
from tests.dashboard.test_lists import HOSTILE, made

from rota.dashboard import forecasts
from rota.schedules import ahead
from rota.tenants import service as tenants

if TYPE_CHECKING:
    import pytest
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine


async def bulk(browser: Browser, count: int) -> None:
    given = [
        {"name": f"r{each}", "cron_expr": "0 0 * * *", "target_url": "https://acme.example/"}
        for each in range(count)
    ]
    answer = await browser.http.post(
        "/v1/schedules/bulk",
        json={"schedules": given},
        headers={"Authorization": f"Bearer {browser.key}"},
    )
    assert answer.status_code == 201, answer.text


async def test_without_schedules_there_is_nothing_to_come(browser: Browser) -> None:
    assert "Nothing to come" in await browser.page("/forecast")


async def test_a_herd_is_shown_with_what_would_flatten_it(browser: Browser) -> None:
    await bulk(browser, 30)
    await made(browser, name=HOSTILE, cron_expr="0 0 * * *", timezone="UTC")
    page = await browser.page("/forecast")
    assert "every day at 00:00:00 UTC" in page
    assert "217" in page
    assert "jitter_seconds: 10" in page
    assert "would bring the peak from 31 to" in page
    assert "sample" not in page
    assert "<script>alert" not in page


async def test_the_map_is_on_the_clock_that_is_asked_for(browser: Browser) -> None:
    await made(browser, name="daily", cron_expr="0 12 * * *", timezone="UTC")
    assert "12:00 to 13:00 UTC: 1 firing" in await browser.page("/forecast")
    page = await browser.page("/forecast?tz=Asia/Tokyo")
    assert "on the clock of Asia/Tokyo" in page
    assert "21:00 to 22:00 Tokyo: 1 firing" in page
    page = await browser.page("/forecast?tz=Asia/Kolkata")
    assert "17:30 to 18:30 Kolkata: 1 firing" in page
    assert "30 minutes past the hour" in page
    refused = await browser.get(f"/forecast?tz={quote(HOSTILE)}")
    assert refused.status_code == 422
    assert "on the clock of UTC" in refused.text
    assert HOSTILE not in refused.text


async def test_a_forecast_is_kept_for_a_minute(browser: Browser) -> None:
    await bulk(browser, 2)
    first = await browser.page("/forecast")
    await bulk_more(browser)
    assert await browser.page("/forecast") == first


async def bulk_more(browser: Browser) -> None:
    await made(browser, name="later", cron_expr="30 1 * * *")


async def test_of_many_schedules_a_sample_stands_for_all_and_says_so(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a fifth is drawn; the figures are those of all."""
    monkeypatch.setattr(forecasts, "MOST", 40)
    await bulk(browser, 200)
    page = await browser.page("/forecast")
    assert "Estimated from a sample of" in page
    assert "of 200 active schedules" in page
    assert ">≈ 1,400<" in page


async def test_what_is_paused_or_another_tenants_is_not_drawn(
    app: Litestar, engine: Engine, browser: Browser
) -> None:
    """S10."""
    await bulk(browser, 3)
    paused = await made(browser, name="paused", cron_expr="5 5 * * *")
    await browser.send("/schedules/together", action="pause", id=paused)
    other = await visitor(app, engine, "read", tenant="other")
    await other.sign_in()
    assert "Nothing to come" in await other.page("/forecast")
    async with engine.db.transaction() as tx:
        own = await ahead.sample(tx, (await tenants.default_tenant(tx)).id, most=100)
    assert (own.active, len(own.stored)) == (3, 3)
    assert "paused" not in {each.plan().name for each in own.stored}


async def test_firings_that_may_still_be_are_all_there_will_be(
    browser: Browser, engine: Engine
) -> None:
    await made(browser, cron_expr="0 * * * *", max_firings=5)
    async with engine.db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 2")
        found = await ahead.sample(tx, (await tenants.default_tenant(tx)).id, most=10)
    assert found.stored[0].plan().left == 3
