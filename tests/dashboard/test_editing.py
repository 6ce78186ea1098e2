"""Making and changing schedules by the form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.dashboard.conftest import visitor
from tests.dashboard.schedule_support import EVIL, made, only, path

from rota.dashboard import drafts
from rota.dashboard.drafts_filled import of_definition

if TYPE_CHECKING:
    from litestar import Litestar
    from tests.dashboard.conftest import Browser

    from rota.api.engine import Engine

GOOD = {"name": "report", "when": "every weekday at 9am", "target_url": "https://x.example/hook"}


def form(**given: str) -> dict[str, str]:
    return drafts.blank() | {"action": "save", "version": "1"} | given


async def test_a_schedule_is_made_from_english(browser: Browser, engine: Engine) -> None:
    page = await browser.page("/schedules/new")
    assert "Say it in English" in page
    answer = await browser.send(
        "/schedules/new", **form(**GOOD, timezone="America/New_York", max_attempts="5")
    )
    schedule = await only(engine)
    assert (answer.status_code, answer.headers["location"]) == (303, path(schedule))
    definition = schedule.definition
    assert (definition.text, definition.timezone) == ("every weekday at 9am", "America/New_York")
    assert (definition.max_attempts, schedule.status) == (5, "active")


@pytest.mark.parametrize(
    "wrong", [{"calendar": "a\0b"}, {"payload": "NaN"}, {"payload": "1e999"}], ids=str
)
async def test_what_the_database_would_choke_on_or_change_is_refused(
    browser: Browser, wrong: dict[str, str]
) -> None:
    answer = await browser.send("/schedules/new", **form(**GOOD, **wrong))
    assert answer.status_code == 422


async def test_cron_is_kept_as_cron(browser: Browser, engine: Engine) -> None:
    await browser.send("/schedules/new", **form(**GOOD | {"when": "*/5 * * * *"}))
    assert (await only(engine)).definition.cron_expr == "*/5 * * * *"


async def test_all_that_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    browser: Browser, engine: Engine
) -> None:
    answer = await browser.send(
        "/schedules/new",
        **form(
            name="report",
            when="every day at 5",
            target_url="ftp://x",
            max_attempts="99",
            payload="{'a'",
            other='{"colour": 1}',
        ),
    )
    assert answer.status_code == 422
    for at in ("when", "target_url", "max_attempts", "payload", "other"):
        assert f'id="wrong-{at}-1"' in answer.text, at
    assert "more than one meaning" in answer.text
    assert 'data-text="every day at 05:00"' in answer.text
    assert "Unknown field" in answer.text
    assert 'value="99"' in answer.text
    assert "{&#39;a&#39;" in answer.text
    async with engine.db.transaction(read_only=True) as tx:
        assert await tx.fetch_value("SELECT count(*) FROM schedules") == 0


async def test_a_key_that_is_taken_is_said_at_the_key(browser: Browser, engine: Engine) -> None:
    await made(engine, interval="1h", key="k")
    answer = await browser.send("/schedules/new", **form(**GOOD, key="k"))
    assert answer.status_code == 422
    assert 'id="wrong-key-1"' in answer.text


async def test_a_new_one_can_be_tried_at_once_while_it_stays_paused(
    browser: Browser, engine: Engine
) -> None:
    """One real firing through the ordinary queue; nothing else until it is resumed."""
    answer = await browser.send("/schedules/new", **form(**GOOD, action="send"))
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/firings/fir_")
    assert (await only(engine)).status == "paused"
    assert "waiting" in await browser.page(answer.headers["location"])


async def test_a_monitor_cannot_be_sent_and_is_not_saved_for_that(
    browser: Browser, engine: Engine
) -> None:
    watch = form(name="watch", firing="pings", expect="every day at 3am", action="send")
    answer = await browser.send("/schedules/new", **watch)
    assert answer.status_code == 409
    assert "ping it instead" in answer.text
    answer = await browser.send("/schedules/new", **watch | {"action": "save"})
    assert answer.status_code == 303
    assert (await only(engine)).definition.monitor is not None


async def test_editing_changes_what_was_changed_and_nothing_else(
    browser: Browser, engine: Engine
) -> None:
    """An interval's anchor, a payload, a body's line ends: all as they were."""
    before = await made(engine, interval=300, body="a\r\nb", headers={"X": "1"}, tags=["a"])
    written = of_definition(before.definition)
    page = await browser.page(path(before, "/edit"))
    assert 'value="1"' in page
    answer = await browser.send(path(before, "/edit"), **form(**written | {"priority": "8"}))
    assert (answer.status_code, answer.headers["location"]) == (303, path(before))
    after = await only(engine)
    assert after.definition.priority == 8
    assert after.anchor_at == before.anchor_at
    assert after.definition.body == "a\r\nb"
    assert after.version == 2
    answer = await browser.send(
        path(before, "/edit"),
        **form(**of_definition(after.definition), version="2"),
    )
    assert answer.status_code == 303
    assert (await only(engine)).version == 2


async def test_who_saves_over_somebody_elses_change_is_told_and_shown_both(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every hour")
    written = of_definition(schedule.definition)
    await browser.send(path(schedule, "/edit"), **form(**written | {"description": "theirs"}))
    mine = form(**written | {"description": "mine"})
    answer = await browser.send(path(schedule, "/edit"), **mine)
    assert answer.status_code == 409
    assert "Somebody else has changed" in answer.text
    assert "theirs" in answer.text
    assert "mine" in answer.text
    assert 'name="version" value="2"' in answer.text
    answer = await browser.send(path(schedule, "/edit"), **mine | {"version": "2"})
    assert answer.status_code == 303
    assert (await only(engine)).definition.description == "mine"


async def test_a_refused_edit_keeps_what_was_typed_and_the_version(
    browser: Browser, engine: Engine
) -> None:
    schedule = await made(engine, text="every hour")
    written = of_definition(schedule.definition)
    answer = await browser.send(
        path(schedule, "/edit"), **form(**written | {"when": "every blue moon", "priority": "x"})
    )
    assert answer.status_code == 422
    assert "every blue moon</textarea>" in answer.text
    assert 'id="wrong-when-1"' in answer.text
    assert 'id="wrong-priority-1"' in answer.text
    assert 'name="version" value="1"' in answer.text
    assert (await only(engine)).version == 1


async def test_the_preview_says_what_it_means(browser: Browser) -> None:
    page = await browser.page("/schedules/preview?when=0+2+*+*+*&timezone=Europe/Paris")
    assert "<html" not in page
    assert "at 02:00 (Europe/Paris)" in page
    assert page.count("<li>") == 10
    assert "UTC" in page
    page = await browser.page("/schedules/preview?when=every+hour&timezone=new+york")
    assert 'data-fill="timezone" data-text="America/New_York"' in page


async def test_hostile_text_is_only_text(browser: Browser, engine: Engine) -> None:
    """S14: in a field that was refused, in the preview, and in the form of what was stored."""
    answer = await browser.send("/schedules/new", **form(**GOOD | {"name": EVIL, "when": EVIL}))
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
    page = await browser.page("/schedules/preview?when=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>" not in page
    schedule = await made(
        engine, name=EVIL, text="every hour", description=EVIL, payload={EVIL: "</textarea>" + EVIL}
    )
    page = await browser.page(path(schedule, "/edit"))
    assert "<script>alert" not in page
    assert "</textarea>&" not in page.replace("</textarea>\n", "")


async def test_who_may_only_read_can_neither_see_nor_send_the_form(
    app: Litestar, engine: Engine
) -> None:
    schedule = await made(engine, text="every hour")
    reader = await visitor(app, engine, "read")
    await reader.sign_in()
    assert (await reader.get("/schedules/new")).status_code == 403
    assert (await reader.get(path(schedule, "/edit"))).status_code == 403
    assert (await reader.send("/schedules/new", **form(**GOOD))).status_code == 403


@pytest.mark.parametrize("rest", ["/edit", "?", "/now", "/history", "/year"])
async def test_another_tenants_schedule_is_none(app: Litestar, engine: Engine, rest: str) -> None:
    """TN2: the same page as for an id that nobody has."""
    schedule = await made(engine, text="every hour")
    other = await visitor(app, engine, "admin", tenant="other")
    await other.sign_in()
    assert (await other.get(path(schedule, rest))).status_code == 404
    if rest == "/edit":
        assert (await other.send(path(schedule, rest), **form(**GOOD))).status_code == 404
        assert (await other.get(f"/schedules/new?like={path(schedule)[11:]}")).status_code == 404


async def test_a_copy_begins_with_all_of_it_but_the_key(browser: Browser, engine: Engine) -> None:
    schedule = await made(engine, text="every hour", key="k", priority=8)
    page = await browser.page(f"/schedules/new?like={path(schedule)[11:]}")
    assert "report (copy)" in page
    assert 'name="priority" value="8"' in page
    assert 'name="key" value=""' in page
