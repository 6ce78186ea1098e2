"""The settings: secrets stay secret, keys are shown once, and nobody does more than they may."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.dashboard.conftest import visitor
from tests.db.secrets_kit import vault

from rota import ids
from rota.api.app import create
from rota.api.engine import Engine
from rota.clock import SystemClock
from rota.db import installation
from rota.events import Bus
from rota.runtime.dashboard import pages
from rota.targets import OPEN
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.db import Database

VALUE = "hunter2-very-secret"
TABS = ("", "/secrets", "/signing", "/channels", "/calendars", "/keys", "/tenants")
HOOK = "https://hooks.example.com/T0/very-secret"
_KEY = re.compile(r"rota_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}")


@pytest.fixture
async def engine(db: Database) -> Engine:
    """As elsewhere, but with a key ring."""
    async with db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))
        shards = (await installation.read(tx)).shards
    return Engine(db=db, clock=SystemClock(), bus=Bus(), shards=shards, targets=OPEN, vault=vault())


async def test_each_scope_sees_the_tabs_it_may_use(app: Litestar, engine: Engine) -> None:
    """As the API: reading for read, keys and signing for admin, tenants for the operator."""
    reader = await visitor(app, engine, "read")
    await reader.sign_in()
    admin = await visitor(app, engine, "admin", tenant="other")
    await admin.sign_in()
    refused = {"/signing", "/keys", "/tenants"}
    for tab in TABS:
        expected = 403 if tab in refused else 200
        assert (await reader.get(f"/settings{tab}")).status_code == expected, tab
        expected = 403 if tab == "/tenants" else 200
        assert (await admin.get(f"/settings{tab}")).status_code == expected, tab
    page = await reader.page("/settings/secrets")
    assert "/settings/keys" not in page
    assert "Store it" not in page
    for path in ("/secrets", "/secrets/delete", "/channels", "/calendars", "/keys"):
        assert (await reader.send(f"/settings{path}", name="x")).status_code == 403, path


async def test_a_secret_goes_in_and_never_comes_out(browser: Browser) -> None:
    """S6: neither on a page, nor in an address, nor in a refusal."""
    answer = await browser.send("/settings/secrets", name="API_KEY", value=VALUE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/secrets?done=set")
    page = await browser.page("/settings/secrets?done=set")
    assert "API_KEY" in page
    assert "will not be shown again" in page
    assert VALUE not in page
    refused = await browser.send("/settings/secrets", name="7 is no name", value=VALUE)
    assert refused.status_code == 400
    assert 'value="7 is no name"' in refused.text
    assert VALUE not in refused.text
    await browser.send("/settings/secrets/delete", name="API_KEY")
    assert "API_KEY</strong>" not in await browser.page("/settings/secrets")
    assert (await browser.send("/settings/secrets/delete", name="API_KEY")).status_code == 404


async def test_the_signing_secret_shows_when_asked_for_and_looking_makes_none(
    browser: Browser, engine: Engine
) -> None:
    assert "None yet" in await browser.page("/settings/signing")
    async with engine.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM signing_secrets") == 0
    shown = await browser.send("/settings/signing/show", host="https://Example.com/hook")
    assert shown.headers["cache-control"] == "no-store"
    assert "The key for example.com." in shown.text
    (secret,) = set(re.findall(r"whsec_[A-Za-z0-9+/=]{44}", shown.text))
    assert secret not in await browser.page("/settings/signing")
    other = await browser.send("/settings/signing/show", host="example.com:8443")
    assert secret not in other.text
    assert (await browser.send("/settings/signing/show", host="no host")).status_code == 400
    answer = await browser.send("/settings/signing/rotate", overlap="1h")
    assert answer.headers["location"] == "/settings/signing?done=rotated"
    page = await browser.page("/settings/signing")
    assert "Version 2" in page
    assert "one key for all hosts" not in page
    async with engine.db.transaction() as tx:
        await tx.execute("UPDATE signing_secrets SET shared = true")
    page = await browser.page("/settings/signing")
    assert "one key for all hosts" in page
    assert "one receiver can sign for another" in page
    assert (await browser.send("/settings/signing/rotate", overlap="9y")).status_code == 400


async def test_a_new_key_is_shown_once_and_works(browser: Browser) -> None:
    answer = await browser.send("/settings/keys", name="ci", scope="write", expires="7d")
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    (key,) = set(_KEY.findall(answer.text))
    assert key not in str(answer.url)
    page = await browser.page("/settings/keys")
    assert key not in page
    assert key.rsplit("_", 1)[0] in page
    got = await browser.http.get("/v1/schedules", headers={"Authorization": f"Bearer {key}"})
    assert got.status_code == 200
    (id_,) = [
        each
        for each in re.findall(r"/settings/keys/(key_\w+)/revoke", page)
        if page.index(each) > page.index(">ci<")
    ]
    assert (await browser.send(f"/settings/keys/{id_}/revoke")).status_code == 303
    # A server that has just seen it may know it for a second more.
    assert ">ci<" not in await browser.page("/settings/keys")


async def test_the_last_admin_key_stays(browser: Browser) -> None:
    page = await browser.page("/settings/keys")
    (id_,) = re.findall(r"/settings/keys/(key_\w+)/revoke", page)
    answer = await browser.send(f"/settings/keys/{id_}/revoke")
    assert answer.status_code == 409
    assert "the last one" in answer.text


async def test_a_key_of_another_tenant_is_the_operators_business(
    app: Litestar, engine: Engine, browser: Browser
) -> None:
    """To others, a key or a tenant that is not theirs does not exist."""
    other = await visitor(app, engine, "admin", tenant="other")
    await other.sign_in()
    page = await browser.page("/settings/keys")
    (ours,) = re.findall(r"/settings/keys/(key_\w+)/revoke", page)
    assert (await other.send(f"/settings/keys/{ours}/revoke")).status_code == 404
    async with engine.db.transaction() as tx:
        tenant = ids.to_text(ids.Kind.TENANT, (await tenants.default_tenant(tx)).id)
    assert f"/settings/tenants/{tenant}" in await browser.page("/settings/tenants")
    assert (await other.get(f"/settings/keys?tenant={tenant}")).status_code == 404
    answer = await other.send("/settings/keys", tenant=tenant, scope="admin", expires="")
    assert answer.status_code == 404
    assert (await browser.get(f"/settings/keys?tenant={tenant}")).status_code == 200


async def test_a_channel_is_made_tried_turned_off_and_deleted(browser: Browser) -> None:
    """Its URL goes in, and shows without what is secret in it."""
    form = {"name": "ops", "url": HOOK, "events": ["dead", "recovered"], "tags": "billing, eu"}
    answer = await browser.send("/settings/channels", **form)
    assert answer.status_code == 303, answer.text
    path = answer.headers["location"].partition("?")[0]
    page = await browser.page(path)
    assert "https://hooks.example.com/…" in page
    assert "very-secret" not in page
    assert "billing, eu" in page
    assert (await browser.send(f"{path}/test")).status_code == 303
    assert "A test of the channel ops" in await browser.page(path)
    await browser.send(f"{path}/enable")
    assert "Turn on" in await browser.page(path)
    answer = await browser.send(path, name="ops 2", events=["missed"], tags="")
    assert answer.status_code == 303, answer.text
    assert "ops 2" in await browser.page("/settings/channels")
    wrong = await browser.send("/settings/channels", name="x", url="ftp:very-secret", events="dead")
    assert wrong.status_code == 400
    assert "very-secret" not in wrong.text
    assert (await browser.send(f"{path}/delete")).status_code == 303
    assert (await browser.get(path)).status_code == 404


async def test_a_channel_of_another_tenant_does_not_exist(
    app: Litestar, engine: Engine, browser: Browser
) -> None:
    """S10."""
    answer = await browser.send("/settings/channels", name="ops", url=HOOK, events="dead")
    path = answer.headers["location"].partition("?")[0]
    other = await visitor(app, engine, "admin", tenant="other")
    await other.sign_in()
    assert (await other.get(path)).status_code == 404
    for action in ("", "/test", "/enable", "/delete"):
        answer = await other.send(f"{path}{action}", name="x", events="dead")
        assert answer.status_code == 404, action
    answer = await other.send("/settings/channels", name="x", url=HOOK, events="installation")
    assert answer.status_code == 403


async def test_a_calendar_is_made_shown_changed_and_deleted(browser: Browser) -> None:
    answer = await browser.send(
        "/settings/calendars", name="madrid", country="Spain", weekdays=["sunday"], dates=""
    )
    assert answer.headers["location"] == "/settings/calendars/madrid?done=made"
    page = await browser.page("/settings/calendars/madrid")
    assert "Christmas Day" in page
    again = await browser.send("/settings/calendars", name="madrid", country="FR")
    assert again.status_code == 409
    wrong = await browser.send("/settings/calendars/madrid", country="Atlantis", dates="soon")
    assert wrong.status_code == 400
    assert 'value="Atlantis"' in wrong.text
    answer = await browser.send(
        "/settings/calendars/madrid", dates="2030-01-02\n2030-02-03/2030-02-05"
    )
    assert answer.status_code == 303, answer.text
    assert "5 Feb 2030" in await browser.page("/settings/calendars/madrid")
    assert (await browser.send("/settings/calendars/madrid/delete")).status_code == 303
    assert (await browser.get("/settings/calendars/madrid")).status_code == 404
    assert (await browser.send("/settings/calendars/madrid/delete")).status_code == 404


async def test_a_tenant_is_made_limited_and_deleted(browser: Browser) -> None:
    answer = await browser.send("/settings/tenants", name="acme", weight="3", min_interval="30s")
    path = answer.headers["location"].partition("?")[0]
    page = await browser.page(path)
    assert 'value="30s"' in page
    wrong = await browser.send(path, name="acme", weight="many")
    assert wrong.status_code == 400
    assert 'value="many"' in wrong.text
    assert (await browser.send(path, name="acme", max_schedules="10")).status_code == 303
    assert "10<small>1m apart" in await browser.page("/settings/tenants")
    assert (await browser.send("/settings/tenants", name="acme")).status_code == 409
    assert (await browser.send(f"{path}/delete")).status_code == 303
    assert (await browser.get(path)).status_code == 404


async def test_the_default_tenant_stays(browser: Browser) -> None:
    (path,) = set(re.findall(r"/settings/tenants/ten_\w+", await browser.page("/settings/tenants")))
    answer = await browser.send(f"{path}/delete")
    assert answer.status_code == 409
    assert "must be there" in answer.text


async def test_everything_that_destroys_asks_first(browser: Browser) -> None:
    await browser.send("/settings/secrets", name="A", value="b")
    await browser.send("/settings/tenants", name="acme")
    made = await browser.send("/settings/channels", name="ops", url=HOOK, events="dead")
    tabs = ["/settings/secrets", "/settings/keys", "/settings/signing"]
    for path in [*tabs, made.headers["location"]]:
        page = await browser.page(path)
        forms = re.findall(r"<form[^>]*(?:delete|revoke|rotate)[^>]*>", page)
        assert forms, path
        assert all("data-ask=" in each for each in forms), path


async def test_without_a_key_ring_the_page_says_what_to_do(db: Database) -> None:
    async with db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))
        shards = (await installation.read(tx)).shards
    plain = Engine(db=db, clock=SystemClock(), bus=Bus(), shards=shards, targets=OPEN)
    somebody = await visitor(create(plain, pages=pages(plain)), plain, "admin")
    await somebody.sign_in()
    for tab in ("secrets", "signing", "channels"):
        assert "ROTA_SECRET_KEYS" in await somebody.page(f"/settings/{tab}")
    answer = await somebody.send("/settings/secrets", name="A", value="b")
    assert answer.status_code == 409
    assert "ROTA_SECRET_KEYS" in answer.text
