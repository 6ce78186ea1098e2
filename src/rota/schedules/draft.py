"""A schedule that is to be made, as the database takes it. Pure."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from rota.schedules import definition as definitions

if TYPE_CHECKING:
    from datetime import datetime

    from rota.schedules.definition import Definition
    from rota.schedules.fields import Parsed

AT_ONCE: Final = timedelta()


class Draft(NamedTuple):
    """What is stored of it, and what there is to say about it."""

    key: str
    name: str
    definition: str
    """As `definition.encode` has it, though the order of its fields may differ."""
    tags: str
    """As PostgreSQL writes an array."""
    paused: bool
    slot: datetime | None
    """The first; None of one that needs no timer."""
    window: timedelta
    """How late after its slot it may be due."""
    warnings: tuple[str, ...]
    like: Definition
    """Its definition, or that of another with the same target."""
    parsed: Parsed | None = None
    """All of it; None of one that follows nobody, is no monitor and has no calendar."""


def of(parsed: Parsed) -> Draft:
    """What would be stored of it."""
    definition = parsed.definition
    return Draft(
        key=definition.key,
        name=definition.name,
        definition=definitions.encode(stripped(definition)),
        tags=array(definition.tags),
        paused=not definition.enabled,
        slot=parsed.next_slot,
        window=definition.spread_window,
        warnings=parsed.warnings,
        like=definition,
        parsed=parsed,
    )


def stripped(given: Definition) -> Definition:
    """Without `enabled`: whether it is active is told by its status alone."""
    return given if given.enabled else msgspec.structs.replace(given, enabled=True)


@lru_cache(maxsize=4096)
def array(texts: tuple[str, ...]) -> str:
    """As PostgreSQL writes an array: arrays of different lengths are no array of arrays."""
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in texts)
    return "{" + ",".join(f'"{each}"' for each in quoted) + "}"
