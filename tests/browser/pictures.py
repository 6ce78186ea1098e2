"""Takes the pictures in docs/images: `make pictures`.

A server of its own with sample schedules, on a throw-away PostgreSQL; only its API runs, so that
nothing happens while it is looked at.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import async_playwright
from tests.browser import chromium, samples
from tests.browser.house import open_house

from rota.db import Database, embedded, migrate

if TYPE_CHECKING:
    from playwright.async_api import Page
    from tests.browser.house import House

FOLDER = Path(__file__).parents[2] / "docs" / "images"
_WINDOW = (1280, 800)
_PHONE = (390, 844)


@dataclass(frozen=True)
class Picture:
    """A page and how to look at it."""

    name: str
    path: str
    dark: bool = False
    size: tuple[int, int] = _WINDOW
    shows: str = "h1"
    """What must be there before the picture is taken."""
    types: tuple[tuple[str, str], ...] = ()
    """What is typed there first, by the labels of the fields."""
    down: str = ""
    """What the page is scrolled to."""


def _pictures(schedule: str, firing: str) -> list[Picture]:
    one = f"/schedules/{schedule}"
    typed = (
        ("Name", "Send invoices"),
        ("Time zone", "Europe/Madrid"),
        ("English or cron", "on the last friday of the month at 6pm"),
    )
    happening = "#happening .badge"
    return [
        Picture("overview", "/", shows=happening),
        Picture("overview-dark", "/", dark=True, shows=happening),
        Picture("schedules", "/schedules"),
        Picture("schedules-phone", "/schedules", size=_PHONE),
        Picture("schedule", one, size=(1280, 1150)),
        Picture("schedule-dark", one, dark=True),
        Picture("schedule-phone", one, size=_PHONE),
        Picture("schedule-year", one, size=(1280, 900), down="#year-title"),
        Picture("new", "/schedules/new", size=(1280, 900), shows="#preview .runs", types=typed),
        Picture("firing", f"/firings/{firing}"),
        Picture("dead", "/dead"),
        Picture("forecast", "/forecast", size=(1280, 940)),
        Picture("alerts", "/alerts"),
        Picture("cluster", "/cluster"),
        Picture("secrets", "/settings/secrets"),
        Picture("channels", "/settings/channels"),
        Picture("calendars", "/settings/calendars"),
        Picture("keys", "/settings/keys"),
        Picture("tenants", "/settings/tenants"),
    ]


async def _take(house: House, page: Page, wanted: Picture) -> None:
    await samples.freshen(house)
    await page.set_viewport_size({"width": wanted.size[0], "height": wanted.size[1]})
    await page.emulate_media(color_scheme="dark" if wanted.dark else "light")
    await page.goto(house.url + wanted.path)
    for label, text in wanted.types:
        await page.get_by_label(label, exact=True).fill(text)
    await page.locator(wanted.shows).first.wait_for()
    if wanted.down:
        await page.locator(wanted.down).evaluate("at => at.closest('.card').scrollIntoView()")
    await page.screenshot(path=FOLDER / f"{wanted.name}.png", animations="disabled")


async def _all(house: House, executable: str, names: list[str]) -> None:
    firing = await samples.fill(house)
    (schedule,) = house.client.list_schedules(key="morning-report")
    FOLDER.mkdir(exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable, args=list(chromium.FLAGS)
        )
        page = await browser.new_page(timezone_id="America/New_York")
        await page.goto(f"{house.url}/sign-in")
        await page.get_by_label("API key").wait_for()
        if not names or "sign-in" in names:
            await page.set_viewport_size({"width": 1280, "height": 800})
            await page.screenshot(path=FOLDER / "sign-in.png")
        await page.get_by_label("API key").fill(house.key)
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Sign out").wait_for()
        for each in _pictures(schedule.id, firing):
            if not names or each.name in names:
                await _take(house, page, each)
        await browser.close()


async def _database(folder: Path) -> embedded.Embedded:
    server = await embedded.start(folder)
    async with await Database.open(server.dsn) as db:
        await migrate.apply(db)
    return server


def main(names: list[str]) -> int:
    """Those that are named, or all."""
    executable = chromium.find()
    if executable is None:
        return chromium.main() or 1
    with tempfile.TemporaryDirectory(prefix="rota-pictures-", ignore_cleanup_errors=True) as made:
        home = Path(made)
        server = asyncio.run(_database(home / "data"))
        try:
            with open_house(home, server.dsn, "--role", "api") as house:
                asyncio.run(_all(house, executable, names))
        finally:
            asyncio.run(server.stop())
            asyncio.run(embedded.remove(home / "data"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
