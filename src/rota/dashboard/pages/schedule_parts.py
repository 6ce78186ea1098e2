"""What a schedule's page is made of, read part by part: each can be shown again by itself."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from rota.dashboard import bars, doors, drafts, heat, places, shown, told
from rota.dashboard.desk import Desk
from rota.dashboard.drafts_filled import of_definition
from rota.dashboard.given import AnyRequest
from rota.dashboard.policies import POLICIES
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.history import queries, record
from rota.schedules import after_links, after_sql, audit, next_slot, secret_names
from rota.schedules import list as listing
from rota.schedules.definition import Definition
from rota.schedules.list import Standing
from rota.schedules.schedule import Schedule, id_of_key
from rota.triggers.never import is_timed
from rota.triggers.parse import kind
from rota.triggers.preview import preview
from rota.triggers.warnings import warnings
from rota.watch import monitor_tokens as tokens

NEXT: Final = 6
PAGE: Final = 20
CHANGES: Final = 10
COUNTED_AT_FIRST: Final = 10_000
"""Firings that the calendar of a page counts, before it is fetched again."""
_MOST_FOLLOWERS: Final = 50
_NOW = "SELECT clock_timestamp()"

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which schedule, by whom, and what the address asks for."""

    desk: Desk
    visitor: doors.Visitor
    request: AnyRequest
    id: UUID

    @property
    def tenant_id(self) -> UUID:
        return self.visitor.principal.tenant.id


async def standing(tx: Tx, asked: Asked) -> Standing:
    found = await listing.find(tx, asked.tenant_id, asked.id)
    if found is None:
        raise missing("schedule")
    return found


async def now_part(asked: Asked) -> Values:
    """How it stands: its state, the next runs, what it does, and how it has done lately."""

    async def work(tx: Tx) -> Values:
        found = await standing(tx, asked)
        now = await tx.fetch_value(_NOW)
        return {
            "now": now,
            "standing": found,
            "schedule": found.schedule,
            "record": await record.record(tx, asked.id, now=now),
            "warnings": [
                *warnings(found.schedule.trigger, after=now),
                *await after_links.warnings(tx, found.schedule),
                *await secret_names.warnings(tx, found.schedule),
            ],
            **await _neighbours(tx, found.schedule),
        }

    values = await asked.desk.db.run(work, read_only=True, tenant=asked.tenant_id)
    return values | _described(values["schedule"], values["now"]) | await _ping_url(asked, values)


async def _neighbours(tx: Tx, schedule: Schedule) -> Values:
    """Whom it follows, and who follows it."""
    after = schedule.definition.after
    tenant_id = schedule.tenant_id
    upstream = None if after is None else await id_of_key(tx, tenant_id, after.key)
    ids = await after_sql.following(tx, tenant_id, schedule.key, limit=_MOST_FOLLOWERS)
    found = await listing.find_many(tx, tenant_id, [*ids, *([upstream] if upstream else [])])
    by_id = {each.schedule.id: each.schedule for each in found}
    return {
        "upstream": by_id.get(upstream) if upstream else None,
        "followers": [by_id[id_] for id_ in ids if id_ in by_id],
    }


def _described(schedule: Schedule, now: datetime) -> Values:
    written = of_definition(schedule.definition)
    as_written = written["when"] or written["expect"]
    slots = schedule.slots
    return {
        "id": shown.schedule_id(schedule.id),
        "zone": slots.timezone,
        "timed": is_timed(slots),
        "when": told.when(schedule),
        "as_written": as_written,
        "kind": kind(as_written) if as_written else "",
        "target": told.target(schedule.definition),
        "next_runs": []
        if schedule.status == "completed"
        else preview(slots, after=now, count=NEXT),
        "spread": next_slot.spread(schedule),
        "rules": _rules(written),
        "calls": [] if schedule.definition.steps is None else _steps(schedule.definition),
    }


def _rules(written: drafts.Written) -> list[tuple[str, str]]:
    """The rules that are not the usual ones."""
    return [
        (policy.label, written[policy.name])
        for policy in POLICIES.values()
        if policy.name not in ("key", "tags", "description")
        and written[policy.name] not in ("", policy.usual)
    ]


def _steps(definition: Definition) -> list[Values]:
    """Each call of a saga, and what undoes it."""
    return [
        {
            "name": step.name,
            "target": told.target(definition.of_step(step)),
            "undo": None
            if step.compensate is None
            else told.target(definition.of_step(step.compensate, compensating=True)),
        }
        for step in definition.steps or ()
    ]


async def _ping_url(asked: Asked, values: Values) -> Values:
    """For whoever may write: the URL is an authority of its own."""
    definition: Definition = values["schedule"].definition
    desk = asked.desk
    if definition.monitor is None or not desk.vault.is_on or not asked.visitor.may("write"):
        return {"ping_url": None}
    key = await desk.vault.known_token_key(desk.db)
    base = desk.public_url or str(asked.request.base_url)
    return {"ping_url": base.rstrip("/") + tokens.PATH + tokens.make(key, asked.id)}


async def history_part(asked: Asked) -> Values:
    """The latest firings as bars, and a page of them as a table."""
    query = asked.request.query_params
    status = query.get("status", "")
    wanted = [status] if status in queries.STATUSES else None
    after = places.read(query.get("after"), queries.Place)

    async def work(tx: Tx) -> tuple[datetime, Standing, queries.Page, queries.Page]:
        found = await standing(tx, asked)
        latest = await queries.of_schedule(tx, asked.id, limit=bars.LATEST)
        page = await queries.of_schedule(tx, asked.id, statuses=wanted, after=after, limit=PAGE)
        return await tx.fetch_value(_NOW), found, latest, page

    now, found, latest, page = await asked.desk.db.run(work, read_only=True, tenant=asked.tenant_id)
    zone = found.schedule.slots.timezone
    shapes, top = bars.bars(latest.firings, zone=zone, now=now)
    return {
        "id": shown.schedule_id(asked.id),
        "now": now,
        "zone": zone,
        "bars": shapes,
        "bars_top": top,
        "bars_size": (bars.WIDTH, bars.HEIGHT),
        "firings": page.firings,
        "statuses": queries.STATUSES,
        "status": status if wanted else "",
        "first_page": after is None,
        "next_place": None if page.next_place is None else places.write(page.next_place),
    }


async def changes_part(asked: Asked) -> Values:
    """Who changed it: a page of its audit trail."""
    place = places.read(asked.request.query_params.get("changes"), tuple[int])
    before = None if place is None else min(max(place[0], 1), 2**63 - 1)
    wanted = audit.Filter(schedule_id=asked.id)

    async def work(tx: Tx) -> audit.ChangePage:
        return await audit.page(tx, asked.tenant_id, wanted, before=before, limit=CHANGES)

    page = await asked.desk.db.run(work, read_only=True, tenant=asked.tenant_id)
    return {
        "changes": [each.change for each in page.changes],
        "newest_changes": before is None,
        "older_changes": None if page.next_id is None else places.write((page.next_id,)),
    }


async def year_part(asked: Asked, *, most: int | None = None) -> Values:
    """Half a year of what became of its slots, and half a year of those to come.

    `most` bounds what is counted for a page that somebody waits for; the rest comes with the part.
    """

    async def work(tx: Tx) -> Values:
        found = await standing(tx, asked)
        now = await tx.fetch_value(_NOW)
        slots = found.schedule.slots
        first = heat.first_day(now, slots.timezone)
        days = heat.spans(first, slots.timezone, weeks=2 * heat.WEEKS)
        past = [each for each in days if each.at <= now]
        recorded = await asked.desk.days.of_schedule(tx, asked.id, past, now=now, most=most)
        to_come = heat.planned(slots, days, now) if found.schedule.status == "active" else {}
        cut = heat.WEEKS * 7
        whole: Values = {"recorded": recorded, "to_come": to_come, "now": now}
        return {
            "zone": slots.timezone,
            "past": heat.half(first, days[:cut], **whole),
            "ahead": heat.half(heat.after(first), days[cut:], **whole),
            "uncounted": len(past) - len(recorded),
            "plans": bool(to_come),
            "size": heat,
        }

    return await asked.desk.db.run(work, read_only=True, tenant=asked.tenant_id)
