"""The kinds of value a setting can have: what to expect, how to read it, how to show it.

Each `read` is total: whatever it is given (text from the environment, a TOML value, a flag), it
returns the value or None, and never raises. That None is what becomes "expected …, got …".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rota.config import redact

if TYPE_CHECKING:
    from collections.abc import Callable

Shown = str | int | bool | list[str] | None

_UNITS = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)\s*", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)
_SECONDS_MAX = 100 * 365 * 86_400
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", re.ASCII | re.IGNORECASE)

_YES = {"1", "true", "yes", "on"}
_NO = {"0", "false", "no", "off"}

ROLES = ("api", "scheduler", "worker")


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of one kind are described, read and shown.

    `got` describes a value that did not fit, for the message; it must not reveal a secret.
    """

    expected: str
    read: Callable[[object], Any]
    show: Callable[[Any], Shown] = str
    got: Callable[[object], str] = redact.got


def whole_number(low: int, high: int) -> Kind:
    """A whole number within bounds, both included."""

    def read(value: object) -> int | None:
        if isinstance(value, str) and re.fullmatch(r"\d{1,12}", value.strip(), re.ASCII):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if low <= value <= high else None

    return Kind(f"a whole number from {low} to {high}", read, show=_same)


def duration(low: timedelta, high: timedelta) -> Kind:
    """A length of time within bounds, both included: "15s", "1h30m", "500ms", or seconds."""

    def read(value: object) -> timedelta | None:
        seconds = _seconds(value)
        # Compared before it is a timedelta: not every float is one, and NaN is not within.
        if seconds is None or not 0 <= seconds <= _SECONDS_MAX:
            return None
        interval = timedelta(seconds=seconds)
        return interval if low <= interval <= high else None

    bounds = f"from {show_duration(low)} to {show_duration(high)}"
    return Kind(f'a length of time {bounds}, such as "90s" or "2m"', read, show=show_duration)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return _seconds_of_text(value.strip().lower())
    return None


def _seconds_of_text(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        return float(text)
    total, end = 0.0, 0
    while match := _PART.match(text, end):
        total += float(match[1]) * _UNITS[match[2]]
        end = match.end()
    return total if text and end == len(text) else None


def show_duration(interval: timedelta) -> str:
    """The shortest text that reads back as the same length: 90 s is "1m30s"."""
    if not interval:
        return "0s"
    millis, micros = divmod(interval // timedelta(microseconds=1), 1000)
    if micros:
        return f"{interval.total_seconds():.6f}".rstrip("0") + "s"
    parts: list[str] = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, millis = divmod(millis, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def _same(value: Shown) -> Shown:
    return value


def _text(value: object) -> str | None:
    """Text that is fit for a path, a host or a key: not blank, nothing unprintable."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    return text if text and text.isprintable() else None


def _yes_or_no(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def _host(value: object) -> str | None:
    text = _text(value)
    if text is None or len(text) > 253:
        return None
    return text if _HOST_NAME.fullmatch(text) or _is_ip(text) else None


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _folder(value: object) -> Path | None:
    text = _text(str(value) if isinstance(value, Path) else value)
    return Path(text) if text else None


def _roles(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        return None
    items = cast("list[object]", value)
    words = {item.strip().lower() if isinstance(item, str) else None for item in items}
    chosen = tuple(role for role in ROLES if role in words)
    return chosen if chosen and len(chosen) == len(words) else None


def _address(value: object, schemes: tuple[str, ...]) -> str | None:
    text = _text(value)
    parts = redact.split(text) if text and " " not in text else None
    return text if parts and parts.scheme in schemes else None


def _dsn(value: object) -> str | None:
    return _address(value, ("postgresql", "postgres"))


def _url(value: object) -> str | None:
    text = _address(value, ("http", "https"))
    # A password in here would be shown wherever the address is.
    return text.rstrip("/") if text and "@" not in text and redact.has_host(text) else None


def _key(value: object) -> str | None:
    text = _text(value)
    return text if text and text.isascii() and " " not in text else None


YES_OR_NO = Kind("true or false", _yes_or_no, show=_same)
HOST = Kind('a host name or address without a port, such as "127.0.0.1"', _host)
FOLDER = Kind("the path of a folder", _folder)
ROLE_LIST = Kind(f"one or more of {', '.join(ROLES)}, separated by commas", _roles, show=list)
DSN = Kind(
    "postgresql://user@host/database, anything special in it percent-encoded",
    _dsn,
    redact.address,
    redact.got_address,
)
URL = Kind("http:// or https:// and a host, without a password", _url, got=redact.got_address)
KEY = Kind("a key without spaces", _key, redact.secret, redact.got_secret)
