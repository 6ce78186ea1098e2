"""What the dashboard tells the bus."""

from __future__ import annotations

from dataclasses import dataclass

from rota.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFailed(Event):
    """A page ended in an error that nobody foresaw: a fault of ours."""

    method: str
    path: str
    error: Exception
