"""A file for each page: what it shows, and what can be done there."""

from rota.dashboard.pages import (
    alerts,
    cluster,
    dead,
    editing,
    firings,
    forecast,
    live,
    overview,
    schedule,
    schedule_actions,
    schedules,
    settings,
    signing_in,
)

PAGES = (
    *signing_in.ROUTES,
    *overview.ROUTES,
    *live.ROUTES,
    *firings.ROUTES,
    *dead.ROUTES,
    *cluster.ROUTES,
    *schedules.ROUTES,
    *editing.ROUTES,
    *schedule.ROUTES,
    *schedule_actions.ROUTES,
    *forecast.ROUTES,
    *alerts.ROUTES,
    *settings.ROUTES,
)
