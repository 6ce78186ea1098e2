"""WHO MAY FIRE: leases on shards, held by nodes, proven by fences.

A *node* is one start of a process. A *lease* lets one node fire the timers of one shard until it
runs out, unless it is renewed. Its *fence* is a number that rises by one with every change of
holder: `hold` locks the pair (shard, fence) inside the transaction that writes, so whoever was
overtaken finds no row and writes nothing, however late it wakes up and whatever its clock says.

Clocks only decide who may *try*: the database's clock when a lease has run out, the monotonic one
how long its holder trusts it. Being wrong about either costs time, never a second firing.
"""

from __future__ import annotations

from rota.leases.elector import (
    Elector,
    LeaseLost,
    LeaseResigned,
    LeaseTaken,
    NodeReturned,
    NodeStoodBack,
)
from rota.leases.fence import FenceLost, hold
from rota.leases.lease import Lease
from rota.leases.node import SCHEDULER, Node
from rota.leases.session import NodeSession, SessionLost, SessionMade
from rota.leases.share import SlowRule

__all__ = [
    "SCHEDULER",
    "Elector",
    "FenceLost",
    "Lease",
    "LeaseLost",
    "LeaseResigned",
    "LeaseTaken",
    "Node",
    "NodeReturned",
    "NodeSession",
    "NodeStoodBack",
    "SessionLost",
    "SessionMade",
    "SlowRule",
    "hold",
]
