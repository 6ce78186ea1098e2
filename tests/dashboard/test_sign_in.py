"""Signing in takes a form of this browser's own: no link and no other site does it for anybody."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest
from tests.dashboard.conftest import csrf_in, visitor

from rota.dashboard import forms
from rota.runtime.handover import new_token
from rota.tenants import sessions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SANDBOXED = {"Origin": "null"}
"""What a frame that another site locked up sends, from a browser without Sec-Fetch-Site."""


@pytest.fixture
async def stranger(app: Litestar, engine: Engine) -> AsyncGenerator[Browser]:
    """Somebody with a key, who is not signed in."""
    somebody = await visitor(app, engine, "admin")
    yield somebody
    await somebody.http.aclose()


@pytest.fixture
async def attacker(app: Litestar, engine: Engine) -> AsyncGenerator[Browser]:
    """Somebody with a key of their own, and a browser of their own."""
    somebody = await visitor(app, engine, "admin", tenant="evil")
    yield somebody
    await somebody.http.aclose()


async def _token(engine: Engine) -> str:
    return (await new_token(engine.db)).text


async def _is_in(browser: Browser) -> bool:
    return (await browser.get("/")).status_code == 200


async def test_another_site_can_sign_nobody_in(stranger: Browser, attacker: Browser) -> None:
    """Not with a key of its own, not with a token of its own page, with or without a page of ours
    open in the same browser."""
    theirs = csrf_in((await attacker.http.get("/sign-in")).text)
    for prepare in (False, True):
        if prepare:
            await stranger.http.get("/sign-in")
        for csrf in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": theirs}):
            data = {"key": attacker.key, **csrf}
            answer = await stranger.http.post("/sign-in", data=data, headers=SANDBOXED)
            assert answer.status_code == 403, csrf
            assert "rota_session" not in answer.headers.get("set-cookie", "")
            assert "out of date" in answer.text
    assert not await _is_in(stranger)


async def test_the_headers_are_still_looked_at(stranger: Browser) -> None:
    csrf = csrf_in((await stranger.http.get("/sign-in")).text)
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        data = {"key": stranger.key, "csrf": csrf}
        answer = await stranger.http.post("/sign-in", data=data, headers=headers)
        assert answer.status_code == 403
    assert (await stranger.sign_in()).status_code == 303


async def test_the_cookie_of_the_form_is_for_this_host_alone_and_for_no_script(
    stranger: Browser,
) -> None:
    cookie = (await stranger.http.get("/sign-in")).headers["set-cookie"]
    assert cookie.startswith("__Host-rota_sign_in=")
    for part in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert "Domain" not in cookie


async def test_forms_in_several_tabs_all_work(stranger: Browser) -> None:
    first = csrf_in((await stranger.http.get("/sign-in")).text)
    await stranger.http.get("/sign-in?next=/dead")
    answer = await stranger.http.post("/sign-in", data={"key": stranger.key, "csrf": first})
    assert answer.status_code == 303


async def test_opening_a_link_signs_nobody_in_and_uses_nothing_up(
    stranger: Browser, engine: Engine
) -> None:
    """Mail scanners, previews and other sites open links. The button signs in, and no script
    presses it."""
    token = await _token(engine)
    for headers in ({}, {"Purpose": "prefetch"}, {"Sec-Fetch-Site": "cross-site"}):
        page = await stranger.http.get(f"/sign-in?token={token}", headers=headers)
        assert page.status_code == 200
        assert "rota_session" not in page.headers["set-cookie"]
        assert "sign_in.js" not in page.text
        assert f'name="token" value="{token}"' in page.text
    assert not await _is_in(stranger)
    await stranger.http.head(f"/sign-in?token={token}")
    assert (await stranger.enter(token=token)).status_code == 303
    assert await _is_in(stranger)


async def test_a_link_is_too_old_after_ten_minutes(stranger: Browser, engine: Engine) -> None:
    token = await _token(engine)
    assert sessions.TOKEN_LIFETIME.total_seconds() == 600
    async with engine.db.transaction() as tx:
        lifetime = await tx.fetch_value("SELECT expires_at - created_at FROM sign_in_tokens")
        assert lifetime == sessions.TOKEN_LIFETIME
        await tx.execute("UPDATE sign_in_tokens SET expires_at = now() - interval '1 second'")
    answer = await stranger.enter(token=token)
    assert answer.status_code == 403
    assert "too old" in answer.text


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_form_that_is_too_large_is_refused_before_it_is_read(
    stranger: Browser, chunked: bool
) -> None:
    """Anybody can send one: a key is small, and reading half a megabyte takes a while."""
    sent = 0

    async def body() -> AsyncGenerator[bytes]:
        nonlocal sent
        for _ in range(128):
            sent += 4096
            yield b"a=b&" * 1024

    headers = FORM if chunked else {**FORM, "Content-Length": str(128 * 4096)}
    answer = await stranger.http.post("/sign-in", content=body(), headers=headers)
    assert answer.status_code == 413
    assert "at most 4 kB" in answer.text
    assert answer.headers["connection"] == "close"
    assert sent <= (3 * 4096 if chunked else 4096)


async def test_every_form_has_a_bound_of_its_own(browser: Browser) -> None:
    for path, limit in {
        "/sign-out": forms.SMALL,
        "/settings/secrets": forms.MEDIUM,
        "/schedules/new": forms.LARGE,
    }.items():
        content = b"a=" + b"b" * limit
        answer = await browser.http.post(path, content=content, headers=FORM)
        assert answer.status_code == 413, path
        answer = await browser.http.post(path, content=content[:limit], headers=FORM)
        assert answer.status_code == 403, path


async def test_a_form_has_so_many_fields_and_no_more(browser: Browser) -> None:
    fields = "&".join(f"id={number}" for number in range(2_001))
    answer = await browser.http.post(
        "/schedules/together", content=f"csrf={browser.csrf}&{fields}", headers=FORM
    )
    assert answer.status_code == 400
    assert "at most 2,000 fields" in answer.text


async def test_a_large_form_is_read_as_it_was_written(browser: Browser) -> None:
    """What is wrong with it is shown beside what was typed."""
    payload = "{" + "ä&=+% <b>\r\n" * 4_000
    answer = await browser.send("/schedules/new", name="large", payload=payload)
    assert answer.status_code == 422
    assert html.escape(payload.replace("\r\n", "\n")) in answer.text
