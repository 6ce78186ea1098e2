"""Sessions end with what they were begun with, on every node at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.dashboard.conftest import Browser, visitor

from rota.api.app import create
from rota.db import Database
from rota.runtime.dashboard import pages
from rota.runtime.handover import new_token
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from litestar import Litestar

    from rota.api.engine import Engine


@pytest.fixture
async def elsewhere(dsn: str, engine: Engine) -> AsyncGenerator[Litestar]:
    """Another node on the same database."""
    async with await Database.open(dsn, application_name="another node") as db:
        other = replace(engine, db=db)
        yield create(other, pages=pages(other))


async def _also(browser: Browser, app: Litestar, engine: Engine) -> Browser:
    """The same browser, as another node sees it."""
    there = await visitor(app, engine, "read")
    there.http.cookies.update(browser.http.cookies)
    return there


async def _is_in(*browsers: Browser) -> list[bool]:
    return [(await each.get("/")).status_code == 200 for each in browsers]


async def _revoke(engine: Engine, text: str) -> None:
    """As `rota key revoke` does."""
    async with engine.db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        prefix = text.split("_")[1]
        (key,) = [each for each in await tenants.list_keys(tx, tenant) if each.prefix == prefix]
        assert await tenants.revoke_key(tx, tenant, key.id)


async def _key(engine: Engine, *scopes: str) -> str:
    async with engine.db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        return (await tenants.create_key(tx, tenant, scopes=scopes)).text


async def test_a_session_of_a_link_ends_when_an_admin_key_of_the_operator_is_revoked(
    app: Litestar, engine: Engine, elsewhere: Litestar
) -> None:
    """The link has no key of its own: whatever admin key is revoked or rotated ends it, and every
    link that was not used yet."""
    old, new = await _key(engine, "admin"), await _key(engine, "admin")
    reader = await _key(engine, "read")
    here = await visitor(app, engine, "read")
    unused = (await new_token(engine.db)).text
    assert (await here.enter(token=(await new_token(engine.db)).text)).status_code == 303
    there = await _also(here, elsewhere, engine)
    with_a_key = await visitor(app, engine, "read")
    with_a_key.key = new
    await with_a_key.sign_in()
    await _revoke(engine, reader)
    assert await _is_in(here, there) == [True, True]
    await _revoke(engine, old)
    assert await _is_in(here, there, with_a_key) == [False, False, True]
    assert (await here.enter(token=unused)).status_code == 403


async def test_a_session_of_a_key_ends_with_it_on_every_node(
    app: Litestar, engine: Engine, elsewhere: Litestar
) -> None:
    await _key(engine, "admin")
    here = await visitor(app, engine, "admin")
    await here.sign_in()
    there = await _also(here, elsewhere, engine)
    assert await _is_in(here, there) == [True, True]
    await _revoke(engine, here.key)
    assert await _is_in(here, there) == [False, False]


@pytest.mark.parametrize("scope", ["read", "admin"])
async def test_a_link_made_with_a_key_has_its_rights_and_ends_with_it(
    app: Litestar, engine: Engine, elsewhere: Litestar, scope: str
) -> None:
    await _key(engine, "admin")
    key = await _key(engine, scope)
    here = await visitor(app, engine, "read")
    links = [
        await here.http.post("/v1/sign-in-links", headers={"Authorization": f"Bearer {key}"})
        for _ in range(2)
    ]
    assert [each.status_code for each in links] == [201, 201]
    assert links[0].headers["cache-control"] == "no-store"
    tokens = [each.json()["path"].removeprefix("/sign-in?token=") for each in links]
    assert (await here.enter(token=tokens[0])).status_code == 303
    there = await _also(here, elsewhere, engine)
    allowed = [(await each.get("/settings/keys")).status_code for each in (here, there)]
    assert allowed == ([200, 200] if scope == "admin" else [403, 403])
    await _revoke(engine, key)
    assert await _is_in(here, there) == [False, False]
    assert (await here.enter(token=tokens[1])).status_code == 403


async def test_a_tenant_makes_links_for_itself_alone(app: Litestar, engine: Engine) -> None:
    """By the API, as the tenant's own role in the database."""
    other = await visitor(app, engine, "write", tenant="acme")
    link = await other.http.post(
        "/v1/sign-in-links", headers={"Authorization": f"Bearer {other.key}"}
    )
    assert link.status_code == 201, link.text
    await other.enter(token=link.json()["path"].removeprefix("/sign-in?token="))
    assert "acme" in (await other.get("/")).text
    assert (await other.get("/settings/keys")).status_code == 403


async def test_a_key_that_was_just_revoked_makes_no_link(app: Litestar, engine: Engine) -> None:
    """Who is asking is remembered for a moment; a link made in it would outlive the key."""
    await _key(engine, "admin")
    somebody = await visitor(app, engine, "admin")
    headers = {"Authorization": f"Bearer {somebody.key}"}
    assert (await somebody.http.post("/v1/sign-in-links", headers=headers)).status_code == 201
    await _revoke(engine, somebody.key)
    assert (await somebody.http.post("/v1/sign-in-links", headers=headers)).status_code == 401
