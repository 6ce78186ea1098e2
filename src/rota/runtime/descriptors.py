"""File descriptors: as many as the process may have, and some that callers cannot take."""

from __future__ import annotations

import resource
from typing import Final

RESERVED: Final = 256
"""Not for callers: the database, files, what the process starts with."""
_PLENTY: Final = 1 << 20


def raise_limit() -> None:
    """Allow this process as many descriptors as it may have; the usual number is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        # Some systems call the limit infinite and take no such number: then it stays as it is.
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def for_callers() -> int:
    """How many connections callers may have, so that the process can still do its work."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    limit = _PLENTY if limit == resource.RLIM_INFINITY else limit
    return max(limit - RESERVED, limit // 2)
