"""What the lines of a crontab are: jobs with the comment, zone and environment they stand under.

As cron reads them: blanks around a line do not count, `#` begins a comment only at its start, a
`NAME = value` line holds for the jobs that follow, and in a command the first `%` that no backslash
precedes ends it and begins its standard input. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.errors import InvalidTimezone
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENVIRONMENT = re.compile(r"""("[^"]+"|'[^']+'|[^\s=*@#"'/0-9-][^\s=]*)\s*=\s*(.*)""")
_ZONES = ("CRON_TZ", "TZ")
_RULED = re.compile(r"[-=#*_~+\s]*")
#: A heading of the columns, or a job that is switched off: neither names what follows.
_NO_NAME = re.compile(
    r"(m\s+h\s+dom|minute\s+hour|[-*/,\d]+\s+[-*/,\d]+\s+\S+\s+\S+\s+\S+\s|@\w+\s)"
)
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A line that runs a command."""

    number: int
    when: str
    user: str | None
    command: str
    stdin: str | None
    comment: str | None
    """What the line above calls it, if that is short enough to be a name."""
    timezone: str | None
    """The zone that a line before it set; None when none did."""
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that cannot be taken, and why."""

    number: int
    reason: str


def read(text: str, *, system: bool = False) -> Iterator[Job | Refused]:
    """Every job, and every line that cannot be one, in the order of the file."""
    state = _State()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r\f\v")
        if not line:
            state.comment = None
        elif line.startswith("#"):
            state.comment = _name(line)
        elif setting := _ENVIRONMENT.fullmatch(line):
            state.comment = None
            if wrong := state.set(_unquoted(setting[1]), _unquoted(setting[2]), number):
                yield Refused(number, wrong)
        else:
            yield _job(line, number, state, system=system)
            state.comment = None


class _State:
    """What the lines so far mean for the next."""

    def __init__(self) -> None:
        self.comment: str | None = None
        self.environment: dict[str, str] = {}
        self._zones: dict[str, str] = {}
        self._wrong: dict[str, int] = {}

    def set(self, name: str, value: str, number: int) -> str | None:
        """Keep a setting; what is wrong with it, if it is a zone that there is not."""
        if name != "CRON_TZ":
            self.environment[name] = value
        if name not in _ZONES:
            return None
        self._zones.pop(name, None)
        self._wrong.pop(name, None)
        if not value:
            return None
        try:
            self._zones[name] = zone(value.removeprefix(":")).name
        except InvalidTimezone as error:
            self._wrong[name] = number
            return f"{name}: {error.message}"
        return None

    def timezone(self) -> str | None:
        return next((self._zones[name] for name in _ZONES if name in self._zones), None)

    def line_of_wrong_zone(self) -> int | None:
        """The line whose zone is not known, when that would be the zone of a job here."""
        for name in _ZONES:
            if name in self._zones:
                return None
            if name in self._wrong:
                return self._wrong[name]
        return None


def _job(line: str, number: int, state: _State, *, system: bool) -> Job | Refused:
    columns = (1 if line.startswith("@") else 5) + system
    parts = line.split(None, columns)
    # None at all of a line of odd white space, such as a unit separator.
    if parts and parts[0].lower() == "@reboot":
        return Refused(
            number,
            "@reboot is not a time: Rota does not know when a machine starts. Let the machine "
            "call Rota instead, as with `rota trigger NAME`",
        )
    if len(parts) <= columns:
        expected = "five fields, a user and a command" if system else "five fields and a command"
        return Refused(number, f"expected {expected}, or NAME=value, got {line[:60]!r}")
    wrong = state.line_of_wrong_zone()
    if wrong is not None:
        return Refused(number, f"the zone it is in, set on line {wrong}, is not known")
    command, stdin = split_percent(parts[columns])
    if not command:
        return Refused(number, "expected a command, got none before the %")
    return Job(
        number=number,
        when=" ".join(parts[: columns - system]),
        user=parts[columns - 1] if system else None,
        command=command,
        stdin=stdin,
        comment=state.comment,
        timezone=state.timezone(),
        environment=dict(state.environment),
    )


def split_percent(text: str) -> tuple[str, str | None]:
    r"""A command and its standard input: `%` begins it and is a new line in it, `\%` is a %."""
    parts = [""]
    at = 0
    while at < len(text):
        if text.startswith("\\%", at):
            parts[-1] += "%"
            at += 1
        elif text[at] == "%":
            parts.append("")
        else:
            parts[-1] += text[at]
        at += 1
    command = parts[0].strip()
    if len(parts) == 1:
        return command, None
    stdin = "\n".join(parts[1:])
    return command, stdin if stdin.endswith("\n") else stdin + "\n"


def _name(comment: str) -> str | None:
    text = comment.lstrip("# \t").strip()
    usable = 0 < len(text) <= _LONGEST_NAME and not _RULED.fullmatch(text)
    return text if usable and not _NO_NAME.match(text) else None


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
