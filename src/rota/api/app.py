"""The application: every route, who may call it, and what an error looks like."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from litestar import Litestar, Router
from litestar.datastructures import ResponseHeader, State
from litestar.di import Provide
from litestar.types import LifeSpanScope, Scope

from rota.api import (
    access,
    alerts,
    audit,
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
    slot_audit,
    slots,
    tenants,
)
from rota.api.direct import DirectRoute
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
    *audit.ROUTES,
    *slot_audit.ROUTES,
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


DIRECT = (("POST", "/v1/schedules"),)
"""Operations past the framework's layers: those that a published figure needs there."""


class Application(Litestar):
    """Litestar, with a short way to some of its operations."""

    direct: Mapping[tuple[str, str], DirectRoute] = MappingProxyType({})

    async def __call__(self, scope: Scope | LifeSpanScope, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            route = self.direct.get((scope["method"], scope["path"]))
            if route is not None and route.takes(scope):
                await route(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


def create(engine: Engine, *, pages: Router | None = None) -> Litestar:
    """The ASGI application on an engine; `pages` are what else is shown at the same address."""
    page = None if pages is None else cast("problems.Handler", pages.exception_handlers[Exception])
    app = Application(
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
    app.direct = {
        (method, path): DirectRoute(app, engine, method=method, path=path)
        for method, path in DIRECT
    }
    return app


def _always(engine: Engine) -> Callable[[], Engine]:
    def provide() -> Engine:
        return engine

    return provide
