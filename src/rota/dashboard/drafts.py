"""A schedule as its form has it: texts in fields, and back to what the API takes. Pure.

Nothing is lost by editing: what is untouched in the form is not sent at all (`changes`), and a
field that the form does not know stands in "Other fields" as JSON.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import msgspec

from rota.dashboard.policies import POLICIES, Policy
from rota.schedules import names
from rota.schedules.errors import Problem
from rota.triggers.parse import kind

Written = dict[str, str]
"""What stands in each input, by its name."""

FIRING: Final = ("times", "after", "pings", "on_demand")
CALLS: Final = ("url", "task", "stream", "celery", "steps")
TARGET: Final[dict[str, str]] = dict(
    zip(CALLS, ("target_url", "job_type", "stream", "celery_task", "steps"), strict=True)
)
_AS_WRITTEN: Final = frozenset({"headers", "body", "payload", "steps", "other", "description"})
"""Inputs where blanks around a text count."""
_WHOLE = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}", re.ASCII)

_INPUTS: Final = (
    *("name", "firing", "when", "timezone", "after_key", "after_on", "expect", "grace"),
    *("calls", "target_url", "method", "headers", "body", "payload"),
    *("job_type", "task_queue", "stream", "celery_task", "celery_queue", "steps"),
    *POLICIES,
    "other",
)


def blank() -> Written:
    """The form of a new schedule."""
    written = dict.fromkeys(_INPUTS, "")
    written |= {"firing": "times", "calls": "url", "method": "POST", "after_on": "succeeded"}
    for policy in POLICIES.values():
        if policy.kind == "choice":
            written[policy.name] = policy.usual
    return written


def given(take: Callable[[str], str]) -> Written:
    """What was sent; an input that is not there is empty."""
    return tidy({name: take(name) for name in _INPUTS})


def tidy(written: Written) -> Written:
    """As a browser sends it: one kind of line end, no blanks around what is one line."""
    plain = {
        name: value.replace("\r\n", "\n").replace("\r", "\n") for name, value in written.items()
    }
    return {name: value if name in _AS_WRITTEN else value.strip() for name, value in plain.items()}


def changes(before: Written, now: Written) -> tuple[dict[str, Any], list[Problem]]:
    """The fields that differ: null takes one back to what is usual."""
    old, _ = read(before)
    new, problems = read(now)
    differing = [
        name for name in {**old, **new} if to_json(old.get(name)) != to_json(new.get(name))
    ]
    return {name: new.get(name) for name in differing}, problems


def read(written: Written) -> tuple[dict[str, Any], list[Problem]]:
    """The API's fields, and what cannot even be put into them; `Problem.field` is an input."""
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    _put(found, "name", written["name"])
    _put(found, "timezone", written["timezone"])
    _read_trigger(written, found, problems)
    if written["firing"] != "pings":
        _read_target(written, found, problems)
    for policy in POLICIES.values():
        if not policy.only or (policy.only == written["calls"] and written["firing"] != "pings"):
            _read_policy(policy, written[policy.name], found)
    _read_other(written["other"], found, problems)
    return found, problems


def input_of(field: str, written: Written) -> str:
    """Which input a problem with a field of the API belongs to."""
    name = re.split(r"[.\[]", field, maxsplit=1)[0]
    if name in names.TRIGGERS:
        return {"times": "when", "after": "after_key", "pings": "expect"}.get(
            written["firing"], "firing"
        )
    if name in names.TARGETS:
        return "firing" if written["firing"] == "pings" else TARGET[_calls(written)]
    if name == "queue":
        return "celery_queue" if _calls(written) == "celery" else "task_queue"
    return name if name in _INPUTS else "other"


def _calls(written: Written) -> str:
    return written["calls"] if written["calls"] in CALLS else "url"


def _read_trigger(written: Written, found: dict[str, Any], problems: list[Problem]) -> None:
    match written["firing"]:
        case "after":
            if not written["after_key"]:
                problems.append(Problem("after_key", "Say which schedule it follows, by its key."))
            found["after"] = {"key": written["after_key"], "on": written["after_on"] or "succeeded"}
        case "pings":
            if not written["expect"].strip():
                problems.append(Problem("expect", 'Say when pings are expected: "every day at 3"…'))
            monitor: dict[str, Any] = {"expect": written["expect"]}
            _put(monitor, "grace", _number(written["grace"]))
            found["monitor"] = monitor
        case "on_demand":
            found["on_demand"] = True
        case _ if not written["when"].strip():
            problems.append(Problem("when", 'Say when it runs, such as "every weekday at 9am".'))
        case _:
            found[kind(written["when"])] = written["when"]


_MISSING: Final = {
    "url": "Say which URL it calls, such as https://example.com/hook.",
    "task": "Say which task it runs, by its name.",
    "stream": "Say which stream it adds to, such as redis://host/name.",
    "celery": "Say which Celery task it sends, by its name.",
    "steps": "Say which steps it takes, as a list of objects.",
}


def _read_target(written: Written, found: dict[str, Any], problems: list[Problem]) -> None:
    calls = _calls(written)
    name = TARGET[calls]
    if not written[name].strip():
        problems.append(Problem(name, _MISSING[calls]))
    elif calls == "steps":
        _read_json("steps", written["steps"], found, problems)
    else:
        found[name] = written[name]
    if calls in ("task", "celery"):
        _put(found, "queue", written[f"{calls}_queue"])
    if calls == "url":
        _put(found, "method", written["method"] if written["method"] != "POST" else "")
        _put(found, "body", written["body"])
        _read_headers(written["headers"], found, problems)
    _read_json("payload", written["payload"], found, problems)


def _read_headers(text: str, found: dict[str, Any], problems: list[Problem]) -> None:
    headers: dict[str, str] = {}
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip():
            # The line may hold a password: it is never repeated.
            problems.append(Problem("headers", "Expected `Name: value` in every line."))
        elif name.strip() in headers:
            problems.append(Problem("headers", f"Expected {name.strip()[:60]} once, got it twice."))
        headers[name.strip()] = value.strip()
    if headers:
        found["headers"] = headers


def _read_policy(policy: Policy, text: str, found: dict[str, Any]) -> None:
    match policy.kind:
        case "choice":
            _put(found, policy.name, "" if text == policy.usual else text)
        case "number" | "length":
            _put(found, policy.name, _number(text))
        case "tags" | "codes":
            listed = [each.strip() for each in text.split(",") if each.strip()]
            _put(found, policy.name, listed)
        case "text" | "lines":
            _put(found, policy.name, text)


def _read_json(name: str, text: str, found: dict[str, Any], problems: list[Problem]) -> None:
    if not text.strip():
        return
    try:
        _put(found, name, from_json(text), empty=True)
    except (ValueError, RecursionError) as error:
        problems.append(Problem(name, f"Expected JSON: {error}."))


def _read_other(text: str, found: dict[str, Any], problems: list[Problem]) -> None:
    more: dict[str, Any] = {}
    _read_json("other", text, more, problems)
    other: object = more.get("other", {})
    if not isinstance(other, dict):
        problems.append(Problem("other", 'Expected a JSON object, such as {"priority": 7}.'))
        return
    for name, value in cast("Mapping[str, Any]", other).items():
        if name in found:
            problems.append(Problem("other", f"{name[:60]} stands above as well: say it once."))
        found[name] = value


def _put(found: dict[str, Any], name: str, value: object, *, empty: bool = False) -> None:
    if empty or value not in ("", []):
        found[name] = value


def _number(text: str) -> str | int | float:
    """A number where it is one; anything else goes on, to be refused in the API's words."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def from_json(text: str) -> Any:
    """As strict as the API: NaN and Infinity are no JSON, and would be stored as null."""
    return msgspec.json.decode(text)


def to_json(value: object) -> str:
    # In C: with line breaks, the standard library would take 50 ms for 256 kB.
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
