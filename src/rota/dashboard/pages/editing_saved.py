"""What the form of a schedule does when it is sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import UUID

from rota.dashboard import drafts
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.drafts import Written
from rota.dashboard.drafts_filled import of_definition
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.errors import CallerError
from rota.schedules import create, fields, run_now, update
from rota.schedules import list as listing
from rota.schedules.errors import (
    DuplicateKey,
    InvalidSchedule,
    NoSuchSchedule,
    Problem,
    VersionChanged,
)
from rota.tenants.tenant import Tenant

SEND = "send"
"""Save it, and run it once at once."""
PAUSED = "paused"
"""Save it, but do not let it run by itself yet."""


@dataclass(frozen=True, slots=True)
class Done:
    """What was saved, and the firing that was asked for with it."""

    schedule_id: UUID
    firing_id: UUID | None = None


class Refused(Exception):
    """Nothing was saved: why, for each input or for all of it."""

    def __init__(
        self,
        wrong: str,
        *,
        code: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY,
        problems: Mapping[str, list[str]] | None = None,
        changed: bool = False,
    ) -> None:
        super().__init__(wrong)
        self.wrong = wrong
        self.code = code
        self.problems = dict(problems or {})
        self.changed = changed


async def make(desk: Desk, visitor: Visitor, written: Written, *, action: str) -> Done:
    """A new schedule; all or nothing, with its first run if that was asked for."""
    tenant = visitor.principal.tenant
    given, problems = drafts.read(written)
    if action in (SEND, PAUSED):
        given["enabled"] = False

    async def work(tx: Tx) -> Done:
        if problems:
            raise _refusal(written, [*problems, *await _others(tx, given, tenant, desk)])
        saved = await create.create(tx, tenant, given, shards=desk.shards, targets=desk.targets)
        return await _sent(tx, tenant, saved.schedule.id, action)

    return await _saved(desk, visitor, written, work)


async def change(
    desk: Desk, visitor: Visitor, id_: UUID, written: Written, *, seen: int, action: str
) -> Done:
    """The schedule with what was changed in the form; `seen` is the version that it showed."""
    tenant = visitor.principal.tenant

    async def work(tx: Tx) -> Done:
        await update.require_version(tx, tenant, id_, [seen])
        found = await listing.find(tx, tenant.id, id_)
        if found is None:
            raise missing("schedule")
        definition = found.schedule.definition
        before = of_definition(definition)
        changes, problems = drafts.changes(before, written | {"key": before["key"]})
        if problems:
            merged = fields.merge(definition, changes)
            raise _refusal(written, [*problems, *await _others(tx, merged, tenant, desk)])
        if changes:
            await update.update(tx, tenant, id_, changes, targets=desk.targets)
        return await _sent(tx, tenant, id_, action)

    return await _saved(desk, visitor, written, work)


async def _saved(desk: Desk, visitor: Visitor, written: Written, work: Any) -> Done:
    principal = visitor.principal
    try:
        return await desk.db.run(work, tenant=principal.tenant.id, actor=principal.actor)
    except VersionChanged as error:
        raise Refused(
            "Somebody else has changed this schedule meanwhile. What you typed is still here, and "
            "below is what differs from how it is now. Saving again makes it yours.",
            code=HTTPStatus.CONFLICT,
            changed=True,
        ) from error
    except InvalidSchedule as error:
        raise _refusal(written, error.problems) from error
    except DuplicateKey as error:
        raise _refusal(written, [Problem("key", _taken(error.keys))]) from error
    except NoSuchSchedule as error:
        raise missing("schedule") from error
    except CallerError as error:
        raise Refused(str(error), code=HTTPStatus.CONFLICT) from error


async def _sent(tx: Tx, tenant: Tenant, id_: UUID, action: str) -> Done:
    """In the same transaction: what cannot be run is not saved for that either."""
    if action != SEND:
        return Done(id_)
    run = await run_now.trigger_now(tx, tenant, id_)
    return Done(id_, run.id)


async def _others(
    tx: Tx, given: Mapping[str, object], tenant: Tenant, desk: Desk
) -> tuple[Problem, ...]:
    """What else is wrong: a person mends a form once, and not field by field."""
    now = await tx.fetch_value("SELECT clock_timestamp()")
    try:
        policy = desk.targets.of_tenant(tenant.id)
        fields.read(given, now=now, min_interval=tenant.min_interval, targets=policy)
    except InvalidSchedule as error:
        return error.problems
    return ()


def _refusal(written: Written, problems: Iterable[Problem]) -> Refused:
    """Each problem at its input, and of what was found missing only the first that was said."""
    found: dict[str, list[str]] = {}
    missing_ones: set[str] = set()
    for problem in problems:
        name = drafts.input_of(problem.field, written)
        is_echo = name in missing_ones and problem.message.startswith("Expected exactly one of")
        if not is_echo and problem.message not in found.setdefault(name, []):
            found[name].append(problem.message)
            missing_ones.add(name)
    count = len(found)
    some = "one field" if count == 1 else f"{count} fields"
    return Refused(f"Nothing was saved: look again at {some}.", problems=found)


def _taken(keys: tuple[str, ...]) -> str:
    return (
        f"Another schedule has the key {keys[0][:100]} already. Give this one another key, or "
        "another name."
    )
