"""What can be wrong with a test that uses the kit.

CallerError
├── NotEnded   the result was asked of a run that has not ended yet
└── Runaway    runs that beget runs at one and the same instant, without an end
"""

from __future__ import annotations

from rota.errors import CallerError


class NotEnded(CallerError):
    """The result was asked of a run that has not ended: advance the kit first."""


class Runaway(CallerError):
    """Runs beget runs at one and the same instant: the kit would never come to an end."""
