"""Which server to talk to, and with which key: as given, as configured, or as a server on this
machine left it in its data folder."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from rota import config as configuration
from rota.config import server
from rota.config.server import Server
from rota.errors import InvalidConfig, InvalidInput
from rota.sdk.client.call import visible

if TYPE_CHECKING:
    from pathlib import Path


def find(url: str | None, api_key: str | None, data_dir: str | Path | None = None) -> Server:
    """What is given comes first, then ROTA_*, `rota.toml`, and the data folder."""
    if url is None or api_key is None:
        config = configuration.read({"data_dir": data_dir and str(data_dir)})
        found = server.find(config, url=url, api_key=api_key)
        url, api_key = found.url, found.key
    return Server(_checked(url), None if api_key is None else visible("api_key", api_key.strip()))


def no_key(place: Server) -> InvalidConfig:
    """What to say to a call that needs a key when there is none."""
    found = f"api_key: expected a key for {place.url}, got none"
    return InvalidConfig((f"{found}: give api_key, or set ROTA_API_KEY",))


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
