"""`/healthz`: the process answers. `/readyz`: it can do its work. No key is asked for either."""

import asyncio

import msgspec
from litestar import Response, get

from rota.api import access
from rota.api.engine import Engine
from rota.api.given import TheEngine
from rota.errors import RotaError
from rota.version import __version__

_PATIENCE_SECONDS = 2.0


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How a process is: `ok`, or why not."""

    status: str
    version: str = __version__
    detail: str | None = None
    """What is in the way."""


@get("/healthz", opt=access.PUBLIC)
async def healthz() -> Health:
    """Whether the process answers. It does, even while the database is away."""
    return Health(status="ok")


@get("/readyz", opt=access.PUBLIC)
async def readyz(engine: TheEngine) -> Response[Health]:
    """Whether the process can serve: it is not stopping, and the database answers."""
    detail = "stopping" if engine.is_stopping() else await _trouble(engine)
    health = Health(status="not ready" if detail else "ok", detail=detail)
    return Response(health, status_code=503 if detail else 200)


async def _trouble(engine: Engine) -> str | None:
    try:
        async with (
            asyncio.timeout(_PATIENCE_SECONDS),
            engine.db.transaction(read_only=True) as tx,
        ):
            await tx.fetch_value("SELECT 1 FROM settings LIMIT 1")
    except (RotaError, TimeoutError):
        return "the database is away"
    return None
