"""Every page can be read and used: in light and dark, on a phone, by keyboard, by a reader."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import expect
from tests.browser import hostile
from tests.browser.house import pages

if TYPE_CHECKING:
    from playwright.async_api import Page
    from tests.browser.conftest import Visit
    from tests.browser.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
_GRAVE = ("serious", "critical")
_GROUND = "getComputedStyle(document.documentElement).backgroundColor"
_WIDE = "document.scrollingElement.scrollWidth - innerWidth"
# For a fault to be found: what is wider than the window, and in no box that scrolls.
_WIDER = """[...document.querySelectorAll("main *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .filter((each) => !each.closest(".table, pre"))
  .slice(0, 3).map((each) => each.outerHTML.slice(0, 150))"""


@pytest.fixture(scope="module")
def addresses(house: House) -> list[str]:
    """Every page, with much on it: names and answers that are long and have no blanks too."""
    firing = hostile.fill(house)
    monster = house.client.create_schedule(
        name="x" * 180,
        description="y" * 300,
        tags=["z" * 50],
        text="every 5 minutes",
        timezone="America/Argentina/ComodRivadavia",
        target_url=f"https://example.com/{'w' * 300}",
        payload={"v" * 200: "u" * 300},
    )
    house.client.pause(monster)
    return pages(house, schedule_id=monster.id, firing_id=firing)


async def test_nothing_grave_is_found_for_those_who_see_badly(
    visit: Visit, addresses: list[str]
) -> None:
    """axe-core finds nothing serious or critical on any page, in light and in dark."""
    visit.watch.refusals = True
    faults: list[str] = []
    for path in addresses:
        await visit.page.emulate_media(color_scheme="light")
        await visit.to(path)
        await visit.page.evaluate(_AXE)
        faults += [f"{path}: {each}" for each in await _checked(visit.page)]
        await visit.page.emulate_media(color_scheme="dark")
        found = await _checked(visit.page, only=["color-contrast"])
        faults += [f"{path} in dark: {each}" for each in found]
    assert not faults, "\n".join(faults)


async def test_no_page_scrolls_sideways_on_a_phone(visit: Visit, addresses: list[str]) -> None:
    """390 pixels wide, whatever stands in names and payloads."""
    visit.watch.refusals = True
    await visit.page.set_viewport_size({"width": 390, "height": 844})
    faults: list[str] = []
    for path in addresses:
        await visit.to(path)
        if await visit.page.evaluate(_WIDE) > 0:
            faults.append(f"{path}: {await visit.page.evaluate(_WIDER)}")
    assert not faults, "\n".join(faults)


async def test_the_menu_of_a_phone_opens_and_leads_on(visit: Visit) -> None:
    page = visit.page
    await page.set_viewport_size({"width": 390, "height": 844})
    link = page.get_by_role("link", name="Dead letters")
    await expect(link).to_be_hidden()
    menu = page.get_by_role("button", name="Menu")
    await menu.click()
    await expect(menu).to_have_attribute("aria-expanded", "true")
    await link.click()
    await expect(page.get_by_role("heading", name="Dead letters", level=1)).to_be_visible()


async def test_the_theme_is_the_systems_until_one_is_chosen_and_then_stays(visit: Visit) -> None:
    page = visit.page
    await page.emulate_media(color_scheme="light")
    light = await page.evaluate(_GROUND)
    await page.emulate_media(color_scheme="dark")
    dark = await page.evaluate(_GROUND)
    assert light != dark
    await page.emulate_media(color_scheme="light")
    toggle = page.get_by_role("button", name="Theme:")
    await expect(toggle).to_have_text("Theme: auto")
    await toggle.click()
    await toggle.click()
    await expect(toggle).to_have_text("Theme: dark")
    assert await page.evaluate(_GROUND) == dark
    await page.reload()
    await expect(toggle).to_have_text("Theme: dark")
    assert await page.evaluate(_GROUND) == dark
    await toggle.click()
    await page.reload()
    await expect(toggle).to_have_text("Theme: auto")
    assert await page.evaluate(_GROUND) == light


async def test_a_keyboard_is_enough(visit: Visit, house: House) -> None:
    """To skip the menu, to walk it, to make a schedule, and to see where one is."""
    page = visit.page
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    new = page.get_by_role("link", name="New schedule")
    await expect(new).to_be_focused()
    await expect(new).not_to_have_css("outline-style", "none")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="New schedule", level=1)).to_be_visible()
    await page.get_by_label("Name", exact=True).focus()
    await page.keyboard.type("By keyboard")
    for text in ("every day at 6am", f"{house.target.url}/echo"):
        await _tab_to(page, "English or cron" if text.startswith("every") else "URL")
        await page.keyboard.type(text)
    await page.get_by_label("Name", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="By keyboard", level=1)).to_be_visible()


async def _tab_to(page: Page, label: str) -> None:
    """Press Tab until the field of this label has the focus."""
    named = "document.activeElement.labels?.[0]?.textContent.trim()"
    for _ in range(30):
        await page.keyboard.press("Tab")
        if await page.evaluate(named) == label and await page.evaluate(
            "document.activeElement.type !== 'radio'"
        ):
            return
    raise AssertionError(f"Tab never came to {label}")


async def _checked(page: Page, *, only: list[str] | None = None) -> list[str]:
    """What axe finds grave, a line each, with an element to look at."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if only is not None:
        options["runOnly"] = only
    found: list[dict[str, Any]] = await page.evaluate(
        "async (options) => (await axe.run(document, options)).violations", options
    )
    return [
        f"{each['id']} ({each['impact']}) in {len(each['nodes'])}: {each['nodes'][0]['html'][:160]}"
        for each in found
        if each["impact"] in _GRAVE
    ]
