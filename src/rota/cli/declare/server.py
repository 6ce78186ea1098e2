"""Reading from the server what a plan needs to know: what is wanted and what the owners own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rota.cli.declare.documents import OWNER_TAG
from rota.cli.declare.problems import Problem
from rota.cli.declare.standing import Standing, of_record
from rota.schedules.calendars import fields
from rota.schedules.calendars.calendar import Rules
from rota.schedules.calendars.service import days_of
from rota.targets.placeholders import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from rota.cli.client import Client
    from rota.cli.declare.plan import Plan
    from rota.cli.declare.wanted import Wanted
    from rota.triggers.calendars import Days

PAGE = 1_000
#: Beyond so many, a list of everything is read sooner than one by one.
_ONE_BY_ONE = 100


def standing(client: Client, *, keys: Iterable[str], owners: Iterable[str]) -> list[Standing]:
    """The schedules of these keys and of these owners, as far as there are any."""
    found: dict[str, dict[str, Any]] = {}
    for owner in sorted(set(owners)):
        for record in client.items("/v1/schedules", tag=OWNER_TAG + owner, limit=PAGE):
            found[record["key"]] = record
    missing = sorted(set(keys) - found.keys())
    if len(missing) <= _ONE_BY_ONE:
        for key in missing:
            for record in client.get("/v1/schedules", key=key, limit=1)["items"]:
                found[record["key"]] = record
    else:
        unseen = set(missing)
        for record in client.items("/v1/schedules", limit=PAGE):
            if record["key"] in unseen:
                found[record["key"]] = record
    return [of_record(record) for record in found.values()]


def days(client: Client, names: Iterable[str], *, today: date) -> dict[str, Days]:
    """What the calendars of these names leave out; of one that there is not, nothing."""
    wanted = set(names)
    if not wanted:
        return {}
    return {
        record["name"]: _days(record, today)
        for record in client.items("/v1/calendars", limit=PAGE)
        if record["name"] in wanted
    }


def missing_calendars(client: Client, plan: Plan) -> list[Problem]:
    """What the server would refuse for a calendar that is not there."""
    wanted = [each for each in _touched(plan) if each.definition.calendar is not None]
    if not wanted:
        return []
    known = {record["name"] for record in client.items("/v1/calendars", limit=PAGE)}
    return [
        Problem(
            each.place,
            "calendar",
            f"Invalid calendar: expected one of the server's, got {each.definition.calendar!r}; "
            "`rota calendar set` makes one",
        )
        for each in wanted
        if each.definition.calendar not in known
    ]


def missing_secrets(client: Client, plan: Plan) -> dict[str, list[str]]:
    """By key, the secrets that schedules of the plan use and that are not there."""
    used = {each.key: _secrets_in(each.written) for each in _touched(plan)}
    if not any(used.values()):
        return {}
    known = {record["name"] for record in client.items("/v1/secrets", limit=PAGE)}
    return {key: missing for key, names in used.items() if (missing := sorted(names - known))}


def _touched(plan: Plan) -> tuple[Wanted, ...]:
    return (*plan.creates, *(each.wanted for each in plan.changes))


def _secrets_in(value: object) -> set[str]:
    match value:
        case str():
            return set(PLACEHOLDER.findall(value))
        case dict():
            return _secrets_in(list(cast("dict[str, object]", value).items()))
        case list() | tuple():
            several = cast("Sequence[object]", value)
            return {name for each in several for name in _secrets_in(each)}
        case _:
            return set()


def _days(record: Mapping[str, Any], today: date) -> Days:
    """As the server writes them out: it shows the rules, and only the next few dates."""
    rules = fields.read({name: record.get(name) for name in Rules.__struct_fields__})
    return days_of(rules, today)
