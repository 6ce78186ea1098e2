"""The cluster: nodes, shards and who leads them, lag, and the hosts that fail."""

from datetime import timedelta
from typing import Any, Final

from litestar import Response, get, post

from rota.dashboard import doors, rendering
from rota.dashboard.forms import Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.leases import standing
from rota.queue import circuits
from rota.timers import lags

_MOST_CIRCUITS: Final = 200


@get("/cluster", opt=doors.needs("operator"))
async def cluster(desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """How it stands now."""

    async def work(tx: Tx) -> dict[str, Any]:
        behind = await lags(tx)
        return {
            "now": await tx.fetch_value("SELECT clock_timestamp()"),
            "nodes": await standing.nodes(tx),
            "shards": [
                (each, behind.get(each.shard, timedelta())) for each in await standing.shards(tx)
            ],
            "circuits": await circuits.shown(tx, after=None, limit=_MOST_CIRCUITS),
        }

    values = await desk.db.run(work, read_only=True)
    holders = {node.id: number for number, node in enumerate(values["nodes"], start=1)}
    return rendering.page(
        "cluster.html", visitor=visitor, section="cluster", holders=holders, **values
    )


@post("/cluster/circuits/reset", opt=doors.needs("operator"))
async def reset_circuit(request: AnyRequest, desk: TheDesk) -> Response[Any]:
    """Call a host again at once."""
    host = (await Form.read(request)).text("host")
    if not host.isprintable():
        raise missing("host")

    async def work(tx: Tx) -> None:
        await circuits.reset(tx, host)

    await desk.db.run(work, repeatable=True)
    return rendering.go_to("/cluster#circuits")


ROUTES = (cluster, reset_circuit)
