"""A schedule as it is given to the server, and as the server shows it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict

from rota.sdk.client.results import Result

Length = str | int | float | timedelta
"""A length of time: "5m", "1h30m", ISO 8601, seconds, or a timedelta."""
Instant = str | datetime
"""A point in time. Without an offset it is on the wall clock of the schedule's zone."""
Status = Literal[
    "waiting",
    "running",
    "retrying",
    "blocked",
    "succeeded",
    "dead",
    "skipped",
    "missed",
    "cancelled",
]
"""Of a firing."""


class After(TypedDict, total=False):
    """Which schedule's firings are followed, and which of their ends; succeeded unless said."""

    key: str
    on: Literal["succeeded", "failed", "finished"]


class Followed(Result, frozen=True, kw_only=True):
    """The schedule whose firings this one follows."""

    key: str
    on: str = "succeeded"


class Monitor(TypedDict, total=False):
    """When pings are expected (cron, an interval or English), and how late one may be."""

    expect: str | int | float
    grace: Length


class Watched(Result, frozen=True, kw_only=True):
    """When pings are expected, and how late one may be."""

    expect: str | int | float
    grace: str = "5m"


class CallFields(TypedDict, total=False):
    """One call of several: exactly one target, with what belongs to it."""

    target_url: str
    method: str
    headers: Mapping[str, str]
    body: str
    job_type: str
    stream: str
    celery_task: str
    queue: str
    payload: Any
    timeout_seconds: float
    max_attempts: int
    success_on: Sequence[int | str]
    retry_on: Sequence[int | str]
    async_timeout_seconds: float


class StepFields(CallFields, total=False):
    """A step, and what undoes it when a later one fails for good."""

    name: str
    compensate: CallFields


class ScheduleFields(TypedDict, total=False):
    """What a schedule is made of. None takes a field back to its default."""

    name: str | None
    key: str | None
    description: str | None
    tags: Sequence[str] | None

    cron_expr: str | None
    interval: Length | None
    run_at: Instant | None
    rrule: str | None
    text: str | None
    after: After | str | None
    monitor: Monitor | None
    on_demand: bool | None
    timezone: str | None
    start_at: Instant | None
    end_at: Instant | None
    max_firings: int | None
    calendar: str | None

    target_url: str | None
    method: str | None
    headers: Mapping[str, str] | None
    body: str | None
    job_type: str | None
    stream: str | None
    celery_task: str | None
    queue: str | None
    steps: Sequence[StepFields] | None

    payload: Any
    idempotency_key: str | None
    """Forwarded to the target, joined with the slot; not the request's own, see `request_key`."""

    misfire_policy: Literal["fire_late", "fire_most_recent", "skip"] | None
    misfire_cap: int | None
    misfire_grace: Length | None
    misfire_window: Length | None
    overlap_policy: Literal["skip", "queue", "cancel_previous", "allow"] | None
    delivery: Literal["at_least_once", "at_most_once"] | None

    timeout_seconds: float | None
    max_attempts: int | None
    backoff: Literal["exponential", "linear", "fixed"] | None
    backoff_delay: Length | None
    backoff_max: Length | None
    retry_window: Length | None
    success_on: Sequence[int | str] | None
    retry_on: Sequence[int | str] | None
    async_timeout_seconds: float | None
    priority: int | None
    jitter_seconds: float | None
    fire_window_seconds: float | None
    capture: Literal["all", "failures", "none"] | None

    enabled: bool | None


class Schedule(Result, frozen=True, kw_only=True):
    """A schedule with every field it was made of, and where it stands.

    Lengths of time are as the API writes them, such as "1h30m".
    """

    id: str
    key: str
    name: str
    status: str
    """active, paused or completed."""
    version: int
    """One more after every change of its fields; `if_version=` of an edit."""
    created_at: datetime
    updated_at: datetime
    created_by: str | None = None
    """From where and by whom, such as cli:PREFIX of a key; None before there was a trail."""
    updated_by: str | None = None
    status_reason: str | None = None
    paused_until: datetime | None = None
    next_fire_at: datetime | None = None
    """The next slot."""
    next_due_at: datetime | None = None
    """When that slot is due: with jitter or a fire window, later than the slot."""
    last_fire_at: datetime | None = None
    last_status: str | None = None
    monitor_state: str | None = None
    """Of a monitor: waiting, up, late or down."""
    expected_at: datetime | None = None
    last_ping_at: datetime | None = None
    ping_url: str | None = None
    """Of a monitor, where it was read or made alone, for keys that may write."""
    warnings: tuple[str, ...] = ()
    """What there is to say about it when it was just written."""

    description: str | None = None
    tags: tuple[str, ...] = ()
    cron_expr: str | None = None
    interval: str | int | float | None = None
    run_at: datetime | None = None
    rrule: str | None = None
    text: str | None = None
    after: Followed | None = None
    monitor: Watched | None = None
    on_demand: bool | None = None
    timezone: str = "UTC"
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_firings: int | None = None
    calendar: str | None = None
    target_url: str | None = None
    method: str | None = None
    headers: dict[str, str] | None = None
    body: str | None = None
    job_type: str | None = None
    stream: str | None = None
    celery_task: str | None = None
    queue: str | None = None
    steps: tuple[dict[str, Any], ...] | None = None
    payload: Any = None
    idempotency_key: str | None = None
    misfire_policy: str | None = None
    misfire_cap: int | None = None
    misfire_grace: str | None = None
    misfire_window: str | None = None
    overlap_policy: str | None = None
    delivery: str | None = None
    timeout_seconds: float | None = None
    max_attempts: int | None = None
    backoff: str | None = None
    backoff_delay: str | None = None
    backoff_max: str | None = None
    retry_window: str | None = None
    success_on: tuple[int | str, ...] | None = None
    retry_on: tuple[int | str, ...] | None = None
    async_timeout_seconds: float | None = None
    priority: int | None = None
    jitter_seconds: float | None = None
    fire_window_seconds: float | None = None
    capture: str | None = None
    enabled: bool = True

    @property
    def etag(self) -> str:
        """Its version as HTTP names it."""
        return f'"v{self.version}"'


class FieldProblem(Result, frozen=True, kw_only=True):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(Result, frozen=True, kw_only=True):
    """Why one item was refused."""

    status: int
    detail: str
    title: str = ""
    errors: tuple[FieldProblem, ...] = ()


class BulkItem(Result, frozen=True, kw_only=True):
    """What became of one item: a schedule, or a problem."""

    index: int
    id: str | None = None
    key: str | None = None
    name: str | None = None
    status: str | None = None
    next_fire_at: datetime | None = None
    warnings: tuple[str, ...] = ()
    problem: Problem | None = None


class BulkResult(Result, frozen=True, kw_only=True):
    """What became of all items, in their order."""

    created: int = 0
    failed: int = 0
    items: tuple[BulkItem, ...] = ()
