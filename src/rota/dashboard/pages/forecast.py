"""The forecast: what fires in the next seven days, and where it comes in herds."""

from http import HTTPStatus
from typing import Final

from litestar import Response, get

from rota.dashboard import doors, forecast_grid, rendering
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.errors import InvalidInput
from rota.triggers.civil import floor_second, instant_at
from rota.triggers.zones import names, zone

COST: Final = 100
"""Requests that a new forecast counts as, besides its own."""


@get("/forecast", opt=doors.needs("read"))
async def forecast(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """A heat map of the hours, on the clock that the address names, and the busiest seconds."""
    asked = request.query_params.get("tz", "").strip()[:60]
    shown, wrong = _zone(asked)
    tenant = visitor.principal.tenant
    found = await desk.forecasts.of(
        tenant.id,
        db=desk.db,
        clock=desk.clock,
        charge=lambda: desk.charge(tenant, COST),
    )
    busiest = max(found.hours)
    at = found.range.hour + found.hours.index(busiest) * forecast_grid.HOUR
    return rendering.page(
        "forecast.html",
        visitor=visitor,
        section="forecast",
        code=HTTPStatus.UNPROCESSABLE_ENTITY if wrong else HTTPStatus.OK,
        now=found.made_at,
        found=found,
        rows=forecast_grid.rows(found.range.hour, found.hours, shown),
        total=sum(found.hours),
        busiest=busiest,
        busiest_at=instant_at(at),
        short=forecast_grid.short,
        shares=(0.0, *forecast_grid.SHARES),
        zone=shown,
        zones=sorted(names()),
        asked=asked,
        wrong=wrong,
        past_the_hour=zone(shown).offset_at(floor_second(found.made_at)) % forecast_grid.HOUR // 60,
    )


ROUTES = (forecast,)


def _zone(asked: str) -> tuple[str, str]:
    """The zone to show, UTC unless another one is meant; and what is wrong with what was asked."""
    try:
        return zone(asked or "UTC").name, ""
    except InvalidInput as error:
        return "UTC", error.message
