"""Code becomes schedules: what a program declares is written when it starts, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from rota.library import declared_sql as sql
from rota.library.declaration import decide, plan
from rota.library.errors import ForeignKey, InvalidDeclaration
from rota.library.events import DeclarationWaits, SchedulesDeclared, SchedulesLeft
from rota.schedules import fields, task_queues, update
from rota.schedules.create import create_parsed
from rota.schedules.errors import InvalidSchedule
from rota.schedules.schedule import anchor
from rota.schedules.schedule import now as time_of
from rota.tenants.tenant import actor
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.library.declaration import Declaration, Declared, InForce, Plan
    from rota.schedules.fields import Parsed
    from rota.tenants.tenant import Tenant

T = TypeVar("T")

INTERVAL: Final = timedelta(seconds=10)
"""How often a process looks whether those who run another declaration are all gone."""
GRACE: Final = timedelta(seconds=20)
"""How long a node counts as there after it was last heard of, or after the database came back."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of declaring."""

    in_force: bool
    """False while ours waits, and there is something that it would change."""
    plan: Plan
    passed: tuple[str, ...] = ()
    """Keys that were not made, because their only instant has passed."""


class Declarer:
    """Writes one program's declaration: at its start, and later should it be left alone."""

    def __init__(
        self,
        db: Database,
        tenant: Tenant,
        ours: Declaration,
        *,
        node_id: UUID,
        shards: int,
        bus: Bus,
        served: Collection[UUID] = (),
        grace: timedelta = GRACE,
    ) -> None:
        """`served` are further tenants, which may name its tasks without their queue as well."""
        self._db = db
        self._tenant = unlimited(tenant)
        self._ours = ours
        self._node_id = node_id
        self._shards = shards
        self._bus = bus
        self._served = sorted({tenant.id, *served})
        self._grace = grace
        self._absences = 0
        self._told: str | None = None

    async def declare(self, *, force: bool = False) -> Outcome:
        """Write what differs, if it is our turn; nothing is written when nothing differs."""
        # Repeatable: every write compares with what is there.
        if await self._run(lambda tx: self._register(tx, force=force), repeatable=True):
            # Before the schedules of the code are compared: those of an earlier build wait in
            # another queue, and what they have waiting is to be moved and not taken back.
            await self.adopt()
        outcome = await self._run(lambda tx: self._write(tx, force=force), repeatable=True)
        self._tell(outcome)
        return outcome

    async def run_once(self) -> None:
        """Look whether another declaration is in force, and nobody who runs it is there any more.

        Twice in a row: a node that lost its session for a moment is not gone.
        """
        standing = await self._db.run(self._standing, read_only=True)
        current = standing.in_force
        ours = current is not None and current.fingerprint == self._ours.fingerprint
        if ours:
            await self.adopt()
        self._absences = 0 if ours or standing.is_alive else self._absences + 1
        if self._absences >= 2:
            self._absences = 0
            await self.declare()

    async def adopt(self) -> None:
        """Take schedules that name one of our tasks and no queue into the queue of the task.

        Most find it when they are created. Those that were there before us do not, nor those whose
        creation had begun when we registered our tasks.
        """
        queues = self._ours.queues
        for tenant_id in self._served:
            found = task_queues.BATCH
            while found == task_queues.BATCH:
                # One batch in a transaction, which holds up nobody for long.
                found = await self._run(partial(_adopt, tenant_id=tenant_id, queues=queues))

    async def _run(self, work: Callable[[Tx], Awaitable[T]], *, repeatable: bool = False) -> T:
        by = actor("code", self._ours.app)
        return await self._db.run(work, repeatable=repeatable, actor=by)

    async def _standing(self, tx: Tx) -> sql.Standing:
        return await sql.standing(
            tx, self._tenant.id, self._ours.app, but=self._node_id, grace=self._grace
        )

    async def _register(self, tx: Tx, *, force: bool) -> bool:
        """Say in which queue each of our tasks is, if it is our turn; whether it is."""
        ours, tenant = self._ours, self._tenant
        await sql.lock(tx, tenant.id)
        if decide(ours, await self._standing(tx), force=force) == "wait":
            return False
        known = await sql.known(tx, tenant.id, ours.app, [each.key for each in ours.items])
        _refuse_foreign(ours.app, plan(ours, known))
        for tenant_id in self._served:
            await task_queues.register(tx, tenant_id, ours.app, ours.queues)
        return True

    async def _write(self, tx: Tx, *, force: bool) -> Outcome:
        ours, tenant = self._ours, self._tenant
        await sql.lock(tx, tenant.id)
        standing = await self._standing(tx)
        known = await sql.known(tx, tenant.id, ours.app, [each.key for each in ours.items])
        todo = plan(ours, known)
        await sql.join(tx, tenant.id, self._node_id, ours)
        if decide(ours, standing, force=force) == "wait":
            return Outcome(in_force=todo.is_empty, plan=todo)
        _refuse_foreign(ours.app, todo)
        passed = await carry_out(tx, tenant, ours.app, todo, shards=self._shards)
        if _is_news(ours, standing.in_force):
            await sql.applied(tx, tenant.id, ours)
        return Outcome(in_force=True, plan=todo, passed=passed)

    def _tell(self, outcome: Outcome) -> None:
        """Once for each state: it is looked at again and again."""
        app, todo = self._ours.app, outcome.plan
        if not outcome.in_force:
            keys = _listed([each.key for each in (*todo.create, *todo.change)] + [*todo.prune])
            if keys != self._told:
                self._bus.publish(DeclarationWaits(app=app, schedules=keys))
            self._told = keys
            return
        self._told = None
        created = len(todo.create) - len(outcome.passed)
        if created or todo.change or todo.prune:
            self._bus.publish(
                SchedulesDeclared(
                    app=app,
                    created=created,
                    changed=len(todo.change),
                    deleted=len(todo.prune),
                )
            )
        if todo.left:
            self._bus.publish(SchedulesLeft(app=app, keys=_listed(todo.left)))


async def _adopt(tx: Tx, *, tenant_id: UUID, queues: Mapping[str, str]) -> int:
    return await task_queues.adopt(tx, tenant_id, queues)


async def ensure_tasks(db: Database, tenant: Tenant, ours: Declaration, *, shards: int) -> None:
    """Make the tasks that nobody has declared yet, and no more: for processes that only enqueue."""
    tasks = [each for each in ours.items if each.is_task]

    async def write(tx: Tx) -> None:
        there = await sql.known(tx, tenant.id, ours.app, [each.key for each in tasks])
        new = [each for each in tasks if not (each.key in there and there[each.key].exists)]
        if new:
            await _create(tx, unlimited(tenant), ours.app, new, shards=shards)

    if tasks:
        await db.run(write, repeatable=True, actor=actor("code", ours.app))


async def carry_out(
    tx: Tx, tenant: Tenant, app: str, todo: Plan, *, shards: int
) -> tuple[str, ...]:
    """Do what was planned; the keys of those that were not made, as their instant has passed."""
    passed = await _create(tx, tenant, app, todo.create, shards=shards)
    keys = [*(each.key for each in todo.change), *todo.prune]
    await update.lock_several(tx, await sql.ids(tx, tenant.id, keys))
    for each in todo.change:
        await _change(tx, tenant, each, shards=shards)
    for schedule_id in await sql.ids(tx, tenant.id, todo.prune):
        await update.delete(tx, tenant, schedule_id)
    await sql.unnote(tx, tenant.id, todo.prune)
    done = {each.key: each.fingerprint for each in (*todo.create, *todo.change)}
    await sql.note(tx, tenant.id, app, {key: done[key] for key in done if key not in passed})
    return tuple(passed)


async def _create(
    tx: Tx, tenant: Tenant, app: str, items: Sequence[Declared], *, shards: int
) -> list[str]:
    now = await time_of(tx)
    read = [(each, _read(each, now)) for each in items]
    # A single instant that has passed is no mistake of somebody who starts a program again.
    gone = [each.key for each, parsed in read if _is_over(parsed)]
    parsed = [parsed for _, parsed in read if not _is_over(parsed)]
    try:
        made = await create_parsed(tx, tenant, parsed, shards=shards, now=now)
    except InvalidSchedule as error:
        raise InvalidDeclaration(f"the app {app!r}: {error.message}", field=error.field) from error
    there = {saved.schedule.key for saved in made} | {*gone}
    for each in items:
        if each.key not in there:
            # Somebody made it by hand a moment ago.
            await _change(tx, tenant, each, shards=shards)
    return gone


async def _change(tx: Tx, tenant: Tenant, each: Declared, *, shards: int) -> None:
    try:
        await update.upsert_by_key(tx, tenant, each.key, each.fields, shards=shards)
    except InvalidSchedule as error:
        raise _misplaced(each, error) from error


def _read(each: Declared, now: datetime) -> Parsed:
    try:
        return fields.read(each.fields, now=anchor(now), require_future=False)
    except InvalidSchedule as error:
        raise _misplaced(each, error) from error


def _is_news(ours: Declaration, current: InForce | None) -> bool:
    """Whether it is worth a note that ours is in force: it was not, or not as this version."""
    if current is None or current.fingerprint != ours.fingerprint:
        return True
    return ours.version is not None and ours.version > (current.version or ())


def _is_over(parsed: Parsed) -> bool:
    return parsed.next_slot is None and is_timed(parsed.trigger)


def _misplaced(each: Declared, error: InvalidSchedule) -> InvalidDeclaration:
    return InvalidDeclaration(f"{each.where}: {error.message}", field=error.field)


def _refuse_foreign(app: str, todo: Plan) -> None:
    if todo.foreign:
        each, owner = todo.foreign[0]
        raise ForeignKey(
            f"{each.where}: expected a key that only the app {app!r} declares, got {each.key!r}, "
            f"which is declared by {owner!r}: give it another key=…, or both the same app=…"
        )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys[:10]) + (", …" if len(keys) > 10 else "")


def unlimited(tenant: Tenant) -> Tenant:
    """The tenant for a program that has the database's password: its limits are for strangers."""
    return replace(tenant, min_interval=timedelta(), max_schedules=None, create_rate=None)
