"""Ids in addresses. Pure: what is none names nothing, and that is all one hears."""

from datetime import UTC, datetime
from uuid import UUID

from rota import ids
from rota.dashboard.refusals import missing

# Two days short of the end of the calendar: an id may name an instant that no calendar reaches.
_LAST_MILLIS = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp()) * 1000


def schedule_id(text: str) -> UUID:
    return _read(ids.Kind.SCHEDULE, text, "schedule")


def firing_id(text: str) -> UUID:
    id_ = _read(ids.Kind.FIRING, text, "firing")
    if id_.int >> 80 > _LAST_MILLIS:
        raise missing("firing")
    return id_


def _read(kind: ids.Kind, text: str, what: str) -> UUID:
    try:
        return ids.from_text(kind, text)
    except ids.InvalidId as error:
        raise missing(what) from error
