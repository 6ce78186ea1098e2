"""A schedule as the server shows it, reduced to what a plan compares. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rota.cli.declare.documents import OWNER_TAG
from rota.schedules import fields, names
from rota.schedules.errors import InvalidSchedule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.schedules.definition import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A schedule there is."""

    id: str
    key: str
    name: str
    status: str
    written: Mapping[str, Any]
    """The fields it is made of that have a value, but whether it runs."""
    next_fire_at: datetime | None = None

    @property
    def owners(self) -> tuple[str, ...]:
        """Whose files it is from; usually one, or none."""
        return owners(self.written.get("tags") or ())

    def definition(self, now: datetime) -> Definition | None:
        """None for one that this version cannot read: then it can be compared, but not run."""
        try:
            return fields.read(self.written, now=now, require_future=False).definition
        except InvalidSchedule:
            return None


def of_record(record: Mapping[str, Any]) -> Standing:
    """From the API's object."""
    upcoming = record.get("next_fire_at")
    return Standing(
        id=record["id"],
        key=record["key"],
        name=record["name"],
        status=record["status"],
        written={
            name: value
            for name, value in record.items()
            if value is not None and name in names.FIELDS and name != "enabled"
        },
        next_fire_at=datetime.fromisoformat(upcoming) if upcoming else None,
    )


def owners(tags: Sequence[str]) -> tuple[str, ...]:
    """The owners that tags name."""
    return tuple(tag.removeprefix(OWNER_TAG) for tag in tags if tag.startswith(OWNER_TAG))


def without_owner(tags: Sequence[str]) -> list[str]:
    """The tags that people gave it."""
    return [tag for tag in tags if not tag.startswith(OWNER_TAG)]
