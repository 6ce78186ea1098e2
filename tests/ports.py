"""Ports on which no one listens, and which no one else gets in the meantime.

A port that the system picks (bind to 0) and that is closed again may be given to the next
outgoing connection, or to another test, before the server it was meant for has started.
"""

from __future__ import annotations

import itertools
import os
import socket
from functools import cache

_PORTS = range(10_000, 32_000)
"""Below those that the system picks from."""
_kept: list[socket.socket] = []


def reserve_port() -> int:
    """A TCP port that is this process's until it ends."""
    for port in itertools.islice(_candidates(), len(_PORTS)):
        # The UDP port of the same number marks it as taken, to all processes of this machine.
        mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            mark.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            continue
        _kept.append(mark)
        return port
    raise AssertionError(f"expected a free port among {_PORTS}, found none")


@cache
def _candidates() -> itertools.cycle[int]:
    at = os.getpid() * 37 % len(_PORTS)
    return itertools.cycle([*_PORTS[at:], *_PORTS[:at]])
