"""Which server to talk to, and with which key: as given, as configured, or as a server on this
machine left it in its data folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from rota import config as configuration
from rota.errors import InvalidConfig, InvalidInput
from rota.sdk.client.call import visible

if TYPE_CHECKING:
    from pathlib import Path

# The files that `rota serve` keeps there, as rota.runtime.files names them.
URL_FILE = "url"
KEY_FILE = "key"


@dataclass(frozen=True, slots=True)
class Place:
    """A server's address without a slash at its end, and the key to it if there is one."""

    url: str
    key: str | None = field(repr=False)


def find(url: str | None, api_key: str | None, data_dir: str | Path | None = None) -> Place:
    """What is given comes first, then ROTA_*, `rota.toml`, and the data folder."""
    if url is None or api_key is None:
        config = configuration.read({"data_dir": data_dir and str(data_dir)})
        folder = config.data_dir
        api_key = api_key or config.api_key
        url = url or config.url or _found_url(folder)
        # The key in the folder goes to no server but the one that wrote it.
        if api_key is None and _read(folder, URL_FILE) == url.rstrip("/"):
            api_key = _read(folder, KEY_FILE)
    return Place(_checked(url), None if api_key is None else visible("api_key", api_key.strip()))


def no_key(place: Place) -> InvalidConfig:
    """What to say to a call that needs a key when there is none."""
    found = f"api_key: expected a key for {place.url}, got none"
    return InvalidConfig((f"{found}: give api_key, or set ROTA_API_KEY",))


def _found_url(folder: Path) -> str:
    url = _read(folder, URL_FILE)
    if url is None:
        found = f"url: expected the address of a server, and none runs on {folder}"
        raise InvalidConfig((f"{found}: start one with `rota serve`, or set ROTA_URL",))
    return url


def _read(folder: Path, name: str) -> str | None:
    try:
        return (folder / name).read_text("utf-8").strip() or None
    except OSError:
        return None


def _checked(url: str) -> str:
    if not _is_address(url):
        raise InvalidInput(
            "url: expected an address such as https://rota.example:7682, got another", field="url"
        )
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts, port = httpx.URL(url), urlsplit(url).port
        is_host = parts.scheme in ("http", "https") and bool(parts.host) and port != 0
    except (httpx.InvalidURL, ValueError):
        return False
    # Names and passwords in an address end up in logs.
    return is_host and not set(url) & set("?# @")
