"""`/v1/circuits`: the hosts that fail, whoever's schedules call them; so for the operator alone."""

from datetime import datetime
from http import HTTPStatus

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
    """A host that has failed since it last answered: closed while it is still called, open while it
    is left alone, half_open when one request may try whether it answers again."""

    host: str
    state: str
    failures: int
    """In a row, over all workers and tenants."""
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
    after = cursors.decode(query.text("cursor"), str)
    if after is not None and "\0" in after:
        raise cursors.refused(query.text("cursor") or "")

    async def work(tx: Tx) -> list[circuits.Shown]:
        # One more than asked for tells whether there is another page.
        return list(await circuits.shown(tx, after=after, limit=limit + 1))

    found = await engine.db.run(work, read_only=True)
    page, more = found[:limit], len(found) > limit
    return models.Page(
        items=[view(each) for each in page],
        next_cursor=cursors.encode(page[-1].circuit.host) if more else None,
    )


@delete("/v1/circuits/{host:str}", opt=access.needs("admin"))
async def reset_circuit(engine: TheEngine, caller: Caller, host: Named) -> None:
    """Forget a host's failures: it is called again at once."""
    access.require_operator(caller)

    async def work(tx: Tx) -> bool:
        return "\0" not in host and await circuits.reset(tx, host.lower())

    if not await engine.db.run(work):
        raise Refused(
            HTTPStatus.NOT_FOUND,
            f"there is no circuit of {shown(host)}: it is called as usual. "
            "A host has its port when that is not the usual one, such as example.com:8443",
        )


ROUTES = (list_circuits, reset_circuit)


def view(each: circuits.Shown) -> CircuitShown:
    """A circuit as the API shows it."""
    circuit = each.circuit
    return CircuitShown(
        host=circuit.host,
        state=state_of(circuit, each.seen_at),
        failures=circuit.failures,
        trips=circuit.trips,
        opened_at=circuit.opened_at,
        open_until=circuit.open_until,
        probe_until=circuit.probe_until,
        last_error=each.last_error,
        changed_at=each.changed_at,
    )
