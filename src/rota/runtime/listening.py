"""A listening socket, opened before anything is started: a port in use must not be half a start."""

from __future__ import annotations

import socket

from rota.errors import InvalidConfig

_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections, or an InvalidConfig that says why it cannot be had.

    Made before anything is started: a port in use must be a sentence, not half a start.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(host, port, error) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise _unusable(host, port, error) from error
    return listener


def url_of(listener: socket.socket, host: str) -> str:
    """Where to reach it from this machine; a wildcard address is named as loopback."""
    port = listener.getsockname()[1]
    here = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}  # noqa: S104 - names of it
    name = here.get(host) or (f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}"


def _unusable(host: str, port: int, error: OSError) -> InvalidConfig:
    reason = (error.strerror or str(error)).lower()
    return InvalidConfig((f"port: expected {host} port {port} to be free, got: {reason}",))
