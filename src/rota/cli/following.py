"""What is news in a log that is read again and again. Pure.

What ended is asked for from a little before the newest end that is known: a firing can be recorded
a moment after others that ended later. All instants are the server's own; the reader's clock may be
wrong.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

Record = dict[str, Any]

OVERLAP: Final = timedelta(seconds=10)


class Following:
    """Remembers what was shown, as far back as it can come again."""

    def __init__(self) -> None:
        self._seen: dict[str, Record] = {}
        self.since: datetime | None = None
        """From when on to ask for what ended; None when nothing has yet."""

    def news(self, records: Iterable[Record]) -> list[Record]:
        """Those that are new, or not as they were; in the order of `when`, the newest last."""
        fresh = {str(each["id"]): each for each in records if self._is_news(each)}
        self._seen |= fresh
        ends = [end for each in fresh.values() if (end := end_of(each)) is not None]
        if ends:
            self.since = max([max(ends) - OVERLAP, *([self.since] if self.since else [])])
        self._forget()
        return sorted(fresh.values(), key=when)

    def vanished(self, live: Iterable[Record]) -> list[str]:
        """The ids of those last seen live, and live no more: each has an end to be asked for."""
        still = {str(each["id"]) for each in live}
        return [
            id_ for id_, each in self._seen.items() if end_of(each) is None and id_ not in still
        ]

    def drop(self, id_: str) -> None:
        """There is no such firing any more."""
        self._seen.pop(id_, None)

    def _is_news(self, record: Record) -> bool:
        before = self._seen.get(str(record["id"]))
        if before is None:
            return True
        # An end is an end, however late an earlier state is read.
        return end_of(before) is None and any(
            before[name] != record[name] for name in ("status", "attempt")
        )

    def _forget(self) -> None:
        since = self.since
        if since is not None:
            self._seen = {
                id_: each
                for id_, each in self._seen.items()
                if (end := end_of(each)) is None or end >= since
            }


def end_of(record: Record) -> datetime | None:
    """When it ended; None while it is live."""
    text = record.get("finished_at")
    return None if text is None else datetime.fromisoformat(text)


def when(record: Record) -> tuple[bool, datetime]:
    """A key to sort by: those that ended by their end, then the live ones by their start."""
    end = end_of(record)
    text = record.get("started_at") or record["scheduled_for"]
    return end is None, end or datetime.fromisoformat(text)
