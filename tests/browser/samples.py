"""Sample schedules with a believable past, for pictures of the dashboard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.browser import samples_sql as sql

import rota
from rota import ids
from rota.db import Database

if TYPE_CHECKING:
    from tests.browser.house import House

_SITE = "https://api.acme.example"
_MOST = 2_000
"""Firings of one schedule."""


@dataclass(frozen=True)
class Sample:
    """A schedule and its past."""

    key: str
    name: str
    text: str
    path: str
    tags: tuple[str, ...]
    timezone: str = "UTC"
    took: float = 0.2
    """Seconds, in the middle."""
    fails: int = 9_973
    """One of so many fails for good."""
    days: float = 180
    more: tuple[tuple[str, Any], ...] = ()


SAMPLES = (
    *(Sample(f"statement-{n}", f"Statement of shop {n}", "every day at midnight",
             f"shops/{n}/statement", ("billing", "shops"), took=1.3, days=30)
      for n in range(101, 149)),
    *(Sample(f"probe-{place.lower()}", f"Probe the shop from {place.replace('_', ' ')}",
             "every minute from 8am to 8pm", f"probes/{place.lower()}", ("edge",),
             f"{area}/{place}", took=0.3, days=0.2)
      for area, place in (("America", "New_York"), ("America", "Los_Angeles"), ("Asia", "Tokyo"),
                          ("Europe", "Madrid"), ("Australia", "Sydney"), ("Asia", "Kolkata"))),
    Sample("sync-orders", "Sync orders", "every 2 minutes", "orders/sync", ("shop",), days=2),
    Sample("heartbeat", "Heartbeat of the edge", "every minute", "edge/ping", ("edge",), days=0.5),
    Sample("search-index", "Refresh the search index", "every 5 minutes", "search/refresh",
           ("shop", "search"), took=2.4, days=4),
    Sample("stock-levels", "Stock levels to partners", "every 15 minutes", "stock/push",
           ("partners",), "Europe/Berlin", took=1.1, fails=61, days=14),
    Sample("crm-contacts", "Contacts to the CRM", "every 30 minutes", "crm/contacts",
           ("crm",), took=0.8, fails=17, days=14),
    Sample("invoices", "Send invoices", "on the last weekday of the month at 6pm", "invoices/send",
           ("billing",), "Europe/Madrid", took=14),
    Sample("backup", "Nightly backup", "every day at 2:30am", "backup/start",
           ("ops", "nightly"), "America/New_York", took=41, fails=71),
    Sample("warehouse", "Load the warehouse", "every hour from 8am to 6pm", "warehouse/load",
           ("data",), took=6, fails=97, days=60),
    Sample("morning-report", "Morning report", "every weekday at 9am", "reports/morning",
           ("reports",), "America/New_York", took=3.2, fails=83,
           more=(("payload", {"report": "daily", "to": "sales"}), ("max_attempts", 5),
                 ("description", "Yesterday's figures, on every desk by nine."),
                 ("headers", {"Authorization": "Bearer ${secrets.REPORTS_TOKEN}"}))),
)  # fmt: skip


async def fill(house: House) -> str:
    """All of it, by the API where there is a way; the id of a firing that is worth a look."""
    _settings(house)
    for each in SAMPLES:
        house.client.create_schedule(
            name=each.name,
            key=each.key,
            text=each.text,
            timezone=each.timezone,
            tags=list(each.tags),
            target_url=f"{_SITE}/{each.path}",
            **dict(each.more),
        )
    house.client.create_schedule(
        name="Import of the old shop",
        text="every day at 4am",
        tags=["shop"],
        target_url=f"{_SITE}/old-shop/import",
        enabled=False,
    )
    house.client.create_schedule(
        name="Backups are copied off site",
        key="off-site",
        tags=["ops"],
        monitor={"expect": "every day at 5am", "grace": "30m"},
        timezone="America/New_York",
    )
    async with await Database.open(house.dsn) as db:
        return await _past(db)


def _settings(house: House) -> None:
    client = house.client
    for name in ("CRM_PASSWORD", "PARTNER_KEY", "REPORTS_TOKEN"):
        client.put_secret(name, f"sample of {name}")
    client.create_channel("On call", "https://hooks.acme.example/rota/on-call")
    client.create_channel(
        "Data team", "https://hooks.acme.example/rota/data", tags=["data"], events=["dead"]
    )
    client.put_calendar("us-holidays", country="US", description="Federal holidays")
    client.put_calendar("stocktaking", dates=["2027-01-02", "2027-07-03"], weekdays=["sunday"])
    client.create_key(scopes=["read"], name="Grafana")
    client.create_key(scopes=["write"], name="Deployments")
    for name in ("acme-eu", "acme-labs"):
        client.create_tenant(name=name, weight=2 if name == "acme-eu" else 1)


async def _past(db: Database) -> str:
    async with db.transaction() as tx:
        now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
        for each in SAMPLES:
            slots = _slots(each, now)
            await tx.execute(sql.FIRINGS, each.key, slots, each.took, each.fails)
        await tx.execute(sql.CIRCUIT)
        firing = await tx.fetch_value(sql.FEATURED, "morning-report")
        body = json.dumps({"rows": 1284, "sent": True, "took_ms": 1730}).encode()
        await tx.execute(sql.ATTEMPTS, firing, json.dumps(_REQUEST), json.dumps(_HEADERS), body)
    return ids.to_text(ids.Kind.FIRING, firing)


async def freshen(house: House) -> None:
    """A cluster of three, all well: nothing here runs, and nothing may seem to be late."""
    async with await Database.open(house.dsn) as db, db.transaction() as tx:
        for statement in (sql.NODES, sql.LEASES, sql.TIMERS, sql.ALERTS, sql.TOLD, sql.NAMED):
            await tx.execute(statement)


def _slots(sample: Sample, now: datetime) -> list[datetime]:
    """When it has fired, up to a moment ago."""
    trigger = rota.parse(sample.text, timezone=sample.timezone)
    found: list[datetime] = []
    at = trigger.next_after(now - timedelta(days=sample.days))
    while at is not None and at < now - timedelta(seconds=2):
        found.append(at)
        at = trigger.next_after(at)
    return found[-_MOST:]


_REQUEST = {
    "method": "POST",
    "url": f"{_SITE}/reports/morning",
    "headers": {
        "Authorization": "Bearer ${secrets.REPORTS_TOKEN}",
        "Content-Type": "application/json",
        "User-Agent": "Rota",
    },
    "body": json.dumps({"report": "daily", "to": "sales"}),
}
_HEADERS = [["content-type", "application/json"], ["x-request-id", "7f3c1e"]]
