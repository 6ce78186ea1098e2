"""Telling the program's log of tasks that failed for good, with the traceback of the last attempt.

Each failure is in the history, too; but whoever writes a program looks at its log first.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from rota import ids
from rota.runtime.parts import BUILT_IN
from rota.workers.events import OutcomesRecorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.events import Bus
    from rota.queue.complete import Settlement

_log = logging.getLogger("rota")


class _Request(msgspec.Struct):
    task: str


def tell_failures(bus: Bus) -> Callable[[], None]:
    """Log an error for each from now on; returns what ends it."""

    def recorded(event: OutcomesRecorded) -> None:
        for each in event.settlements:
            if each.status == "dead" and each.claim.id in event.accepted:
                _tell(each)

    return bus.subscribe(OutcomesRecorded, recorded)


def _tell(settlement: Settlement) -> None:
    claim, tried = settlement.claim, settlement.tried
    if claim.lane in BUILT_IN:
        return
    firing = ids.to_text(ids.Kind.FIRING, claim.id)
    body = b"" if tried is None else tried.response_body or b""
    trace = f"\n{body.decode(errors='replace').rstrip()}" if body else ""
    why = settlement.reason or (tried and tried.error) or "failed"
    _log.error("%s failed for good (%s): %s%s", _name(settlement), firing, why, trace)


def _name(settlement: Settlement) -> str:
    """As the attempt has it; without that, of a task that keeps nothing, by its queue."""
    request = settlement.tried and settlement.tried.request
    try:
        return msgspec.json.decode(request or "", type=_Request).task
    except msgspec.DecodeError:
        return f"a task of the queue {settlement.claim.lane}"
