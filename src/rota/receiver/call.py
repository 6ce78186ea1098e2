"""What Rota says about a call. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

CALL: Final = "rota.call"
"""Where the application finds its `Call`: in the ASGI scope, or in the WSGI environment."""

_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call whose signature was verified. Every field was covered by it.

    A call that is no firing, such as a notification to a channel, has only `id` and `sent_at`.
    """

    id: str
    """The same for every attempt: the firing's id, with the step's name where it has steps."""
    sent_at: datetime
    schedule_id: str | None = None
    firing_id: str | None = None
    scheduled_for: datetime | None = None
    """The slot."""
    attempt: int | None = None
    catch_up: bool = False
    fence: int | None = None
    """None for a run that somebody asked for."""
    step: str | None = None

    @staticmethod
    def of(id_: str, timestamp: int, facts: Mapping[str, str]) -> Call:
        """The call that these headers describe; ValueError when Rota would not write them so."""
        slot = facts.get("rota-scheduled-for")
        return Call(
            id=id_,
            sent_at=datetime.fromtimestamp(timestamp, UTC),
            schedule_id=facts.get("rota-schedule-id"),
            firing_id=facts.get("rota-firing-id"),
            scheduled_for=None if slot is None else datetime.fromisoformat(slot),
            attempt=_number(facts, "rota-attempt"),
            catch_up=facts.get("rota-catch-up") == "true",
            fence=_number(facts, "rota-fence"),
            step=facts.get("rota-step"),
        )


def _number(facts: Mapping[str, str], name: str) -> int | None:
    value = facts.get(name)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise ValueError(f"expected a whole number in {name}")
    return int(value)
