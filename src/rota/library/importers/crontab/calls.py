"""A command that only calls a URL, `curl …` or `wget …`, as the request it makes. Pure.

Only what Rota can do in the same way is taken; anything else raises `NotSimple` with its name, so
that no call is quietly made differently than before.
"""

from __future__ import annotations

from typing import Any

from rota.library.importers.crontab import options, shell
from rota.library.importers.crontab.request import Request, fields

_PROGRAMS = {"curl": options.CURL, "wget": options.WGET}


def is_call(command: str) -> bool:
    """Whether the command begins as one that calls a URL."""
    return _program(command.split(None, 1)[0]) in _PROGRAMS


def read(command: str, stdin: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """The fields of a schedule that makes the same request, and what to say about it.

    `NotSimple` says why there is none.
    """
    program, *arguments = shell.words(command)
    request = Request(stdin=stdin)
    options.read(arguments, _PROGRAMS[_program(program)], request)
    return fields(request), request.notes


def _program(word: str) -> str:
    return word.rpartition("/")[2]
