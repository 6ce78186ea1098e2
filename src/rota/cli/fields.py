"""The options of `rota add` and `rota edit`, as fields of the API."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Any

import typer

Tz = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="UTC, an IANA name or ±HH:MM.")
]
Payload = Annotated[str | None, typer.Option(metavar="JSON", help="What the target is sent.")]
Task = Annotated[
    str | None, typer.Option("--task", metavar="NAME", help="Run this task instead of a URL.")
]
Stream = Annotated[
    str | None,
    typer.Option("--stream", metavar="REDIS", help="Add to this stream: redis://host/name."),
]
CeleryTask = Annotated[
    str | None, typer.Option("--celery-task", metavar="NAME", help="Send this Celery task.")
]
Calendar = Annotated[
    str | None, typer.Option("--calendar", metavar="NAME", help="Not on dates that it leaves out.")
]
Monitor = Annotated[
    str | None,
    typer.Option("--monitor", metavar="WHEN", help="Wait for pings at these times; call nothing."),
]
Grace = Annotated[
    str | None, typer.Option("--grace", help="How late a ping may be. 5m unless said.")
]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="KEY", help="Run when a firing of this schedule has ended."),
]
On = Annotated[
    str | None,
    typer.Option("--on", help="With --after: succeeded (unless said), failed or finished."),
]
OnDemand = Annotated[bool, typer.Option("--on-demand", help="Run only when somebody asks.")]
Steps = Annotated[
    str | None,
    typer.Option("--steps", metavar="JSON", help="Targets, one after another, as a list."),
]
Queue = Annotated[str | None, typer.Option(help="The queue its workers listen to.")]
Key = Annotated[str | None, typer.Option("--key", help="A key of your own, unique to you.")]
Description = Annotated[str | None, typer.Option(help="A sentence for people.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given again.")]
Method = Annotated[str | None, typer.Option(help="The HTTP method. POST unless said.")]
Headers = Annotated[
    list[str] | None, typer.Option("--header", metavar="NAME:VALUE", help="May be given again.")
]
Overlap = Annotated[
    str | None, typer.Option(help="skip, queue, cancel_previous or allow, when still running.")
]
Misfire = Annotated[
    str | None, typer.Option(help="fire_late, fire_most_recent or skip, after an outage.")
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="For one attempt.")]
Attempts = Annotated[int | None, typer.Option(help="How often it is tried in all.")]
Priority = Annotated[int | None, typer.Option(help="0 to 9; higher goes first.")]
Others = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Any other field of the API, as JSON."),
]


def trigger(when: str) -> dict[str, Any]:
    """The trigger field that WHEN is, so that a schedule reads back as what it was."""
    from rota.triggers.parse import field  # noqa: PLC0415 - started late, see app.py

    return dict(field(when))


def instant(text: str, timezone: str = "UTC", *, from_now: bool = False) -> str:
    """An instant as the API takes it, of any form that people write: `2027-01-01 09:00` (on the
    wall clock of the zone), `2027-01-01T09:00:00Z`; and `2h` where it may be counted from now."""
    from rota import durations  # noqa: PLC0415 - started late, see app.py
    from rota.clock import SystemClock  # noqa: PLC0415
    from rota.triggers.at import parse_instant  # noqa: PLC0415
    from rota.triggers.zones import zone  # noqa: PLC0415

    at = None
    if from_now:
        with contextlib.suppress(durations.InvalidDuration, OverflowError):
            at = SystemClock().now() + durations.parse(text)
    at = at or parse_instant(text.strip(), zone(timezone))
    return at.isoformat().replace("+00:00", "Z")


def timezone(name: str | None) -> dict[str, Any]:
    """The zone, refused here already if there is none of this name."""
    if name is None:
        return {}
    from rota.triggers.zones import zone  # noqa: PLC0415 - started late, see app.py

    zone(name)
    return {"timezone": name}


def monitor(expect: str | None, grace: str | None) -> dict[str, Any]:
    """The monitor field, from its two options."""
    if expect is None:
        if grace is not None:
            raise typer.BadParameter("expected it with --monitor only", param_hint="--grace")
        return {}
    return {"monitor": {"expect": expect, **({} if grace is None else {"grace": grace})}}


def event(after: str | None, on: str | None, *, on_demand: bool) -> dict[str, Any]:
    """The trigger field of what fires without a WHEN; empty for what has one."""
    if on is not None and after is None:
        raise typer.BadParameter("expected it with --after only", param_hint="--on")
    if after is not None and on_demand:
        raise typer.BadParameter("expected --after or --on-demand, got both", param_hint="--after")
    if after is not None:
        return {"after": {"key": after, **({} if on is None else {"on": on})}}
    return {"on_demand": True} if on_demand else {}


def steps(text: str | None) -> dict[str, Any]:
    """The steps field, read as JSON."""
    return {} if text is None else {"steps": _json(text, "--steps")}


def given(**fields: object) -> dict[str, Any]:
    """The fields that a person gave a value."""
    return {name: value for name, value in fields.items() if value is not None and value != []}


def payload(text: str | None) -> dict[str, Any]:
    """The payload field, read as JSON."""
    return {} if text is None else {"payload": _json(text, "--payload")}


def headers(pairs: list[str] | None) -> dict[str, Any]:
    """The headers field, from `Name: value` each."""
    found: dict[str, str] = {}
    for pair in pairs or []:
        name, colon, value = pair.partition(":")
        if not colon or not name.strip():
            raise typer.BadParameter(f"expected NAME:VALUE, got {pair!r}", param_hint="--header")
        found[name.strip()] = value.strip()
    return {"headers": found} if found else {}


def others(pairs: list[str] | None) -> dict[str, Any]:
    """Any fields, each `name=value`; the value is JSON, or text when it is not."""
    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"expected FIELD=VALUE, got {pair!r}", param_hint="--set")
        try:
            found[name.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            found[name.strip()] = value
    return found


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"expected JSON, got {text[:60]!r}: {error}"
        raise typer.BadParameter(message, param_hint=option) from error
