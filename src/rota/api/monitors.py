"""`/v1/schedules/{id}/ping` and `/ping/{token}`: somebody says that a monitor's work is done.

The token in a ping URL is an authority of its own, for a line in a crontab: it pings that monitor
and does nothing else. Who has no token learns nothing, not even whether there is such a monitor.
"""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from litestar import Response, get, post

from rota.api import access, bodies, paths, views
from rota.api.engine import Engine
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.problems import Refused, bad_field
from rota.db import Tx
from rota.tenants.tenant import Principal
from rota.watch import monitor_pings as pings
from rota.watch import monitor_tokens as tokens

MAX_NOTE: Final = 1_000


class PingFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a ping says: that the work is done, or that it has failed; and a note for people."""

    status: Literal["ok", "failed"] = "ok"
    note: str | None = None


class Pinged(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a ping."""

    schedule_id: str
    slot: datetime | None
    """The slot that it counts for; null when the monitor expects nothing."""
    counted: bool
    """False when the slot had its outcome already, or the monitor is paused."""
    monitor_state: str
    expected_at: datetime | None
    """What is expected next."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """A ping was taken. No more is said: whoever has the URL may ping, and nothing else."""

    status: str = "ok"


@post("/v1/schedules/{schedule_id:str}/ping", status_code=200, opt=access.needs("write"))
async def ping_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[bytes]:
    """Say that a monitor's work is done, or has failed."""
    given = _checked(await bodies.read_as(request, PingFields, optional=True))
    id_ = paths.schedule_id(schedule_id)
    taken: list[pings.Ping] = []

    async def work(tx: Tx) -> Done:
        ping = await pings.ping(tx, caller.tenant.id, id_, said=given.status, note=given.note)
        taken[:] = [ping]
        return Done(_pinged(ping))

    def after(_: Done) -> None:
        _publish(engine, taken[0])

    # A second time it is in the same window, and does not count.
    return await once(request, engine, caller, work, repeatable=True, after=after)


def _pinged(done: pings.Ping) -> Pinged:
    return Pinged(
        schedule_id=views.schedule_id(done.schedule_id),
        slot=done.slot,
        counted=done.counted,
        monitor_state=done.state,
        expected_at=done.expected_at,
    )


@get("/ping/{token:str}", opt=access.PUBLIC)
async def ping(request: AnyRequest, engine: TheEngine, token: Named) -> Heard:
    """Ping by the monitor's own URL: its work is done."""
    return await _by_token(request, engine, token, PingFields())


@post("/ping/{token:str}", status_code=200, opt=access.PUBLIC)
async def post_ping(request: AnyRequest, engine: TheEngine, token: Named) -> Heard:
    """Ping by the monitor's own URL: its work is done, or has failed."""
    given = _checked(await bodies.read_as(request, PingFields, optional=True))
    return await _by_token(request, engine, token, given)


ROUTES = (ping_schedule, ping, post_ping)


async def ping_key(engine: Engine, caller: Principal) -> bytes | None:
    """What ping URLs are made with; None without a key ring, and for whoever may not write.

    To be asked for before a transaction begins: it may need one of its own.
    """
    if not engine.vault.is_on or not caller.may("write"):
        return None
    return await engine.vault.known_token_key(engine.db)


def with_ping_url(
    schedule: dict[str, Any], key: bytes | None, engine: Engine, request: AnyRequest
) -> dict[str, Any]:
    """A schedule as it is shown, with the URL that pings it if it is a monitor.

    Where the operator has not said from where the API is reached, as the caller has reached it.
    """
    if schedule["monitor"] is None or key is None:
        return schedule
    path = tokens.PATH + tokens.make(key, paths.schedule_id(schedule["id"]))
    base = engine.public_url or str(request.base_url)
    return schedule | {"ping_url": f"{base.rstrip('/')}{path}"}


def _checked(given: PingFields) -> PingFields:
    if given.note is not None and len(given.note) > MAX_NOTE:
        raise bad_field(
            "note", f"expected at most {MAX_NOTE:,} characters, got {len(given.note):,}"
        )
    if given.note is not None and "\0" in given.note:
        raise bad_field("note", "expected text without the character NUL")
    return given


async def _by_token(request: AnyRequest, engine: Engine, token: str, given: PingFields) -> Heard:
    unknown = Refused(HTTPStatus.NOT_FOUND, "expected the ping URL of a monitor, got another")
    if not engine.vault.is_on:
        raise unknown
    schedule_id = tokens.read(await engine.vault.known_token_key(engine.db), token)
    if schedule_id is None:
        raise unknown
    tenant_id = await engine.db.run(lambda tx: pings.owner(tx, schedule_id), read_only=True)
    if tenant_id is None:
        raise unknown
    access.vouch(request)
    await _ping(engine, tenant_id, schedule_id, given)
    return Heard()


async def _ping(
    engine: Engine, tenant_id: UUID, schedule_id: UUID, given: PingFields
) -> pings.Ping:
    async def work(tx: Tx) -> pings.Ping:
        return await pings.ping(tx, tenant_id, schedule_id, said=given.status, note=given.note)

    # A second time it is in the same window, and does not count.
    done = await engine.db.run(work, repeatable=True, tenant=tenant_id)
    _publish(engine, done)
    return done


def _publish(engine: Engine, done: pings.Ping) -> None:
    for event in done.events:
        engine.bus.publish(event)
