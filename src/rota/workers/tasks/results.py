"""A task's return value as a reply, and back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from rota.workers.caller import Reply
from rota.workers.tasks.values import Unfit, encode

if TYPE_CHECKING:
    from rota.workers.tasks.values import Kind

MAX_RESULT: Final = 1024 * 1024
"""Bytes. What is larger belongs in a file or a table, and its name in the result."""

_NOTHING = Reply()


def reply_with(value: object) -> Reply:
    """What came of a run that returned this.

    A result that cannot be kept is a failure that no other attempt would mend: the work itself is
    done, and doing it again would do it twice.
    """
    if value is None:
        return _NOTHING
    try:
        body = encode(value)
    except Unfit as error:
        return Reply(error=f"The task returned, but its result {error}", permanent=True)
    if len(body) > MAX_RESULT:
        return Reply(
            error=f"The task returned, but its result is of {len(body):,} bytes as JSON: expected "
            f"{MAX_RESULT:,} at most",
            permanent=True,
        )
    return Reply(body=body)


def read(body: bytes | None, kind: Kind) -> Any:
    """The value that a run returned, as the function's annotation says; `Unfit` when it is not."""
    value = msgspec.json.decode(body) if body else None
    if value is None:
        return None
    return kind.convert(value)
