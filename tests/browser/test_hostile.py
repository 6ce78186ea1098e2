"""Text from outside is shown as text, on every page, in a real browser (S14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect
from tests.browser import hostile
from tests.browser.house import pages

if TYPE_CHECKING:
    from tests.browser.conftest import Visit
    from tests.browser.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def firing(house: House) -> str:
    """One whose schedule, request and answer are hostile."""
    return hostile.fill(house)


async def test_no_page_takes_text_for_markup(visit: Visit, house: House, firing: str) -> None:
    """S14: the corpus in every stored field; no dialog, no breach of the policy, nothing asked
    of the outside, no element that is not ours, and the text is there to be read."""
    page = visit.page
    visit.watch.refusals = True
    await visit.to("/")
    live = page.get_by_role("list", name="Firings as they end")
    await expect(live.get_by_text(hostile.WORD).first).to_be_visible()
    await hostile.spoil(house)
    faults: list[str] = []
    for path in _addresses(house, firing):
        status = await visit.to(path)
        made = await page.locator(hostile.ELEMENTS).evaluate_all(
            "found => found.map((each) => each.outerHTML.slice(0, 200))"
        )
        faults += [f"{path}: {each}" for each in made]
        if status >= 500:
            faults.append(f"{path}: {status}")
    assert not faults, "\n".join(faults)


@pytest.mark.usefixtures("firing")
async def test_what_is_hostile_can_be_read(visit: Visit) -> None:
    """Escaping once, and not twice: the text is what was stored."""
    page = visit.page
    name = hostile.CORPUS[0]
    for path in ("/schedules", "/schedules?q=script"):
        await visit.to(path)
        await expect(page.get_by_role("link", name=name).first).to_be_visible()
    await page.get_by_role("link", name=name).first.click()
    await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    await page.get_by_role("link", name="Edit").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value(name)
    await page.get_by_label("English or cron").fill(name)
    preview = page.locator("#preview")
    await expect(preview.locator(".wrong")).to_be_visible()
    await expect(page.locator(hostile.ELEMENTS)).to_have_count(0)


def _addresses(house: House, firing: str) -> list[str]:
    found: list[str] = []
    for each in house.client.list_schedules():
        found += pages(house, schedule_id=each.id, firing_id=firing)
    asked = [f"/schedules?q={hostile.OUTSIDE}&tag=%3Cb%3E&status=%22%3E", "/dead?replayed=%3Cb%3E"]
    return [*dict.fromkeys(found), *asked, "/sign-in?token=%22%3E%3Cb%3E&next=javascript:alert(1)"]
