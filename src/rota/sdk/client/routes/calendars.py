"""`/v1/calendars`, and pings of monitors."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Literal

from rota.sdk.client.call import Call, Listing, at, delete, get, listing, post, post_once, put, some
from rota.sdk.client.results import Page
from rota.sdk.client.results_calendars import Calendar, Heard, Pinged
from rota.sdk.client.schedules import Schedule

_ONE = "/v1/calendars/{}"
_PING = "/ping/{}"

Date = str | date
"""A date; or, as text, a range of them such as 2026-12-24/2026-12-31."""


def put_calendar(
    name: str,
    *,
    country: str | None = None,
    subdivision: str | None = None,
    dates: Iterable[Date] | None = None,
    weekdays: Iterable[str] | None = None,
    except_dates: Iterable[Date] | None = None,
    description: str | None = None,
) -> Call[Calendar]:
    """Make the calendar of this name, or make it be of these fields: what is left out is gone.

    Schedules that have it are armed anew, from now on.
    """
    body = some(
        country=country,
        subdivision=subdivision,
        dates=_dates(dates),
        weekdays=None if weekdays is None else list(weekdays),
        except_dates=_dates(except_dates),
        description=description,
    )
    return put(Calendar, at(_ONE, name), body)


def list_calendars(*, page_size: int | None = None) -> Listing[Calendar]:
    """The calendars by name."""
    return listing(Page[Calendar], "/v1/calendars", page_size)


def get_calendar(name: str) -> Call[Calendar]:
    """One calendar, with the dates to come that it leaves out."""
    return get(Calendar, at(_ONE, name))


def delete_calendar(name: str) -> Call[None]:
    """Delete a calendar that no schedule has."""
    return delete(at(_ONE, name))


def ping(
    schedule: str | Schedule,
    *,
    status: Literal["ok", "failed"] | None = None,
    note: str | None = None,
    request_key: str | None = None,
) -> Call[Pinged]:
    """Say that a monitor's work is done, or has failed."""
    id_ = schedule.id if isinstance(schedule, Schedule) else schedule
    body = some(status=status, note=note) or None
    return post_once(Pinged, at("/v1/schedules/{}/ping", id_), request_key, body)


def ping_token(token: str) -> Call[Heard]:
    """Ping by the last part of a monitor's `ping_url`: its work is done. Needs no key."""
    return replace(get(Heard, at(_PING, token)), has_key=False)


def ping_token_saying(
    token: str, *, status: Literal["ok", "failed"] | None = None, note: str | None = None
) -> Call[Heard]:
    """The same, with what a ping may say. Needs no key."""
    body = some(status=status, note=note) or None
    return replace(post(Heard, at(_PING, token), body), has_key=False)


def _dates(given: Iterable[Date] | None) -> list[str] | None:
    if given is None:
        return None
    return [each if isinstance(each, str) else each.isoformat() for each in given]
