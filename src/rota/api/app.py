"""The application: every route, who may call it, and what an error looks like."""

from collections.abc import Callable

from litestar import Litestar
from litestar.datastructures import ResponseHeader
from litestar.di import Provide

from rota.api import (
    access,
    backfill,
    bodies,
    bulk,
    circuits,
    claiming,
    completing,
    control,
    dead,
    docs,
    explaining,
    figures,
    firings,
    health,
    keys,
    log,
    pausing,
    problems,
    schedules,
    secrets,
    signing,
    slots,
    tenants,
)
from rota.api.engine import Engine

ROUTES = (
    *schedules.ROUTES,
    *bulk.ROUTES,
    *control.ROUTES,
    *pausing.ROUTES,
    *backfill.ROUTES,
    *slots.ROUTES,
    *firings.ROUTES,
    *log.ROUTES,
    *dead.ROUTES,
    *claiming.ROUTES,
    *completing.ROUTES,
    *explaining.ROUTES,
    *secrets.ROUTES,
    *signing.ROUTES,
    *tenants.ROUTES,
    *keys.ROUTES,
    *circuits.ROUTES,
    *figures.ROUTES,
    health.healthz,
    health.readyz,
    docs.openapi_json,
    docs.docs,
)


def create(engine: Engine) -> Litestar:
    """The ASGI application on an engine."""
    return Litestar(
        route_handlers=ROUTES,
        dependencies={
            "engine": Provide(_always(engine), sync_to_thread=False),
            "caller": Provide(access.caller, sync_to_thread=False),
        },
        guards=[access.Guard(engine)],
        exception_handlers={Exception: problems.handler(engine.bus)},
        request_max_body_size=bodies.MAX_BODY,
        response_headers=[ResponseHeader(name="X-Content-Type-Options", value="nosniff")],
        debug=False,
        # The document is our own (openapi.py), and faults are published, not logged.
        openapi_config=None,
        logging_config=None,
    )


def _always(engine: Engine) -> Callable[[], Engine]:
    def provide() -> Engine:
        return engine

    return provide
