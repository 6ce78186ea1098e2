"""A trigger without slots: what fires when something else happens, and not at any instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.triggers.preview import innermost

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.trigger import Trigger


@dataclass(frozen=True, slots=True)
class Never:
    """No slot, ever. Its schedule is active all the same, and has no timer."""

    signature: str
    words: str
    """When it does fire, as a sentence's part: "when somebody asks for it"."""
    timezone: str = "UTC"

    def next_after(self, instant: datetime) -> datetime | None:  # noqa: ARG002 - the contract's
        return None

    def previous_before(self, instant: datetime) -> datetime | None:  # noqa: ARG002 - as above
        return None


def is_timed(trigger: Trigger) -> bool:
    """Whether it has slots at all, to come or passed."""
    return not isinstance(innermost(trigger), Never)
