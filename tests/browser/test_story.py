"""What somebody does with the dashboard, in a real browser, from signing in to replaying."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page
    from tests.browser.conftest import Visit
    from tests.browser.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_link_of_the_server_signs_in_once_and_a_key_always(
    stranger: Visit, house: House
) -> None:
    """S15: the token is gone once it was used; signing out ends the session."""
    page, link = stranger.page, house.link()
    stranger.watch.refusals = True
    await page.goto(link)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    assert "token" not in page.url
    await page.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_url(f"{house.url}/sign-in")
    await page.goto(link)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("alert")).to_contain_text("was used already")
    await stranger.to("/cluster")
    await page.get_by_label("API key").fill("rota_wrong")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("No such key")
    await page.get_by_label("API key").fill(house.key)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Cluster", level=1)).to_be_visible()
    cookies = await page.context.cookies()
    assert [(each.get("httpOnly"), each.get("sameSite")) for each in cookies] == [(True, "Strict")]


async def test_a_schedule_is_made_from_english_and_fires_before_ones_eyes(
    visit: Visit, house: House
) -> None:
    """Typed, understood, saved; then its firings come by themselves, here and on the first page."""
    page = visit.page
    await page.get_by_role("link", name="New schedule").click()
    await page.get_by_label("Name", exact=True).fill("Heartbeat")
    await page.get_by_label("English or cron").fill("evry weekday at 9am")
    preview = page.locator("#preview")
    await expect(preview.locator(".wrong")).to_be_visible()
    await page.get_by_label("Time zone").fill("America/New_York")
    await page.get_by_label("English or cron").fill("every weekday at 9am")
    await expect(preview).to_contain_text("09:00")
    await expect(preview).to_contain_text("New York")
    await expect(preview).to_contain_text("UTC")
    await page.get_by_label("English or cron").fill("every second")
    await expect(preview).to_contain_text("in 1 s")
    await page.get_by_label("URL", exact=True).last.fill(f"{house.target.url}/echo")
    await page.get_by_label("Payload (JSON)").fill('{"beat": 1}')
    await page.get_by_role("button", name="Save and start").click()
    await expect(page.get_by_role("heading", name="Heartbeat", level=1)).to_be_visible()

    history = page.locator("#history")
    await expect(history.locator("tbody .badge.good").first).to_be_visible()

    await page.get_by_role("link", name="Overview").click()
    happening = page.get_by_role("list", name="Firings as they end")
    await expect(happening.get_by_role("link", name="Heartbeat").nth(1)).to_be_visible()
    await happening.get_by_role("link", name="Heartbeat").first.click()
    await expect(page.get_by_role("heading", name="Attempt 1")).to_be_visible()
    await expect(page.locator(".attempt")).to_contain_text("HTTP 200")
    await expect(page.locator(".attempt pre").first).to_contain_text('"beat": 1')

    await page.get_by_role("link", name="Heartbeat").click()
    await _press(page, "Pause")
    await expect(_badge(page)).to_have_text("paused")
    await _press(page, "Resume")
    await expect(_badge(page)).to_have_text("active")
    visit.watch.asks = 1
    await _press(page, "Delete")
    await expect(page).to_have_url(f"{house.url}/schedules")
    await expect(page.get_by_role("link", name="Heartbeat")).to_have_count(0)


async def test_a_run_with_a_payload_shows_what_was_sent_and_what_came_back(
    visit: Visit, house: House
) -> None:
    """Refused while it is no JSON, with what was typed kept; then its page fills by itself."""
    visit.watch.refusals = True
    made = house.client.create_schedule(
        name="Report", text="every day at 3am", target_url=f"{house.target.url}/echo"
    )
    page = visit.page
    await visit.to(f"/schedules/{made.id}")
    await page.get_by_label("Payload (JSON)").fill('{"for": ')
    await _press(page, "Run it")
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_label("Payload (JSON)")).to_have_value('{"for": ')
    await page.get_by_label("Payload (JSON)").fill('{"for": "the press"}')
    await _press(page, "Run it")
    await expect(page).to_have_url(re.compile("/firings/"))
    await expect(_badge(page)).to_have_text("succeeded")
    await expect(page.locator(".attempt pre").filter(has_text="the press").first).to_be_visible()


async def test_a_firing_that_runs_can_be_cancelled(visit: Visit, house: House) -> None:
    made = house.client.create_schedule(
        name="Long one", text="every day at 4am", target_url=f"{house.target.url}/slow"
    )
    page = visit.page
    await visit.to(f"/schedules/{made.id}")
    await _press(page, "Send now")
    await expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    visit.watch.asks = 1
    await _press(page, "Cancel")
    await expect(_badge(page)).to_have_text("cancelled")
    await expect(page.get_by_text("cancelled in the dashboard").first).to_be_visible()


async def test_a_dead_letter_is_replayed_and_succeeds(visit: Visit, house: House) -> None:
    made = house.client.create_schedule(
        name="Moody",
        text="every day at 5am",
        target_url=f"{house.target.url}/moody",
        max_attempts=1,
    )
    page = visit.page
    await visit.to(f"/schedules/{made.id}")
    await _press(page, "Send now")
    await expect(_badge(page)).to_have_text("dead")
    await expect(page.locator(".attempt pre").last).to_contain_text("not today")
    house.target.well.set()
    await visit.to("/dead")
    await page.get_by_label(re.compile("^Tick the slot")).first.check()
    await page.get_by_role("button", name="Replay", exact=True).click()
    await expect(page.get_by_text("1 firing was put in the queue again.")).to_be_visible()
    await expect(page.get_by_text("replayed", exact=True)).to_be_visible()
    await visit.to(f"/schedules/{made.id}")
    await expect(page.locator("#history tbody").get_by_text("succeeded").first).to_be_visible()


async def _press(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()


def _badge(page: Page) -> Locator:
    """The status beside the page's name."""
    return page.locator(".head .badge")
