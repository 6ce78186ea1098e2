"""Alerts, as people see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.dashboard.conftest import visitor
from tests.dashboard.test_lists import HOSTILE, made

from rota import ids
from rota.dashboard import advice
from rota.tenants import service as tenants
from rota.watch import alerts
from rota.watch.alerts import Trouble
from rota.watch.kinds import KINDS

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine


async def opened(engine: Engine, kind: str, subject: str, detail: str = "it is wrong") -> None:
    async with engine.db.transaction() as tx:
        of_all = KINDS[kind].is_installation
        tenant = None if of_all else (await tenants.default_tenant(tx)).id
        id_ = None if of_all else ids.from_text(ids.Kind.SCHEDULE, subject)
        trouble = Trouble(subject=subject, detail=detail, tenant_id=tenant, schedule_id=id_)
        await alerts.open_(tx, kind, [trouble])


async def test_when_all_is_well_it_says_so_and_that_nobody_would_be_told(browser: Browser) -> None:
    page = await browser.page("/alerts")
    assert "No alert is open." in page
    assert "there is no channel yet" in page


async def test_an_open_alert_says_what_it_is_about_and_what_to_do(
    browser: Browser, engine: Engine
) -> None:
    id_ = await made(browser, name=HOSTILE)
    await opened(engine, "dead", id_, HOSTILE)
    page = await browser.page("/alerts")
    assert f'href="/schedules/{id_}"' in page
    assert f'href="/dead?schedule={id_}"' in page
    assert "then replay the dead letters" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


async def test_those_that_are_over_come_after_the_open_ones(
    browser: Browser, engine: Engine
) -> None:
    first, second = await made(browser, name="was ill"), await made(browser, name="is ill")
    await opened(engine, "dead", first)
    async with engine.db.transaction() as tx:
        await alerts.close(tx, [each.id for each in await alerts.are_open(tx, "dead")])
    await opened(engine, "slow", second)
    page = await browser.page("/alerts")
    assert page.index("is ill") < page.index('id="closed"') < page.index("was ill")
    only = await browser.page("/alerts?kind=slow")
    assert "is ill" in only
    assert "was ill" not in only


async def test_those_of_the_installation_are_for_its_operator_alone(
    app: Litestar, engine: Engine, browser: Browser
) -> None:
    """S10: another tenant sees neither the installation's nor a tenant's."""
    await opened(engine, "dead", await made(browser, name="ours"))
    await opened(engine, "circuit", "host.example")
    page = await browser.page("/alerts")
    assert "host.example" in page
    assert 'href="/cluster#circuits"' in page
    other = await visitor(app, engine, "admin", tenant="other")
    await other.sign_in()
    page = await other.page("/alerts")
    assert "host.example" not in page
    assert "ours" not in page
    assert "flapping" not in page


def test_every_kind_of_trouble_has_advice() -> None:
    assert set(KINDS) == set(advice.KNOWN)
