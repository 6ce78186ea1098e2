"""A browser, and the program it looks at: one of each for a module."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from playwright.async_api import async_playwright, expect
from tests.browser import chromium
from tests.browser.house import House, open_house
from tests.browser.watching import Watch
from tests.deadlines import patience

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from playwright.async_api import Browser, Page
    from tests.conftest import Postgres


def _most_ms() -> float:
    """How long anything may take to appear."""
    return patience(30) * 1_000


@dataclass
class Visit:
    """A window of somebody who is signed in, with an eye on it."""

    page: Page
    watch: Watch

    async def to(self, path: str) -> int:
        """Go to a page of ours; its status."""
        answer = await self.page.goto(self.watch.origin + path)
        assert answer is not None
        return answer.status


@pytest.fixture(scope="module")
def executable() -> str:
    """Where the browser is."""
    found = chromium.find()
    if found is None:
        if chromium.is_required():
            pytest.fail(chromium.MISSING)
        pytest.skip(chromium.MISSING)
    return found


@pytest.fixture(scope="module")
def house(
    executable: str, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Generator[House]:
    """The program, on a database of the module's own."""
    name = asyncio.run(postgres.clone())
    with open_house(tmp_path_factory.mktemp("house"), postgres.dsn_of(name)) as found:
        yield found
    asyncio.run(postgres.drop(name))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def chrome(executable: str) -> AsyncGenerator[Browser]:
    """A browser without a window, and without a past."""
    expect.set_options(timeout=_most_ms())
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable, args=list(chromium.FLAGS)
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def stranger(chrome: Browser, house: House) -> AsyncGenerator[Visit]:
    """Somebody who is not signed in; nothing that should not happen may have happened."""
    context = await chrome.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(_most_ms())
    watch = Watch(house.url)
    await watch.over(context)
    yield Visit(await context.new_page(), watch)
    await context.close()
    watch.nothing_happened()


@pytest_asyncio.fixture(loop_scope="module")
async def visit(stranger: Visit, house: House) -> Visit:
    """The operator, signed in and on the first page."""
    await stranger.to("/sign-in")
    await stranger.page.get_by_label("API key").fill(house.key)
    await stranger.page.get_by_role("button", name="Sign in").click()
    await expect(stranger.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    return stranger
