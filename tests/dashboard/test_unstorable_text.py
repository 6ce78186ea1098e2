"""Text that PostgreSQL or UTF-8 cannot hold, in what targets answer and in what pages are sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.dashboard.schedule_support import fired, made, path

from rota import ids
from rota.dashboard.shown import firing_id
from rota.history.retention import ensure
from rota.workers.caller import Reply
from rota.workers.delivery import capture

if TYPE_CHECKING:
    from uuid import UUID

    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine
    from rota.schedules.schedule import Schedule

_FORM = re.compile(r'<form[^>]*method="post"[^>]*action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_NAME = re.compile(r'name="([^"]+)"')
_UNSTORABLE = ("a\0b", b"\xff\xfe", b"\xed\xa0\x80")

BODIES = {
    "every byte": bytes(range(256)),
    "NUL": b"\0",
    "a lone surrogate, as JSON writes it": rb'{"a": "\ud800", "\udfff": ["\udc00\ud800"]}',
    "NUL, as JSON writes it": rb'["\u0000"]',
    "surrogates in UTF-8": b'{"a": "\xed\xa0\x80\xed\xbf\xbf"}',
    "half a character": "é".encode()[:1],
    "a number without end": b"[" + b"9" * 10_000 + b"]",
    "no numbers": b"[NaN, Infinity, 1e999]",
    "depth": b"[" * 50_000,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_whatever_a_target_answers_the_page_of_its_firing_shows(
    engine: Engine, browser: Browser, body: bytes
) -> None:
    schedule = await made(engine, cron_expr="0 9 * * *")
    reply = Reply(
        code=500,
        headers=(("x-strange", "\0\x01\xff\ud800"), ("\udcff", "é")),
        body=body,
        error="OSError: \udcff\ud800\0 no such file",
    )
    found = await _recorded(engine, schedule, reply)
    page = await browser.page(f"/firings/{firing_id(found)}")
    assert "no such file" in page
    assert "\0" not in page
    for each in ("/", "/dead", path(schedule)):
        await browser.page(each)


async def test_a_request_that_is_no_call_of_a_url_is_shown_as_it_is(
    engine: Engine, browser: Browser
) -> None:
    """Tasks and pull workers have no URL to show."""
    schedule = await made(engine, cron_expr="0 9 * * *")
    for shown in ('{"task": "shop.send", "payload": null}', '{"worker": "w-1"}'):
        found = await _recorded(engine, schedule, Reply(error="no"), shown)
        page = await browser.page(f"/firings/{firing_id(found)}")
        assert "shop.send" in page or "w-1" in page


async def _recorded(
    engine: Engine, schedule: Schedule, reply: Reply, shown: str = '{"method": "POST"}'
) -> UUID:
    """A firing with the reply as its only attempt."""
    tried = capture.tried("failed", reply, shown=shown, capture="all")
    excerpt = capture.excerpt(reply, capture="all", ok=False)
    async with engine.db.transaction() as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        await ensure(tx, now.date())
        id_ = ids.manual_firing_id(now)
        common = (id_, schedule.tenant_id, schedule.id, now, tried.error)
        await tx.execute(
            """INSERT INTO firings (id, tenant_id, schedule_id, scheduled_for, reason, version,
                                    status, attempt, triggered_by, started_at, finished_at,
                                    result_excerpt)
               VALUES ($1, $2, $3, $4, $5, 1, 'dead', 1, 'schedule', $4, $4, $6)""",
            *common,
            excerpt,
        )
        await tx.execute(
            """INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, error,
                                     attempt, worker, started_at, finished_at, outcome, request,
                                     response_status, response_headers, response_body)
               VALUES ($1, $2, $3, $4, $5, 1, $1, $4, $4, 'failed', $6::text::jsonb, 500,
                       $7::text::jsonb, $8)""",
            *common,
            tried.request,
            tried.response_headers,
            tried.response_body,
        )
    return id_


async def test_no_form_is_a_fault_whatever_it_is_sent(engine: Engine, browser: Browser) -> None:
    schedule = await made(engine, cron_expr="0 9 * * *")
    await fired(engine, schedule, 1, "dead")
    settings = ["calendars", "channels", "keys", "secrets", "signing", "tenants"]
    pages = ["/", "/dead", "/schedules", "/schedules/new", path(schedule), path(schedule, "/edit")]
    faults: list[tuple[str, str]] = []
    for page in [*pages, *(f"/settings/{name}" for name in settings)]:
        for action, inside in _FORM.findall((await browser.get(page)).text):
            names = sorted({*_NAME.findall(inside)} - {"csrf"})
            if action == "/sign-out":
                continue
            for name in names:
                for text in _UNSTORABLE:
                    fields = dict.fromkeys(names, "x") | {name: text}
                    answer = await browser.send(action or page, **fields)
                    if answer.status_code >= 500 and "ROTA_SECRET_KEYS" not in answer.text:
                        faults.append((action, name))
    assert faults == []


@pytest.mark.parametrize("raw", ["%00", "%FF", "%ED%A0%80", "a%00b"])
async def test_no_address_is_a_fault_whatever_is_in_it(
    engine: Engine, browser: Browser, raw: str
) -> None:
    schedule = await made(engine, cron_expr="0 9 * * *")
    for address in (
        f"/schedules/{raw}",
        f"/firings/{raw}",
        f"/settings/channels/{raw}",
        f"/settings/calendars/{raw}",
        f"/schedules?q={raw}&tag={raw}&status={raw}&after={raw}&cursor={raw}",
        f"/dead?schedule={raw}&after={raw}&since={raw}&cursor={raw}",
        f"/forecast?from={raw}&zone={raw}&hours={raw}",
        f"/alerts?cursor={raw}&after={raw}",
        path(schedule, f"?after={raw}&status={raw}&cursor={raw}"),
        f"/sign-in?next={raw}&token={raw}",
        f"/static/{raw}",
    ):
        assert (await browser.get(address)).status_code < 500, address
