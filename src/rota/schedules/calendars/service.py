"""What owners ask for: put, read and delete calendars. Each verb runs in the caller's transaction.

`put` and `rearm.rearm_some` are transactions of their own: while the one holds the calendar it must
not wait for schedules that somebody holds who waits for the calendar.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from rota.errors import CallerError
from rota.schedules.calendars import countries, days, fields, sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.calendars.calendar import Calendar, Rules
    from rota.triggers.calendars import Days

MAX_CALENDARS = 1_000
"""Of one tenant."""


class NoSuchCalendar(CallerError):
    """The tenant has no calendar of this name."""

    def __init__(self) -> None:
        super().__init__("there is no calendar of yours with this name")


class CalendarInUse(CallerError):
    """Schedules have it."""

    def __init__(self, name: str, schedules: int) -> None:
        some = "1 schedule has" if schedules == 1 else f"{schedules} schedules have"
        super().__init__(
            f"expected a calendar that no schedule has, got {name}, which {some}: "
            "take it from them first (calendar: null)"
        )


class TooManyCalendars(CallerError):
    """The tenant has as many as there may be."""

    def __init__(self) -> None:
        super().__init__(f"expected at most {MAX_CALENDARS:,} calendars, got one more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A calendar that was read and can be stored: written out before the transaction begins."""

    name: str
    rules: Rules
    days_text: str
    package: str | None
    until_year: int | None


async def read(name: str, given: Mapping[str, object], *, today: date) -> Draft:
    """The calendar that the fields describe; `InvalidCalendar` with all that is wrong."""
    fields.check_name(name)
    # In a thread: the first of a country loads its module.
    return await asyncio.to_thread(_draft, name, given, today)


def _draft(name: str, given: Mapping[str, object], today: date) -> Draft:
    return written_out(name, fields.read(given), today)


def written_out(name: str, rules: Rules, today: date) -> Draft:
    """The rules with their days, for the years around today."""
    return Draft(
        name=name,
        rules=rules,
        days_text=days.encode(days_of(rules, today)),
        package=None if rules.country is None else countries.VERSION,
        until_year=None if rules.country is None else days.years(today)[-1],
    )


def days_of(rules: Rules, today: date) -> Days:
    """What the rules come to in the years around today."""
    holidays: dict[date, str] = {}
    if rules.country is not None:
        holidays = dict(countries.dates(rules.country, rules.subdivision, days.years(today)))
    return days.resolve(rules, holidays)


async def put(tx: Tx, tenant_id: UUID, draft: Draft) -> bool:
    """Make the calendar, or make it what was read. Whether it is new."""
    created = await sql.put(
        tx,
        tenant_id,
        draft.name,
        definition=msgspec.json.encode(draft.rules).decode(),
        days_text=draft.days_text,
        package=draft.package,
        until_year=draft.until_year,
    )
    if created and await sql.count(tx, tenant_id) > MAX_CALENDARS:
        raise TooManyCalendars
    return created


async def find(tx: Tx, tenant_id: UUID, name: str) -> Calendar:
    """One calendar; `NoSuchCalendar` when there is none such."""
    found = await sql.find(tx, tenant_id, name) if fields.is_name(name) else None
    if found is None:
        raise NoSuchCalendar
    return found


async def delete(tx: Tx, tenant_id: UUID, name: str) -> None:
    """Forget a calendar; `CalendarInUse` while schedules have it."""
    in_use = await sql.count_schedules(tx, tenant_id, name) if fields.is_name(name) else None
    if in_use is None:
        raise NoSuchCalendar
    if in_use:
        raise CalendarInUse(name, in_use)
    await sql.delete(tx, tenant_id, name)
