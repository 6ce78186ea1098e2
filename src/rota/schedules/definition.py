"""What a schedule is made of: when, where to, with what, and by which rules.

A `Definition` is the API's flat object after validation (`rota.schedules.fields`), and the JSON
that is stored. Every value in it is in range and fits the others: whoever has one need not check.

What is left out of the stored JSON is what equals its default here, which makes the defaults part
of the format: one may only change together with a migration of the rows that rely on it. Names that
are not known are passed over when it is read, so an older program can read what a newer one wrote.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rota.errors import ContractBroken
from rota.schedules import after as following
from rota.schedules import codes
from rota.schedules import monitor as monitors
from rota.schedules.after import After  # noqa: TC001 - read at run time, by msgspec
from rota.schedules.monitor import Monitor  # noqa: TC001 - as above
from rota.schedules.steps import Step  # noqa: TC001 - as above
from rota.targets import CeleryTarget, HttpTarget, StreamTarget, Target, TaskTarget
from rota.triggers.at import At
from rota.triggers.calendars import Filtered
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.never import Never
from rota.triggers.parse import parse
from rota.triggers.recurrence import Recurrence

if TYPE_CHECKING:
    from rota.triggers.calendars import Days
    from rota.triggers.trigger import Trigger

MisfirePolicy = Literal["fire_late", "fire_most_recent", "skip"]
OverlapPolicy = Literal["skip", "queue", "cancel_previous", "allow"]
Delivery = Literal["at_least_once", "at_most_once"]
BackoffShape = Literal["exponential", "linear", "fixed"]
Capture = Literal["all", "failures", "none"]

HTTP_LANE = "http"
"""The lane of everything that calls a URL; tasks are in the lane of their queue's name."""
STREAM_LANE = "stream"
CELERY_LANE = "celery"
DEFAULT_QUEUE = "default"
"""Of a task that was named without a queue and that no program has registered."""

HTTP_TIMEOUT_SECONDS = 30
TASK_TIMEOUT_SECONDS = 3600
ASYNC_TIMEOUT_SECONDS = 21_600


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A schedule as its owner described it. The fields have the API's names."""

    name: str
    key: str
    """Unique for each tenant; derived from name and trigger when its owner gave none."""
    description: str = ""
    tags: tuple[str, ...] = ()

    # When: exactly one of these.
    cron_expr: str | None = None
    interval: str | int | float | None = None
    """As written: "5m", "PT5M", or seconds."""
    run_at: datetime | None = None
    rrule: str | None = None
    text: str | None = None
    after: After | None = None
    """When a firing of another schedule has ended."""
    monitor: Monitor | None = None
    """When pings do not come in time: it calls nothing, and so has no target."""
    on_demand: bool | None = None
    """True: only when somebody asks for a run."""
    # The frame it is seen through.
    timezone: str = "UTC"
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_firings: int | None = None
    calendar: str | None = None
    """The name of a calendar of its tenant's: on dates that it leaves out there is no slot."""

    # Where to: exactly one of target_url, job_type, stream, celery_task and steps.
    target_url: str | None = None
    method: str = "POST"
    headers: dict[str, str] = {}
    body: str | None = None
    job_type: str | None = None
    stream: str | None = None
    """A Redis stream, as redis://host/name."""
    celery_task: str | None = None
    queue: str | None = None
    """Of a task or a Celery task; None when none was given."""
    steps: tuple[Step, ...] | None = None
    """Calls one after another, each with what undoes it."""

    payload: Any = None
    idempotency_key: str | None = None

    misfire_policy: MisfirePolicy = "fire_late"
    misfire_cap: int = 10
    misfire_grace: timedelta = timedelta(seconds=60)
    misfire_window: timedelta = timedelta(hours=24)
    overlap_policy: OverlapPolicy = "skip"
    delivery: Delivery = "at_least_once"

    timeout_seconds: int | float = 0
    """How long an attempt may take. 0 when it is made: the usual of its kind of target."""
    max_attempts: int = 3
    backoff: BackoffShape = "exponential"
    backoff_delay: timedelta = timedelta(seconds=5)
    backoff_max: timedelta = timedelta(hours=1)
    retry_window: timedelta = timedelta(hours=24)
    """The last attempt begins no later than this after the first might have."""
    success_on: codes.Codes = codes.SUCCESS
    """Which answers of a URL are success: codes, or classes such as "2xx"."""
    retry_on: codes.Codes = codes.RETRY
    """Which are tried again; any other is final. No answer at all is always tried again."""
    async_timeout_seconds: int | float = ASYNC_TIMEOUT_SECONDS
    """How long a target that has taken the work on (202, Rota-Async) has to complete it."""
    priority: int = 5
    jitter_seconds: int | float = 0
    fire_window_seconds: int | float = 0
    capture: Capture = "all"

    enabled: bool = True
    """How it was asked to begin; whether it is active now is its schedule's status."""

    def __post_init__(self) -> None:
        if self.timeout_seconds == 0 and self.steps is None:
            usual = HTTP_TIMEOUT_SECONDS if self.job_type is None else TASK_TIMEOUT_SECONDS
            msgspec.structs.force_setattr(self, "timeout_seconds", usual)

    def trigger(self, anchor_at: datetime, days: Days | None = None) -> Trigger:
        """The instants it names.

        `anchor_at` is the schedule's: what an interval without `start_at` counts from, and what
        "tomorrow" in a text is the morrow of, so that it means the same whenever it is read again.
        `days` are its calendar's, if it has one.
        """
        trigger = _anchored(self._bare_trigger(anchor_at), self.start_at or anchor_at)
        return _limited(trigger, days, self.start_at, self.end_at, self.max_firings)

    def _bare_trigger(self, anchor_at: datetime) -> Trigger:
        if self.cron_expr is not None:
            return Cron.parse(self.cron_expr, self.timezone)
        if self.interval is not None:
            return _interval(self.interval, self.timezone)
        if self.run_at is not None:
            return At(self.run_at, self.timezone)
        if self.rrule is not None:
            return Recurrence.parse(self.rrule, self.timezone)
        if self.text is not None:
            return parse(self.text, self.timezone, now=anchor_at)
        return self._untimed_trigger(anchor_at)

    def _untimed_trigger(self, anchor_at: datetime) -> Trigger:
        if self.after is not None:
            return following.trigger(self.after, self.timezone)
        if self.monitor is not None:
            return monitors.never(monitors.slots(self.monitor, self.timezone, anchor_at))
        if self.on_demand:
            return Never("on_demand", "when somebody asks for a run", self.timezone)
        raise ContractBroken(f"the definition of {self.key!r} has no trigger")

    def expected(self, anchor_at: datetime, days: Days | None = None) -> Trigger | None:
        """The slots for which pings are expected; None when it is no monitor."""
        if self.monitor is None:
            return None
        trigger = monitors.slots(self.monitor, self.timezone, anchor_at)
        return trigger if days is None else Filtered(trigger, days)

    def of_step(self, step: Step, *, compensating: bool = False) -> Definition:
        """The definition of one of its calls, as of a schedule that makes no other.

        What undoes a step is always delivered at least once: half undone is not undone.
        """
        delivery = "at_least_once" if compensating else self.delivery
        return msgspec.structs.replace(self, steps=None, delivery=delivery, **step.call)

    @property
    def target(self) -> Target:
        """What a firing calls first."""
        if self.steps is not None:
            return self.of_step(self.steps[0]).target
        if self.target_url is not None:
            return HttpTarget(
                url=self.target_url, method=self.method, headers=self.headers, body=self.body
            )
        if self.job_type is not None:
            return TaskTarget(job_type=self.job_type, queue=self.queue or DEFAULT_QUEUE)
        if self.stream is not None:
            return StreamTarget.read(self.stream)
        if self.celery_task is not None:
            return CeleryTarget(task=self.celery_task, queue=self.queue or DEFAULT_QUEUE)
        raise ContractBroken(f"the definition of {self.key!r} has no target")

    @property
    def lane(self) -> str:
        """Which workers' queue its firings wait in, at first."""
        if self.steps is not None:
            return self.of_step(self.steps[0]).lane
        if self.target_url is not None:
            return HTTP_LANE
        if self.stream is not None:
            return STREAM_LANE
        return CELERY_LANE if self.celery_task is not None else self.queue or DEFAULT_QUEUE

    @property
    def celery_targets(self) -> tuple[tuple[str, CeleryTarget], ...]:
        """The Celery tasks that it sends, each with the field that names it."""
        if self.celery_task is not None:
            return (
                (
                    "celery_task",
                    CeleryTarget(task=self.celery_task, queue=self.queue or DEFAULT_QUEUE),
                ),
            )
        return tuple(
            (f"{place}.celery_task", self.of_step(call).celery_targets[0][1])
            for at, step in enumerate(self.steps or ())
            for place, call in (
                (f"steps[{at}]", step),
                (f"steps[{at}].compensate", step.compensate),
            )
            if call is not None and call.celery_task is not None
        )

    @property
    def host(self) -> str | None:
        """The host it calls, with a port that is not the usual; None for a task or a monitor."""
        if self.monitor is not None:
            return None
        target = self.target
        if isinstance(target, HttpTarget):
            return target.host
        return target.place if isinstance(target, StreamTarget) else None

    @property
    def sends(self) -> tuple[object, ...]:
        """All that a request is made of: two that are equal here send the same."""
        target = None if self.monitor is not None else self.target
        return (target, self.payload, self.idempotency_key, self.steps)

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=self.timeout_seconds)

    @property
    def async_timeout(self) -> timedelta:
        return timedelta(seconds=self.async_timeout_seconds)

    @property
    def spread_window(self) -> timedelta:
        """How late after its slot it may be due, so that herds are thinned out."""
        return timedelta(seconds=self.jitter_seconds + self.fire_window_seconds)


def encode(definition: Definition) -> str:
    """As stored in schedules.definition."""
    return _encoder.encode(definition).decode()


def decode(stored: str) -> Definition:
    """What `encode` made of it, by this version or an older one."""
    return _decoder.decode(stored)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Definition)


@lru_cache(maxsize=4096)
def _interval(written: str | float, timezone: str) -> Interval:
    return Interval.parse(written, timezone)


def _anchored(trigger: Trigger, at: datetime) -> Trigger:
    """An interval counted from `at`, unless it says itself what it counts from."""
    if isinstance(trigger, Interval) and trigger.anchor is None:
        return trigger.anchored(at)
    if isinstance(trigger, Limited):
        # "every 5 minutes until 2030-01-01": the limits came with the text.
        inner = _anchored(trigger.trigger, trigger.start_at or at)
        return Limited(inner, trigger.start_at, trigger.end_at, trigger.max_firings)
    return trigger


def _limited(
    trigger: Trigger,
    days: Days | None,
    start_at: datetime | None,
    end_at: datetime | None,
    max_firings: int | None,
) -> Trigger:
    """One `Limited` with the limits given and those that the text has itself; none, no wrapper.

    Beneath it the calendar's `Filtered`, if there is one.
    """
    if isinstance(trigger, Limited):
        start_at = max(filter(None, (start_at, trigger.start_at)), default=None)
        end_at = min(filter(None, (end_at, trigger.end_at)), default=None)
        max_firings = min(filter(None, (max_firings, trigger.max_firings)), default=None)
        trigger = trigger.trigger
    if days is not None and not isinstance(trigger, Never):
        trigger = Filtered(trigger, days)
    if start_at is None and end_at is None and max_firings is None:
        return trigger
    return Limited(trigger, start_at, end_at, max_firings)
