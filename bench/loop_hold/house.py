"""An application on a database that holds the largest things a tenant may have."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, LiteralString

import msgspec

from bench.api.items import item
from bench.loop_hold.client import Ask, send
from rota import ids
from rota.api.app import create
from rota.api.engine import Engine
from rota.clock import SystemClock
from rota.dashboard import forgery
from rota.db import Database, installation
from rota.events import Bus
from rota.runtime.dashboard import pages
from rota.targets import OPEN
from rota.telemetry.metrics import Metrics
from rota.tenants import service as tenants
from rota.tenants.secrets import Rings, Vault
from rota.tenants.secrets.ring import new_entry, parse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

FAT: Final = 300
"""Schedules with a payload at its limit."""
PAYLOAD: Final[dict[str, Any]] = {"rows": [{"id": n, "name": f"row {n}"} for n in range(8_000)]}
"""Close to 256 kB of JSON."""
CAPTURES: Final = 25
FIRINGS: Final = 2_000

_COPY: LiteralString = """
    INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at,
                           definition)
    SELECT gen_random_uuid(), tenant_id, key || '-' || n, name, tags, job_type, 'paused', shard,
           anchor_at, definition
      FROM schedules, generate_series(1, $2) AS n
     WHERE key = $1
"""

_FIRE: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, due_at, status, reason,
                         attempt, triggered_by, started_at, finished_at, result_code,
                         result_excerpt)
    SELECT made.id, s.id, s.tenant_id, 1, at, at, 'dead', 'HTTP 500, after 3 attempts',
           3, 'schedule', at, at + interval '1 s', 500, repeat('<"&', 166)
      FROM schedules s, unnest($2::uuid[]) WITH ORDINALITY AS made(id, n),
           LATERAL (SELECT now() - n * interval '1 minute' AS at) AS slot
     WHERE s.key = $1
 RETURNING id
"""

_TRY: LiteralString = """
    INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                          started_at, finished_at, outcome, error, request, response_status,
                          response_headers, response_body)
    SELECT f.id, f.tenant_id, f.schedule_id, f.scheduled_for, n, gen_random_uuid(), f.started_at,
           f.finished_at, 'failed', 'HTTP 500', $3::jsonb, 500, '[["a", "b"]]'::jsonb, $4::bytea
      FROM firings f, generate_series(1, $2) AS n
     WHERE f.id = $1
"""


@dataclass(slots=True, kw_only=True)
class House:
    """The application, and the names of what is in it."""

    app: Any
    engine: Engine
    key: str
    cookie: str
    csrf: str
    schedules: dict[str, str] = field(default_factory=dict[str, str])
    """Ids by key."""
    firing: str = ""
    """Of a firing with captures at their limit."""
    dead: list[str] = field(default_factory=list[str])
    count: int = 0

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> Ask:
        """A request with the key; `body` as it is when it is bytes."""
        written = b"" if body is None else body
        written = written if isinstance(written, bytes) else msgspec.json.encode(written)
        return Ask(method, path, written, headers={"authorization": f"Bearer {self.key}"} | headers)

    def page(self, method: str, path: str, form: bytes | None = None) -> Ask:
        """A request of somebody who is signed in."""
        body = b"" if form is None else b"csrf=" + self.csrf.encode() + b"&" + form
        kind = "application/x-www-form-urlencoded"
        return Ask(method, path, body, kind, {"cookie": self.cookie})

    def fresh(self) -> int:
        """A number that was not used before."""
        self.count += 1
        return self.count

    async def made(self, **fields: Any) -> str:
        """A new schedule; its id."""
        number = self.fresh()
        answer = await send(self.app, self.api("POST", "/v1/schedules", schedule(number, **fields)))
        assert answer.status == 201, answer.body[:500]
        return str(msgspec.json.decode(answer.body)["id"])

    async def triggered(self) -> str:
        """A new firing that waits; its id."""
        made = await self.made(job_type="x", target_url=None, queue=f"pull-{self.count}")
        answer = await send(self.app, self.api("POST", f"/v1/schedules/{made}/trigger"))
        assert answer.status == 202, answer.body[:500]
        return str(msgspec.json.decode(answer.body)["id"])

    async def claimed(self) -> tuple[str, str]:
        """A firing that somebody works on; its id and the token."""
        firing = await self.triggered()
        ask = self.api("POST", f"/v1/queues/pull-{self.count - 1}/claim", {"limit": 1})
        found = msgspec.json.decode((await send(self.app, ask)).body)["items"]
        return firing, str(found[0]["token"])

    async def token(self, name: str) -> str:
        """A token that pings the monitor."""
        answer = await send(self.app, self.api("GET", f"/v1/schedules/{self.schedules[name]}"))
        return str(msgspec.json.decode(answer.body)["ping_url"]).rpartition("/")[2]


def schedule(number: int, **fields: Any) -> dict[str, Any]:
    """A schedule that no other is like; None takes a field away."""
    merged = item(number, "hold") | {"enabled": True} | fields
    if fields.get("job_type") is not None or fields.get("monitor") is not None:
        merged.pop("target_url", None)
    if fields.keys() & {"interval", "rrule", "text", "run_at", "monitor", "after"}:
        merged.pop("cron_expr")
    if fields.get("monitor") is not None:
        merged = {k: v for k, v in merged.items() if k not in {"payload", "job_type"}}
    if fields.get("target_url") is not None:
        merged.pop("job_type", None)
    return {name: value for name, value in merged.items() if value is not None}


@asynccontextmanager
async def house(dsn: str) -> AsyncGenerator[House]:
    """The application on an empty database with all migrations, filled."""
    async with await Database.open(dsn, application_name="rota loop hold") as db:
        async with db.transaction() as tx:
            owner = await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))
            shards = (await installation.read(tx)).shards
            key = await tenants.create_key(tx, owner, scopes=("admin",))
        clock, bus = SystemClock(), Bus()
        metrics = Metrics(bus, db, clock, pools={"engine": db})
        engine = Engine(
            db=db,
            clock=clock,
            bus=bus,
            shards=shards,
            targets=OPEN,
            vault=Vault(Rings.fixed(parse(new_entry("k1"), where="the benchmark"))),
            metrics=metrics.render,
        )
        stop = metrics.start()
        app = create(engine, pages=pages(engine))
        found = House(app=app, engine=engine, key=key.text, cookie="", csrf="")
        await _sign_in(found)
        await _fill(found)
        try:
            yield found
        finally:
            stop()


async def _sign_in(found: House) -> None:
    page = await send(found.app, Ask("GET", "/sign-in"))
    door = page.header(b"set-cookie").partition(";")[0]
    csrf = forgery.token(door.partition("=")[2])
    form = f"csrf={csrf}&key={found.key}".encode()
    ask = Ask("POST", "/sign-in", form, "application/x-www-form-urlencoded", {"cookie": door})
    answer = await send(found.app, ask)
    assert answer.status == 303, answer.body[:500]
    given = [value.decode() for name, value in answer.headers if name == b"set-cookie"]
    found.cookie = next(each for each in given if "rota_session" in each).partition(";")[0]
    found.csrf = forgery.token(found.cookie.partition("=")[2])


async def _fill(found: House) -> None:
    for name, fields in _NAMED.items():
        found.schedules[name] = await found.made(key=name, **fields)
    items = [item(number, "bulk") for number in range(10_000)]
    ask = found.api("POST", "/v1/schedules/bulk", items)
    assert (await send(found.app, ask)).status == 201
    for number in range(3):
        await _calendar(found, f"full-{number}")
    found.schedules["dated"] = await found.made(
        key="dated", cron_expr="* * * * * *", calendar="full-0"
    )
    async with found.engine.db.transaction() as tx:
        await tx.execute(_COPY, "fat", FAT)
        await tx.execute("UPDATE schedules SET tags = tags || '{paged}'::text[] WHERE key ~ '^fat'")
        made = list(ids.several(FIRINGS, at=found.engine.clock.now()))
        rows = await tx.fetch(_FIRE, "daily", made)
        found.dead = [ids.to_text(ids.Kind.FIRING, row[0]) for row in rows]
        found.firing = found.dead[0]
        request = msgspec.json.encode(
            {"url": "https://acme.example", "method": "POST", "headers": {}, "body": "<" * 250_000}
        ).decode()
        body = ("é<&\"'\ud7ff" * 120_000).encode()[: 1024 * 1024]
        await tx.execute(_TRY, rows[0][0], CAPTURES, request, body)


async def _calendar(found: House, name: str) -> None:
    ask = found.api("PUT", f"/v1/calendars/{name}", calendar())
    answer = await send(found.app, ask)
    assert answer.status == 201, answer.body[:500]


def calendar() -> dict[str, Any]:
    """As many dates as there may be, and a country's holidays."""
    first = date(2026, 1, 1)
    days = [(first + timedelta(days=2 * each)).isoformat() for each in range(10_000)]
    return {
        "country": "US",
        "subdivision": "CA",
        "dates": days[:4_990],
        "weekdays": ["sunday"],
        "except_dates": days[5_000:9_990],
    }


_NAMED: Final[dict[str, dict[str, Any]]] = {
    "secondly": {"cron_expr": "* * * * * *", "timezone": "America/New_York"},
    "daily": {"cron_expr": "30 2 * * *", "timezone": "America/New_York"},
    "leap": {"cron_expr": "0 0 29 2 *", "timezone": "Pacific/Apia"},
    "rule": {"rrule": "FREQ=SECONDLY;BYMONTHDAY=29;BYMONTH=2;BYDAY=MO;BYSECOND=0,30"},
    "english": {"text": "every weekday at 9am, 10am, 11am and 5pm except in august"},
    "monitor": {"monitor": {"expect": "* * * * *", "grace": "5m"}},
    "fat": {"cron_expr": "0 9 * * *", "payload": PAYLOAD, "target_url": "https://acme.example"},
}
