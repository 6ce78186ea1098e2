"""Who may see what, and what no other site can make a browser do (S14, S15)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from litestar.handlers import HTTPRouteHandler
from tests.dashboard.conftest import visitor

from rota.api.app import create
from rota.dashboard import places
from rota.dashboard.pages import PAGES
from rota.runtime.dashboard import pages
from rota.runtime.handover import new_token
from rota.tenants.request_pace import RequestPace

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine

_ID = "sch_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def _paths(method: str) -> list[str]:
    """Every path of a page that takes this method, with something in the place of its names."""
    found: list[str] = []
    for route in PAGES:
        assert isinstance(route, HTTPRouteHandler)
        if method in route.http_methods:
            found += [_filled(path) for path in route.paths]
    return sorted(set(found))


def _filled(path: str) -> str:
    parts = [_ID if part.startswith("{") else part for part in path.split("/")]
    return "/".join(parts) or "/"


UNSAFE = [path for path in _paths("POST") if path != "/sign-in"]


async def test_nobody_gets_past_the_door(app: Litestar, engine: Engine) -> None:
    """Every page but the door sends whoever is not signed in there, and back afterwards."""
    stranger = await visitor(app, engine, "admin")
    for path in _paths("GET"):
        if path != "/sign-in":
            answer = await stranger.get(path)
            assert answer.status_code in (303, 401), path
            if answer.status_code == 303:
                assert answer.headers["location"].startswith("/sign-in")


@pytest.mark.parametrize("path", UNSAFE)
async def test_a_change_takes_a_form_of_this_session_and_of_this_site(
    browser: Browser, path: str
) -> None:
    """S15: another site's Origin, a missing or wrong token, and other kinds of body are refused."""
    good = {"csrf": browser.csrf}
    attempts = {
        "another site": browser.http.post(path, data=good, headers={"Origin": "https://evil"}),
        "a locked frame": browser.http.post(
            path, data=good, headers={"Origin": "null", "Sec-Fetch-Site": "cross-site"}
        ),
        "no token": browser.http.post(path, data={"a": "b"}),
        "a wrong token": browser.http.post(path, data={"csrf": "0" * 64}),
        "text": browser.http.post(
            path, content=f"csrf={browser.csrf}", headers={"Content-Type": "text/plain"}
        ),
        "json": browser.http.post(path, json=good),
    }
    for what, attempt in attempts.items():
        assert (await attempt).status_code == 403, what


async def test_looking_changes_nothing(browser: Browser, engine: Engine) -> None:
    """S15: no state on GET; every page is fetched, and every table is as it was."""

    async def counts() -> dict[str, int]:
        async with engine.db.transaction() as tx:
            tables = await tx.fetch(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'rota' ORDER BY 1"
            )
            return {
                row["tablename"]: await tx.fetch_value(
                    f'SELECT count(*) FROM "{row["tablename"]}"'  # pyright: ignore[reportArgumentType]
                )
                for row in tables
            }

    before = await counts()
    for path in [*_paths("GET"), "/sign-in?token=guess"]:
        if "live" not in path:
            await browser.get(path)
    assert await counts() == before


async def test_every_page_says_that_nothing_may_come_from_outside(browser: Browser) -> None:
    """S14: no inline script or style, no frames, no sniffing, no referrer; and no page is kept."""
    for path in [*_paths("GET"), "/nothing-here"]:
        if "live" in path:
            continue
        answer = await browser.get(path)
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "<style" not in answer.text
        assert " style=" not in answer.text
        assert " onclick=" not in answer.text


async def test_the_cookie_is_for_this_host_alone_and_for_no_script(
    app: Litestar, engine: Engine
) -> None:
    """S15: __Host-, Secure, HttpOnly, SameSite=Strict."""
    somebody = await visitor(app, engine, "read")
    cookie = (await somebody.sign_in()).headers["set-cookie"]
    assert cookie.startswith("__Host-rota_session=")
    for part in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert "Domain" not in cookie


async def test_a_wrong_key_opens_nothing(app: Litestar, engine: Engine) -> None:
    somebody = await visitor(app, engine, "read")
    somebody.key = somebody.key[:-1] + ("a" if somebody.key[-1] != "a" else "b")
    answer = await somebody.sign_in()
    assert answer.status_code == 403
    assert "rota_session" not in answer.headers["set-cookie"]
    assert "No such key" in answer.text
    assert somebody.key not in answer.text


async def test_a_token_of_the_server_signs_in_once(app: Litestar, engine: Engine) -> None:
    token = (await new_token(engine.db)).text
    first, second = [await visitor(app, engine, "read") for _ in range(2)]
    answer = await first.enter(token=token, next="/schedules")
    assert (answer.status_code, answer.headers["location"]) == (303, "/schedules")
    assert (await first.get("/")).status_code == 200
    answer = await second.enter(token=token)
    assert answer.status_code == 403
    assert "was used already" in answer.text


async def test_a_session_ends_with_its_key_and_when_its_owner_signs_out(
    app: Litestar, engine: Engine
) -> None:
    """S9: revoking a key ends what was begun with it, at the next request."""
    somebody = await visitor(app, engine, "read")
    await somebody.sign_in()
    jar = dict(somebody.http.cookies)
    assert (await somebody.send("/sign-out")).headers["location"] == "/sign-in"
    somebody.http.cookies.update(jar)
    assert (await somebody.get("/")).status_code == 303
    somebody.http.cookies.clear()
    await somebody.sign_in()
    async with engine.db.transaction() as tx:
        await tx.execute("DELETE FROM api_keys")
    assert (await somebody.get("/")).status_code == 303
    # It is remembered for a moment still, and opens nothing in it.
    assert (await somebody.sign_in()).status_code == 403


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nb",
    ],
)
async def test_the_way_back_leads_to_a_page_of_ours(
    app: Litestar, engine: Engine, elsewhere: str
) -> None:
    somebody = await visitor(app, engine, "read")
    answer = await somebody.enter(key=somebody.key, next=elsewhere)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_session_is_no_key_of_the_api(browser: Browser) -> None:
    """S15: the API takes no cookie, whatever it holds."""
    assert (await browser.get("/v1/schedules")).status_code == 401


async def test_the_database_keeps_no_session_that_could_be_used(
    browser: Browser, engine: Engine
) -> None:
    secret = browser.http.cookies["__Host-rota_session"]
    async with engine.db.transaction() as tx:
        rows = await tx.fetch("SELECT s::text AS row FROM sessions s")
    assert rows
    assert all(secret not in row["row"] for row in rows)


async def test_addresses_that_no_page_gave_are_refused_and_no_fault(browser: Browser) -> None:
    """A zero byte, and places beyond the calendar or on nobody's clock: the database takes none."""
    found = ["/schedules?q=%00", "/schedules?tag=a%00", "/schedules/preview?when=a&calendar=%00"]
    for at in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00", "2026-01-01T00:00:00"):
        found.append("/alerts?after=" + places.write([at, str(UUID(int=1))]))
        place = places.write({"scheduled_for": at, "id": str(UUID(int=1))})
        found += [f"/dead?after={place}"]
    for path in found:
        assert (await browser.get(path)).status_code == 400, path
    answer = await browser.send("/cluster/circuits/reset", host="a\0")
    assert answer.status_code == 404


async def test_looking_counts_as_asking_does(engine: Engine) -> None:
    """S12: pages cost as much as the API does; the operator can always take a limit back."""
    pace = RequestPace(engine.db, clock=engine.clock, rate=0.1, burst=3)
    paced = replace(engine, pace=pace)
    app = create(paced, pages=pages(paced))
    somebody = await visitor(app, engine, "admin", tenant="acme")
    await somebody.sign_in()
    answers = [await somebody.get("/dead") for _ in range(4)]
    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert (await somebody.get("/settings/keys")).status_code == 429
    operator = await visitor(app, engine, "admin")
    assert (await operator.sign_in()).status_code == 303
    for _ in range(4):
        assert (await operator.get("/settings/keys")).status_code == 200


async def test_a_browser_that_is_lost_sees_a_page_and_a_program_a_problem(
    browser: Browser,
) -> None:
    page = await browser.http.get("/nothing-here", headers={"Accept": "text/html,*/*"})
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for path, accept in (("/nothing-here", "*/*"), ("/v1/nothing", "text/html")):
        problem = await browser.http.get(path, headers={"Accept": accept})
        assert problem.headers["content-type"] == "application/problem+json"
