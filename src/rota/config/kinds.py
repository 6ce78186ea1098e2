"""The kinds of value a setting can have: what to expect, how to read it, how to show it.

Each `read` is total: whatever it is given (text from the environment, a TOML value, a flag), it
returns the value or None, and never raises. That None is what becomes "expected …, got …".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from rota import durations
from rota.config import redact
from rota.durations import compact

if TYPE_CHECKING:
    from collections.abc import Callable

Shown = str | int | bool | list[str] | None

_NUMBER = re.compile(r"\d{1,12}(\.\d{1,6})?", re.ASCII)
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
        length = _length(value.strip() if isinstance(value, str) else value)
        # Whole milliseconds, as that is what is shown.
        fits = length is not None and low <= length <= high and not length.microseconds % 1000
        return length if fits else None

    bounds = f"from {compact(low)} to {compact(high)}"
    return Kind(f'a length of time {bounds}, such as "90s" or "2m"', read, show=compact)


def _length(value: object) -> timedelta | None:
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        try:
            return durations.parse(value)
        except durations.InvalidDuration:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    seconds = float(value) if isinstance(value, str) else value
    # Compared before it is a timedelta: not every float is one, and NaN is within no bounds.
    return timedelta(seconds=seconds) if 0 <= seconds <= _SECONDS_MAX else None


def _same(value: Shown) -> Shown:
    return value


def _texts(values: tuple[int, ...]) -> list[str]:
    return [str(value) for value in values]


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


def _items(value: object) -> list[object]:
    """The items of a list, or of a text with commas; none for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    return list(cast("list[object]", value)) if isinstance(value, list | tuple) else []


def _targets(value: object) -> tuple[str, ...] | None:
    items = _items(value)
    texts = tuple(item.strip().lower() for item in items if _is_target(item))
    return texts if texts and len(texts) == len(items) else None


def _is_target(item: object) -> TypeGuard[str]:
    if not isinstance(item, str):
        return False
    text = item.strip().removeprefix("*.")
    if text == item.strip() and ("/" in text or ":" in text):
        return _is_network(text)
    return len(text) <= 253 and _HOST_NAME.fullmatch(text) is not None


def _networks(value: object) -> tuple[str, ...] | None:
    items = _items(value)
    texts = tuple(item.strip().lower() for item in items if _is_network(item))
    return texts if texts and len(texts) == len(items) else None


def _is_network(item: object) -> TypeGuard[str]:
    if not isinstance(item, str):
        return False
    try:
        ip_network(item.strip(), strict=False)
    except ValueError:
        return False
    return True


def _ports(value: object) -> tuple[int, ...] | None:
    read = whole_number(1, 65_535).read
    items = _items(value)
    ports = [port for item in items if (port := read(item)) is not None]
    return tuple(sorted(set(ports))) if ports and len(ports) == len(items) else None


def _address(value: object, schemes: tuple[str, ...]) -> str | None:
    text = _text(value)
    parts = redact.split(text) if text and " " not in text else None
    return text if parts and parts.scheme in schemes else None


def _dsn(value: object) -> str | None:
    return _address(value, ("postgresql", "postgres"))


def _broker(value: object) -> str | None:
    text = _text(value)
    # Whatever Celery has a transport for; only what it is, not where, can be told here.
    parts = redact.split(text) if text and " " not in text else None
    return text if parts and parts.scheme else None


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
FILE = Kind("the path of a file", _folder)
ROLE_LIST = Kind(f"one or more of {', '.join(ROLES)}, separated by commas", _roles, show=list)
TARGETS = Kind(
    'hosts, addresses or networks such as "example.com, *.example.com, 10.0.0.0/8"',
    _targets,
    show=list,
)
NETWORKS = Kind(
    'addresses or networks such as "127.0.0.1, 10.0.0.0/8, fd00::/8"', _networks, show=list
)
PORTS = Kind("ports from 1 to 65535, separated by commas", _ports, show=_texts)
DSN = Kind(
    "postgresql://user@host/database, anything special in it percent-encoded",
    _dsn,
    redact.address,
    redact.got_address,
)
BROKER = Kind(
    "a broker's address such as redis://host/0 or amqp://host//",
    _broker,
    redact.address,
    redact.got_address,
)
URL = Kind("http:// or https:// and a host, without a password", _url, got=redact.got_address)
KEY = Kind("a key without spaces", _key, redact.secret, redact.got_secret)
KEYS = Kind("id:base64key, … without spaces", _key, redact.secret, redact.got_secret)
