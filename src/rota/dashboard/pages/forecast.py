"""The forecast: what fires in the next seven days, and where it comes in herds."""

from litestar import Response, get

from rota.dashboard import doors, forecast_grid, rendering
from rota.dashboard.given import TheDesk, TheVisitor
from rota.triggers.civil import instant_at


@get("/forecast", opt=doors.needs("read"))
async def forecast(desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """A heat map of the hours, and the busiest seconds."""
    tenant = visitor.principal.tenant.id
    found = await desk.forecasts.of(tenant, db=desk.db, clock=desk.clock)
    busiest = max(found.hours)
    at = found.range.hour + found.hours.index(busiest) * forecast_grid.HOUR
    return rendering.page(
        "forecast.html",
        visitor=visitor,
        section="forecast",
        now=found.made_at,
        found=found,
        rows=forecast_grid.rows(found.range.hour, found.hours),
        total=sum(found.hours),
        busiest=busiest,
        busiest_at=instant_at(at),
        short=forecast_grid.short,
        shares=(0.0, *forecast_grid.SHARES),
    )


ROUTES = (forecast,)
