"""What people write about a pause. Pure."""

from datetime import datetime

from rota.triggers.at import parse_instant
from rota.triggers.zones import zone


def end(text: str, timezone: str) -> datetime | None:
    """When it is over, on a zone's wall clock; None for one without an end."""
    return parse_instant(text, zone(timezone)) if text else None
