"""A node: one start of one process."""

from __future__ import annotations

import os
import secrets
import socket
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from rota.db import locks
from rota.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEDULER = "scheduler"
"""The role of those who want leases."""

LOCK_CLASS = locks.SESSIONS
"""The first half of every node's advisory lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Who holds leases and claims.

    The id is drawn anew at every start. A host's name or a process's number would make two
    containers of one image, or a process and its successor, the same holder: two leaders.
    """

    id: UUID
    roles: tuple[str, ...]
    host: str
    pid: int
    version: str
    lock_key: int
    """The second half of its advisory lock. 31 bits: what a lock's number and an oid both hold."""

    @classmethod
    def start(cls, roles: Iterable[str]) -> Node:
        """This process, as a node nobody has seen before."""
        return cls(
            id=uuid.uuid4(),
            roles=tuple(roles),
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            lock_key=secrets.randbits(31),
        )
