"""What the server answers about calendars and pings."""

from datetime import date, datetime

from rota.sdk.client.results import Result


class LeftOut(Result, frozen=True, kw_only=True):
    """A date that a calendar leaves out, and what people call it."""

    date: date
    name: str | None = None


class Calendar(Result, frozen=True, kw_only=True):
    """A calendar, and the dates to come that it leaves out beside its days of the week."""

    name: str
    version: int
    created_at: datetime
    updated_at: datetime
    description: str = ""
    country: str | None = None
    subdivision: str | None = None
    dates: tuple[str, ...] = ()
    weekdays: tuple[str, ...] = ()
    except_dates: tuple[str, ...] = ()
    upcoming: tuple[LeftOut, ...] = ()
    schedules: int = 0
    """How many schedules have it."""
    holidays_version: str | None = None
    until_year: int | None = None
    rearmed: int = 0
    """How many schedules were armed anew, when it was just written."""
    more: bool = False
    """There are others, which follow by themselves within a minute."""


class Pinged(Result, frozen=True, kw_only=True):
    """What came of a ping."""

    schedule_id: str
    counted: bool
    """False when the slot had its outcome already, or the monitor is paused."""
    monitor_state: str
    slot: datetime | None = None
    expected_at: datetime | None = None


class Heard(Result, frozen=True, kw_only=True):
    """A ping by URL was taken."""

    status: str = "ok"
