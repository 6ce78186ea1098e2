"""The jobs of a crontab as entries of a document that `rota apply` takes. Pure.

Keys do not depend on the time or on other lines: a line that is moved, or fires at another time,
is the same schedule when the crontab is imported again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rota.library.importers.crontab import calls, lines
from rota.library.importers.crontab.shell import NotSimple
from rota.schedules import fields
from rota.schedules.errors import InvalidSchedule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from rota.library.importers.crontab.lines import Job, Refused

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")
_NOT_IN_KEYS = re.compile(r"[^A-Za-z0-9._-]+")
_FIRST_IS_CD = re.compile(r"cd\s+\S+\s*(&&|;)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where commands go: a URL or a task; None of both for those that call a URL themselves."""

    url: str | None = None
    task: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        if self.url is not None:
            return {"target_url": self.url}
        return {"job_type": self.task} if self.task is not None else {}


@dataclass(slots=True)
class Imported:
    """What became of a crontab."""

    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    numbers: list[int] = field(default_factory=list[int])
    """The line of each entry."""
    refused: list[Refused] = field(default_factory=list["Refused"])
    notes: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    without_zone: int = 0
    """How many jobs are in the zone of the machine, which a crontab does not tell."""


def read(
    text: str,
    *,
    owner: str,
    target: Target,
    now: datetime,
    timezone: str | None = None,
    system: bool = False,
) -> Imported:
    """An entry for every job that can be taken, and the reason for every line that cannot."""
    done = Imported()
    seen: Counter[str] = Counter()
    for line in lines.read(text, system=system):
        if isinstance(line, lines.Refused):
            done.refused.append(line)
            continue
        try:
            calling, notes = _calling(line, target)
            entry = _entry(line, calling, owner=owner, timezone=timezone, seen=seen)
            fields.read(entry, now=now)
        except NotSimple as problem:
            done.refused.append(lines.Refused(line.number, str(problem)))
        except InvalidSchedule as error:
            wrong = "; ".join(each.message for each in error.problems)
            done.refused.append(lines.Refused(line.number, wrong))
        else:
            done.entries.append(entry)
            done.numbers.append(line.number)
            done.notes += [(line.number, note) for note in notes]
            done.without_zone += line.timezone is None and timezone is None
    return done


def _calling(job: Job, target: Target) -> tuple[dict[str, Any], list[str]]:
    """What the schedule of a job calls: the job's own URL, or who is given its command."""
    notes: list[str] = []
    if calls.is_call(job.command):
        try:
            return calls.read(job.command, job.stdin)
        except NotSimple as problem:
            reason = f"its call is not understood: it has {problem}"
            if not target.fields:
                raise NotSimple(f"{reason}; --target-url or --task takes the command") from problem
            notes.append(f"{reason}; so it goes as a command")
    if not target.fields:
        raise NotSimple(
            f"it runs a command, {_first_word(job.command)!r}, and Rota calls URLs and tasks: "
            "say with --target-url or --task who runs it"
        )
    return {**target.fields, "payload": _payload(job)}, notes


def _payload(job: Job) -> dict[str, Any]:
    payload: dict[str, Any] = {"command": job.command}
    if job.stdin is not None:
        payload["stdin"] = job.stdin
    if job.environment:
        payload["environment"] = dict(job.environment)
    if job.user is not None:
        payload["user"] = job.user
    return payload


def _entry(
    job: Job,
    calling: Mapping[str, Any],
    *,
    owner: str,
    timezone: str | None,
    seen: Counter[str],
) -> dict[str, Any]:
    own = "payload" not in calling
    label = _address(str(calling["target_url"])) if own else _first_word(job.command)
    zone = job.timezone or timezone
    return {
        "key": _key(job, label, owner, seen),
        "name": (job.comment or label)[:200],
        "cron_expr": job.when,
        **({"timezone": zone} if zone else {}),
        **calling,
    }


def _key(job: Job, label: str, owner: str, seen: Counter[str]) -> str:
    """`owner:backup.sh-1f0c…`; the same command once more gets a number."""
    what = "\0".join((job.user or "", job.command, job.stdin or ""))
    digest = hashlib.sha256(what.encode()).hexdigest()[:10]
    slug = _NOT_IN_KEYS.sub("-", label).strip("-")[:80] or "line"
    key = f"{owner}:{slug}-{digest}"
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}-{seen[key]}"


def _first_word(command: str) -> str:
    """`backup.sh` of `cd /srv && LANG=C ./bin/backup.sh --all`."""
    rest = _FIRST_IS_CD.sub("", command, count=1).split()
    words = [word for word in rest if not _ASSIGNMENT.fullmatch(word)] or command.split()
    return words[0].rstrip("/").rpartition("/")[2] or words[0]


def _address(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or ''}{parts.path}".rstrip("/")
