"""The dashboard's routes, behind one door, with pages for errors."""

from collections.abc import Callable

from litestar import Router
from litestar.di import Provide

from rota.dashboard import doors, forms, statics, troubles
from rota.dashboard.desk import Desk
from rota.dashboard.pages import PAGES


def routes(desk: Desk, *, opt: dict[str, str]) -> Router:
    """All pages. `opt` is what the application around them asks of every route."""
    return Router(
        path="/",
        route_handlers=[statics.static, *PAGES],
        guards=[doors.keeper(desk)],
        dependencies={
            "desk": Provide(_always(desk), sync_to_thread=False),
            "visitor": Provide(doors.visitor, sync_to_thread=False),
        },
        exception_handlers={Exception: troubles.handler(desk.bus)},
        opt=opt,
        request_max_body_size=forms.SMALL,
        include_in_schema=False,
    )


def _always(desk: Desk) -> Callable[[], Desk]:
    def provide() -> Desk:
        return desk

    return provide
