"""The application: every route, who may call it, and what an error looks like."""

from collections.abc import Callable
from typing import cast

from litestar import Litestar, Router
from litestar.datastructures import ResponseHeader, State
from litestar.di import Provide

from rota.api import (
    access,
    alerts,
    backfill,
    bodies,
    bulk,
    calendars,
    channels,
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
    metrics,
    monitors,
    pausing,
    problems,
    schedules,
    secrets,
    sign_in_links,
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
    *calendars.ROUTES,
    *monitors.ROUTES,
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
    *sign_in_links.ROUTES,
    *circuits.ROUTES,
    *figures.ROUTES,
    *channels.ROUTES,
    *alerts.ROUTES,
    metrics.metrics,
    health.healthz,
    health.readyz,
    docs.openapi_json,
    docs.docs,
)


def create(engine: Engine, *, pages: Router | None = None) -> Litestar:
    """The ASGI application on an engine; `pages` are what else is shown at the same address."""
    page = None if pages is None else cast("problems.Handler", pages.exception_handlers[Exception])
    return Litestar(
        route_handlers=ROUTES if pages is None else (*ROUTES, pages),
        dependencies={
            "engine": Provide(_always(engine), sync_to_thread=False),
            "caller": Provide(access.caller, sync_to_thread=False),
        },
        guards=[access.Guard(engine)],
        exception_handlers={Exception: problems.handler(engine.bus, page=page)},
        request_max_body_size=bodies.MAX_BODY,
        response_headers=[ResponseHeader(name="X-Content-Type-Options", value="nosniff")],
        state=State({bodies.ENGINE: engine}),
        debug=False,
        # The document is our own (openapi.py), and faults are published, not logged.
        openapi_config=None,
        logging_config=None,
    )


def _always(engine: Engine) -> Callable[[], Engine]:
    def provide() -> Engine:
        return engine

    return provide
