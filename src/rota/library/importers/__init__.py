"""Schedules from elsewhere, as the fields that Rota takes: APScheduler, Celery beat, crontabs.

from rota.library.importers import from_apscheduler, from_celery_beat, from_crontab_lines

Each gives an `Imported`: what was taken, what was not and why, and what is different from before.
Nothing is guessed: a trigger whose times Rota would not reproduce is refused, not approximated.
Neither APScheduler nor Celery is imported here: their objects are read as they are given.
"""

from __future__ import annotations

from rota.library.importers.apscheduler import from_apscheduler
from rota.library.importers.celery_beat import from_celery_beat
from rota.library.importers.imported import Imported, Refused
from rota.library.importers.lines import from_crontab_lines

__all__ = ["Imported", "Refused", "from_apscheduler", "from_celery_beat", "from_crontab_lines"]
