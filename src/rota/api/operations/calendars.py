"""Operations on calendars."""

from __future__ import annotations

from rota.api.operations.operation import AWAY, KEY, LARGE, UNKNOWN, WRONG, Operation, read

_IN_USE = (409, "Schedules have it")
_MOST = (403, "A key without the scope, or as many calendars as there may be")

CALENDARS = (
    Operation(
        name="put_calendar",
        method="put",
        path="/v1/calendars/{name}",
        summary="Make the calendar of this name, or change it; its schedules are armed anew.",
        scope="write",
        body="CalendarFields",
        answer="CalendarSaved",
        problems=(KEY[0], _MOST, *LARGE, WRONG, AWAY),
    ),
    read(
        "list_calendars",
        "/v1/calendars",
        "List the calendars by name.",
        "CalendarPage",
        *("limit", "cursor"),
    ),
    read(
        "get_calendar",
        "/v1/calendars/{name}",
        "One calendar, with the dates to come that it leaves out.",
        "Calendar",
    ),
    Operation(
        name="delete_calendar",
        method="delete",
        path="/v1/calendars/{name}",
        summary="Delete a calendar that no schedule has.",
        scope="write",
        status=204,
        problems=(*KEY, UNKNOWN, _IN_USE, AWAY),
    ),
)
