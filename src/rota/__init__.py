"""Rota: a distributed job scheduler on PostgreSQL.

A *trigger* names instants. A *schedule* (of a *tenant*) binds a trigger to a *target*. A *timer* is
the schedule's next due instant, kept in a *shard*. Whoever holds the shard's *lease* may fire, and
every transaction it makes proves the lease's *fence*. *Firing* turns a due timer into one row in
the *queue*. A *worker* claims it and makes an *attempt*. Outcomes are *history*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.version import __version__

if TYPE_CHECKING:
    from rota.library.app import Rota
    from rota.library.handles import Handle, TaskCancelled, TaskFailed
    from rota.library.task import Task
    from rota.sdk.client.client import AsyncClient, Client
    from rota.sdk.when import explain, parse, preview
    from rota.triggers.trigger import Trigger
    from rota.workers.tasks.context import Context
    from rota.workers.tasks.exceptions import Cancelled, Discard, Retry

__all__ = [
    "AsyncClient",
    "Cancelled",
    "Client",
    "Context",
    "Discard",
    "Handle",
    "Retry",
    "Rota",
    "Task",
    "TaskCancelled",
    "TaskFailed",
    "Trigger",
    "__version__",
    "explain",
    "parse",
    "preview",
]

_HOMES = {
    "AsyncClient": "rota.sdk.client",
    "Cancelled": "rota.workers.tasks.exceptions",
    "Client": "rota.sdk.client",
    "Context": "rota.workers.tasks.context",
    "Discard": "rota.workers.tasks.exceptions",
    "Handle": "rota.library.handles",
    "Retry": "rota.workers.tasks.exceptions",
    "Rota": "rota.library.app",
    "Task": "rota.library.task",
    "TaskCancelled": "rota.library.handles",
    "TaskFailed": "rota.library.handles",
    "Trigger": "rota.triggers.trigger",
    "explain": "rota.sdk.when",
    "parse": "rota.sdk.when",
    "preview": "rota.sdk.when",
}


def __getattr__(name: str) -> object:
    """Public names are imported when first used, so that `import rota` costs nothing."""
    import importlib  # noqa: PLC0415 - see above

    if name not in _HOMES:
        raise AttributeError(f"module 'rota' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
