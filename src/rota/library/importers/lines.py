"""The lines of a crontab, as a program has them in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.clock import SystemClock
from rota.library.importers.crontab import entries
from rota.library.importers.imported import Imported

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


def from_crontab_lines(
    lines: str | Iterable[str],
    *,
    task: str | None = None,
    target_url: str | None = None,
    timezone: str | None = None,
    owner: str = "crontab",
    system: bool = False,
    now: datetime | None = None,
) -> Imported:
    """Schedules of the lines of a crontab, as `rota import crontab` reads a file.

    A line that calls a URL (curl, wget) becomes that call. Any other command is given to `task` or
    `target_url`, as {"command": …}. `system` is for the form of /etc/crontab, with a user.
    """
    text = lines if isinstance(lines, str) else "\n".join(lines)
    target = entries.Target(url=target_url, task=task)
    read = entries.read(
        text,
        owner=owner,
        target=target,
        now=now or SystemClock().now(),
        timezone=timezone,
        system=system,
    )
    done = Imported(schedules=read.entries)
    for each in read.refused:
        done.refuse(f"line {each.number}", _in_python(each.reason))
    for number, said in read.notes:
        done.note(f"line {number}", [_in_python(said)])
    if read.without_zone:
        done.note("all", ["the crontab names no zone (CRON_TZ): its times are taken as UTC"])
    return done


def _in_python(text: str) -> str:
    """The same, for somebody who wrote an argument and no flag."""
    return text.replace("--target-url", "target_url=…").replace("--task", "task=…")
