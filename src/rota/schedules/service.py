"""What owners ask for, in one place. Each verb runs in the caller's transaction; only thousands of
definitions are read before one begins.

"Now" is the database's clock. Nothing here fires: timers are set, and whoever holds the lease does.
"""

from __future__ import annotations

from rota.schedules.changing import (
    delete,
    require_version,
    resume,
    update,
    upsert_by_key,
)
from rota.schedules.creating import (
    MAX_MANY,
    create,
    create_many,
    make_each,
    make_many,
    read_many,
    store_each,
    store_many,
)
from rota.schedules.making import Made
from rota.schedules.pausing import pause
from rota.schedules.reading import Filter, Page, Standing, find, fresh, page, several
from rota.schedules.running import Run, trigger_now
from rota.schedules.saved import Saved

__all__ = [
    "MAX_MANY",
    "Filter",
    "Made",
    "Page",
    "Run",
    "Saved",
    "Standing",
    "create",
    "create_many",
    "delete",
    "find",
    "fresh",
    "make_each",
    "make_many",
    "page",
    "pause",
    "read_many",
    "require_version",
    "resume",
    "several",
    "store_each",
    "store_many",
    "trigger_now",
    "update",
    "upsert_by_key",
]
