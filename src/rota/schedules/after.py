"""A schedule that fires when a firing of another one has ended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

import msgspec

from rota.triggers.never import Never

if TYPE_CHECKING:
    from rota.schedules.values import Values

On = Literal["succeeded", "failed", "finished"]
"""Which ends count: `failed` is for good (dead), `finished` is either. What was skipped, missed or
cancelled has not run to an end, and nothing follows it."""

MAX_KEY: Final = 300
MAX_DEPTH: Final = 50
"""How many schedules may follow one another: a longer chain is a mistake."""

_WORDS: Final = {"succeeded": "succeeded", "failed": "failed for good", "finished": "ended"}


class After(msgspec.Struct, frozen=True, kw_only=True):
    """The other schedule, by its key, and which of its ends count."""

    key: str
    on: On = "succeeded"


def trigger(after: After, timezone: str) -> Never:
    """It has no slots of its own."""
    words = f"when a firing of {after.key} has {_WORDS[after.on]}"
    return Never(f"after:{after.key}:{after.on}", words, timezone)


def read(values: Values, name: str) -> After | None:
    """The field `after`: an object, or the key alone, which waits for a success."""
    given = values.raw(name)
    if isinstance(given, str):
        given = {"key": given}
    if not isinstance(given, dict):
        values.refuse(name, 'a key, or an object such as {"key": "…", "on": "succeeded"}')
        return None
    # In YAML an `on` without quotes is the word for true.
    pairs = cast("dict[object, Any]", given).items()
    fields = {"on" if name is True else str(name): value for name, value in pairs}
    key, on = fields.get("key"), fields.get("on", "succeeded")
    if unknown := sorted(set(fields) - {"key", "on"}):
        values.problem(name, f"expected only key and on, got {', '.join(unknown)[:100]}")
    elif not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not key.isprintable():
        values.problem(name, f"expected the key of a schedule, up to {MAX_KEY} characters")
    elif on not in get_args(On):
        values.problem(name, f"expected on to be one of {', '.join(get_args(On))}")
    else:
        return After(key=key, on=cast("On", on))
    return None


def written(after: After) -> dict[str, str]:
    """As `read` takes it."""
    return {"key": after.key, "on": after.on}
