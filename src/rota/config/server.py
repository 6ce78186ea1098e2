"""Which server a command or a client talks to, and with which key.

A key goes only to the server it was meant for. Anyone can put a `rota.toml` into a folder that
somebody else works in, so that file must not choose where a key of the environment goes, nor which
key goes to a server that the environment or the command line names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from pathlib import Path

    from rota.config.settings import Config

URL_FILE: Final = "url"
KEY_FILE: Final = "key"
"""What `rota serve` keeps in its data folder: its address, and a key for commands next to it."""
_LONGEST: Final = 4_096


@dataclass(frozen=True, slots=True)
class Server:
    """A server's address without a slash at its end, and the key to it if there is one."""

    url: str
    key: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value, and where it came from."""

    text: str = field(repr=False)
    source: str
    is_from_file: bool


def find(config: Config, *, url: str | None = None, api_key: str | None = None) -> Server:
    """The server and its key: as given here, else as configured, else as the data folder says.

    Raises InvalidConfig when there is no address, or when the key is not for that address.
    """
    address = _given(url, config, "url") or _found_url(config)
    key = _given(api_key, config, "api_key")
    if key is None:
        return Server(address.text.rstrip("/"), _found_key(config.data_dir, address.text))
    if key.is_from_file != address.is_from_file:
        raise InvalidConfig((_mismatch(key, address),))
    return Server(address.text.rstrip("/"), key.text)


def _given(argument: str | None, config: Config, name: str) -> _Value | None:
    if argument is not None:
        return _Value(argument, "an argument", is_from_file=False)
    value = getattr(config, name)
    if value is None:
        return None
    return _Value(value, config.sources[name], is_from_file=config.is_from_file(name))


def _found_url(config: Config) -> _Value:
    url = _read(config.data_dir / URL_FILE)
    if url is None:
        found = f"url: expected the address of a server, and none runs on {config.data_dir}"
        raise InvalidConfig((f"{found}: start one with `rota serve`, or set ROTA_URL",))
    # A file that chooses the folder chooses the address in it.
    source = f"{config.data_dir}, the data_dir of {config.sources['data_dir']}"
    return _Value(url, source, is_from_file=config.is_from_file("data_dir"))


def _found_key(folder: Path, url: str) -> str | None:
    """The key in the data folder, for the server that wrote it and no other."""
    if _read(folder / URL_FILE) != url.rstrip("/"):
        return None
    return _read(folder / KEY_FILE)


def _read(path: Path) -> str | None:
    """The text of a file that a server wrote; None when there is none.

    No link is followed: a folder with an address of its own and a link to the key of another
    folder would send that key to its address.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as file:
            return file.read(_LONGEST).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _mismatch(key: _Value, address: _Value) -> str:
    got = f"the key from {key.source} and the address {address.text} from {address.source}"
    if key.is_from_file:
        hint = "name the server in the same file, or set ROTA_API_KEY to a key for that address"
    else:
        hint = f"if you trust that server, set ROTA_URL={address.text}"
    return (
        "api_key: expected a key and an address that belong together (both from the environment "
        f"or the command line, or both from one file), got {got}. The key was not sent: {hint}"
    )
