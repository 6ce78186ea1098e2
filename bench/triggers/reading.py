"""How fast RRULE and English are read. No goal: for information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.frame.measure import Contestant
from bench.triggers.mix import AT, NEW_YORK
from rota.triggers import english
from rota.triggers.recurrence import Recurrence
from rota.triggers.recurrence.syntax import parse

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.frame.results import Row

RULES = (
    "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH;BYHOUR=17;BYMINUTE=30;BYSECOND=0",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=18;BYMINUTE=0;BYSECOND=0",
    "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;BYHOUR=12;BYMINUTE=0;BYSECOND=0",
    "DTSTART:20260105T080000 RRULE:FREQ=WEEKLY;INTERVAL=3;COUNT=20",
)
SENTENCES = (
    "every 15 minutes",
    "every day at 9am",
    "every weekday at 17:30",
    "every Monday and Thursday at noon",
    "on the first Tuesday of every month at 08:00",
    "on the last day of every month at 23:59",
    "tomorrow at 5pm",
)


def rows(session: Session) -> list[Row]:
    """RRULE, then English."""
    return [
        session.race(
            "Read an RRULE",
            Contestant("Rota", lambda _: _read_rules),
            note=f"{len(RULES)} rules in {NEW_YORK}; fresh objects, not shared ones.",
        ),
        session.race(
            "Read English",
            Contestant("Rota", lambda _: _read_sentences),
            note=(
                f"{len(SENTENCES)} sentences in {NEW_YORK}, each read anew; the cron trigger that "
                "one comes to is a shared object."
            ),
        ),
    ]


def _read_rules() -> int:
    for text in RULES:
        Recurrence(parse(text, NEW_YORK))
    return len(RULES)


def _read_sentences() -> int:
    for text in SENTENCES:
        english.read(text, timezone=NEW_YORK, now=AT)
    return len(SENTENCES)
