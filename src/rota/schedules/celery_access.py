"""Whether a tenant may send the Celery tasks that a schedule names. Pure.

Asked when a schedule is created or edited, so that its owner is told at once; a worker asks again
before it sends (`workers.celery`), as the permission may have been withdrawn by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.schedules.errors import InvalidSchedule, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.schedules.definition import Definition
    from rota.schedules.schedule import NewSchedule
    from rota.tenants.tenant import Tenant


def refused(tenant: Tenant, new: Iterable[NewSchedule]) -> dict[str, InvalidSchedule]:
    """By key, those that name a task that the tenant may not send."""
    return {
        each.key: InvalidSchedule(problems)
        for each in new
        if (problems := tuple(_problems(tenant, each.like)))
    }


def require(tenant: Tenant, definition: Definition) -> None:
    """`InvalidSchedule` when it names a task that the tenant may not send."""
    if problems := tuple(_problems(tenant, definition)):
        raise InvalidSchedule(problems)


def _problems(tenant: Tenant, definition: Definition) -> Iterator[Problem]:
    for field, target in definition.celery_targets:
        if wrong := tenant.wrong_with_celery(target):
            yield Problem(field, f"Invalid {field}: {wrong}")
