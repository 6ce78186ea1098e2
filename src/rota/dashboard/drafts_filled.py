"""The form of a schedule that there is, filled in. Pure; `drafts` reads it back."""

import math
from datetime import timedelta
from typing import Any, Final

import msgspec

from rota import durations
from rota.dashboard.drafts import TARGET, Written, blank, tidy, to_json
from rota.dashboard.policies import POLICIES, Policy
from rota.schedules import fields, names, when
from rota.schedules.definition import Definition
from rota.targets.celery import USUAL_QUEUE

_USUAL: Final = Definition(name="", key="")


def of_definition(definition: Definition) -> Written:
    """The form of a schedule that there is."""
    left = fields.write(definition)
    left.pop("enabled", None)
    written = blank() | {"name": left.pop("name"), "key": left.pop("key")}
    _write_trigger(left, written, definition)
    _write_target(left, written)
    for policy in POLICIES.values():
        if policy.name in left:
            value = left.pop(policy.name)
            if policy.kind == "choice" or not _is_usual(definition, policy.name):
                written[policy.name] = _shown(policy, value)
    written["other"] = to_json(left) if left else ""
    return tidy(written)


def _write_trigger(left: dict[str, Any], written: Written, definition: Definition) -> None:
    zone_name = left.pop("timezone", "UTC")
    written["timezone"] = "" if _names_its_zone(definition) else zone_name
    for name in names.TIMED:
        if name in left:
            value = left.pop(name)
            written["when"] = value if isinstance(value, str) else _length(value)
    if "after" in left:
        after = left.pop("after")
        written |= {"firing": "after", "after_key": after["key"], "after_on": after["on"]}
    if "monitor" in left:
        monitor = left.pop("monitor")
        expect = monitor["expect"]
        written |= {
            "firing": "pings",
            "expect": expect if isinstance(expect, str) else _length(expect),
            "grace": monitor["grace"],
        }
    if left.pop("on_demand", None):
        written["firing"] = "on_demand"


def _names_its_zone(definition: Definition) -> bool:
    """Whether the zone is in the text already: a field beside it would be one too many."""
    if definition.monitor is None or not isinstance(definition.monitor.expect, str):
        return when.is_the_texts_own_zone(definition)
    as_text = msgspec.structs.replace(
        definition, monitor=None, text=definition.monitor.expect, job_type="x"
    )
    return when.is_the_texts_own_zone(as_text)


def _write_target(left: dict[str, Any], written: Written) -> None:
    calls = next((call for call, name in TARGET.items() if name in left), "url")
    written["calls"] = calls
    if calls == "steps":
        written["steps"] = to_json(left.pop("steps"))
    elif TARGET[calls] in left:
        written[TARGET[calls]] = left.pop(TARGET[calls])
    if calls in ("task", "celery"):
        queue, usual = left.pop("queue"), USUAL_QUEUE if calls == "celery" else "default"
        written[f"{calls}_queue"] = "" if queue == usual else queue
    if calls == "url":
        written["method"] = left.pop("method", "POST")
        headers: dict[str, str] = left.pop("headers", {})
        written["headers"] = "\n".join(f"{name}: {value}" for name, value in headers.items())
        written["body"] = left.pop("body", "")
    if "payload" in left:
        written["payload"] = to_json(left.pop("payload"))


def _shown(policy: Policy, value: Any) -> str:
    match policy.kind:
        case "tags" | "codes":
            return ", ".join(str(each) for each in value)
        case "length" if not isinstance(value, str):
            return _length(value)
        case _:
            return str(value)


def _length(seconds: float) -> str:
    """Seconds as people write them: 5m; a number where that would be inexact."""
    text = durations.compact(timedelta(seconds=seconds)) if math.isfinite(seconds) else ""
    exact = bool(text) and durations.parse(text).total_seconds() == seconds
    return text if exact else f"{seconds}"


def _is_usual(definition: Definition, name: str) -> bool:
    value = getattr(definition, name)
    if name == "timeout_seconds":
        return value == (30 if definition.job_type is None else 3600)
    if name == "backoff_max":
        return value == max(timedelta(hours=1), definition.backoff_delay)
    return value == getattr(_USUAL, name, None)
