"""What owners ask for, in one place. Each verb runs in the caller's transaction, but for the bulk
ones, which read thousands of definitions before they begin one.

"Now" is the database's clock. Nothing here fires: timers are set, and whoever holds the lease does.
"""

from __future__ import annotations

from rota.schedules.changing import delete, pause, resume, update, upsert_by_key
from rota.schedules.creating import MAX_MANY, create, create_each, create_many
from rota.schedules.reading import Filter, Standing, find, page, several
from rota.schedules.running import Run, trigger_now
from rota.schedules.saved import Saved

__all__ = [
    "MAX_MANY",
    "Filter",
    "Run",
    "Saved",
    "Standing",
    "create",
    "create_each",
    "create_many",
    "delete",
    "find",
    "page",
    "pause",
    "resume",
    "several",
    "trigger_now",
    "update",
    "upsert_by_key",
]
