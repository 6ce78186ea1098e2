"""`/v1/circuits`: the hosts that fail, whoever's schedules call them; so for the operator alone."""

from datetime import datetime
from http import HTTPStatus
from uuid import UUID

import msgspec
from litestar import delete, get

from rota.api import access, cursors, models
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.problems import Refused, shown
from rota.api.queries import Query
from rota.db import Tx
from rota.queue import circuits
from rota.workers.hosts.circuit import state_of


class CircuitShown(msgspec.Struct, frozen=True, kw_only=True):
    """A host that has failed a tenant since it last answered it: closed while it is still called,
    open while it is left alone, half_open when one request may try whether it answers again."""

    host: str
    tenant: str | None
    """Whose calls failed; null when the tenant is gone."""
    state: str
    reach: str
    """Whom it concerns while it is open: `tenant`, its own tenant; `host`, all tenants; `shared`,
    all tenants as soon as the circuit of a second one says the same."""
    failures: int
    """In a row, over all workers."""
    trips: int
    """How often it has opened since it last answered."""
    opened_at: datetime | None
    open_until: datetime | None
    probe_until: datetime | None
    """While somebody tries it: until when they may take."""
    last_error: str | None
    changed_at: datetime


@get("/v1/circuits", opt=access.needs("admin"))
async def list_circuits(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """List the hosts that fail, by name."""
    access.require_operator(caller)
    query = Query(request, "limit", "cursor")
    limit = query.limit()
    place = cursors.decode(query.text("cursor"), tuple[str, UUID])
    if place is not None and "\0" in place[0]:
        raise cursors.refused(query.text("cursor") or "")
    after = None if place is None else circuits.Called(*place)

    async def work(tx: Tx) -> list[circuits.Shown]:
        # One more than asked for tells whether there is another page.
        return list(await circuits.shown(tx, after=after, limit=limit + 1))

    found = await engine.db.run(work, read_only=True)
    page, more = found[:limit], len(found) > limit
    return models.Page(
        items=[view(each) for each in page],
        next_cursor=_cursor(page[-1].circuit) if more else None,
    )


@delete("/v1/circuits/{host:str}", opt=access.needs("admin"))
async def reset_circuit(engine: TheEngine, caller: Caller, host: Named) -> None:
    """Forget a host's failures, for all tenants: it is called again at once."""
    access.require_operator(caller)

    async def work(tx: Tx) -> bool:
        return "\0" not in host and await circuits.reset(tx, host.lower())

    if not await engine.db.run(work):
        raise Refused(
            HTTPStatus.NOT_FOUND,
            f"there is no circuit of {shown(host)}: it is called as usual. "
            "A host has its port when that is not the usual one, such as example.com:8443",
        )


def _cursor(last: circuits.Circuit) -> str:
    return cursors.encode((last.host, last.tenant_id))


ROUTES = (list_circuits, reset_circuit)


def view(each: circuits.Shown) -> CircuitShown:
    """A circuit as the API shows it."""
    circuit = each.circuit
    return CircuitShown(
        host=circuit.host,
        tenant=each.tenant,
        reach=circuit.reach,
        state=state_of(circuit, each.seen_at),
        failures=circuit.failures,
        trips=circuit.trips,
        opened_at=circuit.opened_at,
        open_until=circuit.open_until,
        probe_until=circuit.probe_until,
        last_error=each.last_error,
        changed_at=each.changed_at,
    )
