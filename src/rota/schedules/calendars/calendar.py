"""A calendar: what its owner said, and what that comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.triggers.calendars import Days


class Rules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a calendar is made of, as validated; the fields have the API's names."""

    description: str = ""
    country: str | None = None
    """Two letters, as in ISO 3166: its public holidays are left out."""
    subdivision: str | None = None
    """A part of the country, which has holidays of its own."""
    dates: tuple[str, ...] = ()
    """Dates that are left out, and ranges of them: 2026-12-24, 2026-12-24/2026-12-31."""
    weekdays: tuple[str, ...] = ()
    """Days of the week that are left out."""
    except_dates: tuple[str, ...] = ()
    """Dates and ranges that are not left out, whatever the others say."""


@dataclass(frozen=True, slots=True)
class Known:
    """The days of a calendar, at one version of them."""

    name: str
    version: int
    days: Days


@dataclass(frozen=True, slots=True)
class Calendars:
    """Those that were asked for by name, as far as the tenant has them."""

    known: Mapping[str, Known] = field(default_factory=dict[str, Known])
    others: tuple[str, ...] = ()
    """Names that the tenant does have, when one that was asked for is none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A calendar as it is stored."""

    name: str
    rules: Rules
    days: Days
    version: int
    package: str | None
    """The version of the holidays' data, when it has any of them."""
    until_year: int | None
    """The last year whose holidays are written out."""
    schedules: int
    """How many schedules have it."""
    created_at: datetime
    updated_at: datetime
