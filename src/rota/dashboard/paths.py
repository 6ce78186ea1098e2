"""Ids in addresses. Pure: what is none names nothing, and that is all one hears."""

from uuid import UUID

from rota import ids
from rota.dashboard.refusals import missing


def schedule_id(text: str) -> UUID:
    return _read(ids.Kind.SCHEDULE, text, "schedule")


def firing_id(text: str) -> UUID:
    id_ = _read(ids.Kind.FIRING, text, "firing")
    if not ids.is_on_the_calendar(id_):
        raise missing("firing")
    return id_


def _read(kind: ids.Kind, text: str, what: str) -> UUID:
    try:
        return ids.from_text(kind, text)
    except ids.InvalidId as error:
        raise missing(what) from error
