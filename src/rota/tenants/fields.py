"""What a tenant is made of, as an operator writes it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

from rota import durations
from rota.errors import InvalidInput
from rota.targets import celery
from rota.tenants.tenant import MIN_INTERVAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.tenants.tenant import Tenant

MAX_NAME: Final = 100
MAX_WEIGHT: Final = 1_000
MAX_COUNT: Final = 1_000_000_000
MAX_PATTERNS: Final = 100
MAX_BUDGET_MB: Final = 1_000_000
_MOST: Final = {"capture_budget_mb": MAX_BUDGET_MB}
_SHORTEST = timedelta(seconds=1)
# One in eleven days. A rate so small that the database takes it for 0 would be a fault.
SLOWEST: Final = 0.000001
FASTEST: Final = 1_000_000
_LONGEST = timedelta(days=1)

# A name is used in paths and on command lines: nothing to quote, nothing that looks like an id.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._@-]*[A-Za-z0-9])?", re.ASCII)
NAME_PATTERN: Final = rf"^(?![Tt][Ee][Nn]_){_NAME.pattern}$"
"""The same for those who read the API's description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How much of the installation is a tenant's; every value is in range."""

    name: str
    weight: int = 1
    max_concurrency: int | None = None
    create_rate: float | None = None
    request_rate: float | None = None
    max_schedules: int | None = None
    capture_budget_mb: int | None = None
    min_interval: timedelta = MIN_INTERVAL
    celery_allow: tuple[str, ...] = ()


NAMES: Final = tuple(Terms.__dataclass_fields__)


def terms_of(tenant: Tenant) -> Terms:
    """The terms that a tenant has."""
    return Terms(**{name: getattr(tenant, name) for name in NAMES})


def read(given: Mapping[str, object]) -> Terms:
    """The terms of a new tenant; InvalidInput with the first field that is wrong."""
    if given.get("name") is None:
        raise InvalidInput("Invalid name: expected a name, got none", field="name")
    return change(Terms(name=""), given)


def change(terms: Terms, given: Mapping[str, object]) -> Terms:
    """The terms with those given in place of the old; null takes one back to its default."""
    unknown = sorted(set(given) - set(NAMES))
    if unknown:
        known = ", ".join(NAMES)
        raise InvalidInput(
            f"Unknown field {unknown[0][:60]!r}: expected some of {known}", field=unknown[0][:60]
        )
    return replace(terms, **{name: _read_one(name, value) for name, value in given.items()})


def _read_one(name: str, value: object) -> object:
    match name:
        case "name":
            return _name(value)
        case "weight":
            return _whole(value, name, MAX_WEIGHT, default=1)
        case "create_rate" | "request_rate":
            return _rate(value, name)
        case "min_interval":
            return _interval(value)
        case "celery_allow":
            return _patterns(value)
        case _:
            return _whole(value, name, _MOST.get(name, MAX_COUNT))


def _name(value: object) -> str:
    if isinstance(value, str) and len(value) <= MAX_NAME and _NAME.fullmatch(value):
        if not value.lower().startswith("ten_"):
            return value
        raise _refused("name", "a name that does not begin as an id does (ten_)", value)
    raise _refused("name", f"up to {MAX_NAME} letters, digits, spaces and . _ @ -", value)


def _whole(value: object, name: str, most: int, *, default: int | None = None) -> int | None:
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
        return value
    raise _refused(name, f"a whole number from 1 to {most:,}", value)


def _rate(value: object, name: str) -> float | None:
    if value is None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if SLOWEST <= number <= FASTEST:
        return float(number)
    what = "schedules" if name == "create_rate" else "requests"
    raise _refused(name, f"{what} a second, from {SLOWEST:f} to {FASTEST:,}", value)


def _interval(value: object) -> timedelta:
    if value is None:
        return MIN_INTERVAL
    try:
        length = _length(value)
    except (InvalidInput, ValueError, OverflowError):
        length = None
    if length is None or not _SHORTEST <= length <= _LONGEST:
        raise _refused("min_interval", 'a length from 1 second to 1 day, such as "60s"', value)
    return length


def _patterns(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    given = cast("list[object]", value) if isinstance(value, list) else None
    if given is None or len(given) > MAX_PATTERNS:
        got = "another" if given is None else f"{len(given)} patterns"
        raise _refused("celery_allow", f"a list of up to {MAX_PATTERNS} patterns", got)
    for each in given:
        if not isinstance(each, str) or not celery.is_pattern(each):
            raise _refused("celery_allow", "TASK@QUEUE, such as reports.*@reports", each)
    return tuple(dict.fromkeys(cast("list[str]", given)))


def _length(value: object) -> timedelta | None:
    if isinstance(value, str):
        return durations.parse(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return timedelta(seconds=value)
    return None


def _refused(name: str, expected: str, got: object) -> InvalidInput:
    shown = repr(got)
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    return InvalidInput(f"Invalid {name}: expected {expected}, got {shown}", field=name)
