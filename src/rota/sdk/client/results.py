"""What the server answers, as frozen values. Instants are aware and in UTC.

A field that this version does not know is passed over, and one that the server does not send has
its default: a client and a server of neighbouring versions understand each other.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

_NO_OFFSET = timedelta()
_ENDED = frozenset({"succeeded", "dead", "skipped", "missed", "cancelled"})


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Something the server answered."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, datetime) and value.utcoffset() != _NO_OFFSET:
                msgspec.structs.force_setattr(self, name, value.astimezone(UTC))


class Page(Result, Generic[T], frozen=True, kw_only=True):
    """Some items of a list; `next_cursor` asks for those that follow, None when there are none."""

    items: tuple[T, ...]
    next_cursor: str | None = None


class FiringStep(Result, frozen=True, kw_only=True):
    """What has become of a step: waiting, running, succeeded, failed, cancelled or not_run;
    compensating, compensated or compensation_failed."""

    name: str
    status: str


class Firing(Result, frozen=True, kw_only=True):
    """One firing, live or ended; or a run of slots that were not fired, as one."""

    id: str
    schedule_id: str
    scheduled_for: datetime
    status: str
    last_slot_at: datetime | None = None
    slot_count: int = 1
    reason: str | None = None
    attempt: int = 0
    triggered_by: str = ""
    catch_up: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    duration_ms: float | None = None
    result_code: int | None = None
    result_excerpt: str | None = None
    replay_of: str | None = None
    detached_until: datetime | None = None
    progress: float | None = None
    """How far a task that runs said that it is, from 0 to 1."""
    progress_note: str | None = None
    steps: tuple[FiringStep, ...] | None = None
    """Of one that goes through steps, once the first is over."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will become of it."""
        return self.status in _ENDED


class Attempt(Result, frozen=True, kw_only=True):
    """One try, as much of it as the schedule's `capture` kept."""

    attempt: int
    outcome: str
    started_at: datetime
    error: str | None = None
    finished_at: datetime | None = None
    duration_ms: float | None = None
    request: dict[str, Any] | None = None
    response_status: int | None = None
    response_headers: tuple[tuple[str, str], ...] | None = None
    response_body: str | None = None
    step: str | None = None
    """Of a firing that goes through steps: which one."""
    compensating: bool = False
    """Whether it was to undo that step."""
    capture_cut: bool = False
    """Whether only excerpts were kept, as the tenant's budget of the day was used up."""


class Slot(Result, frozen=True, kw_only=True):
    """An instant to come, in UTC and on the wall clock of its zone."""

    utc: datetime
    local: str
    note: str | None = None
    due_at: datetime | None = None
    """When it is due, where jitter or a fire window of the schedule makes that later."""


class Upcoming(Result, frozen=True, kw_only=True):
    """The slots to come, and what they mean."""

    slots: tuple[Slot, ...]
    explanation: str = ""
    timezone: str = "UTC"
    warnings: tuple[str, ...] = ()


class Explained(Result, frozen=True, kw_only=True):
    """What became of the slot at one instant: a firing's status, or why there is none."""

    at: datetime
    outcome: str
    explanation: str
    firing: Firing | None = None
    previous_slot: datetime | None = None
    next_slot: datetime | None = None


class FieldChange(Result, frozen=True, kw_only=True):
    """A field that was changed; the values of a `redacted` one are not kept."""

    field: str
    old: Any = None
    new: Any = None
    redacted: bool = False


class AuditEntry(Result, frozen=True, kw_only=True):
    """Something that was done to a schedule; `schedule_id` is None of a bulk create."""

    at: datetime
    action: str
    actor: str | None = None
    schedule_id: str | None = None
    schedule_key: str | None = None
    schedule_name: str | None = None
    status: str | None = None
    version: int | None = None
    changes: tuple[FieldChange, ...] = ()
    details: dict[str, Any] = {}


class SlotRun(Result, frozen=True, kw_only=True):
    """Slots one after another, both ends included."""

    first_slot: datetime
    last_slot: datetime
    count: int


class SlotAudit(Result, frozen=True, kw_only=True):
    """A schedule's slots in a range of time: how many it had to fire, and which are unexplained."""

    schedule_id: str
    schedule_key: str
    schedule_name: str
    since: datetime
    until: datetime
    expected: int
    unexplained: int
    runs: tuple[SlotRun, ...] = ()
    more: bool = False
    has_no_timer: bool = False


class Why(Explained, frozen=True, kw_only=True):
    """The same for the instant that was asked for."""

    schedule_id: str
    note: str | None = None
    """Which instant it is about, when clocks skip or repeat the local time that was asked for."""
    second: Explained | None = None
    """Of a local time that clocks repeat: the same for its second instant."""


class Backfilled(Result, frozen=True, kw_only=True):
    """The firings that were made, in the order of their slots."""

    created: int
    items: tuple[Firing, ...] = ()


class ReplayResult(Result, frozen=True, kw_only=True):
    """The replays made, in order; `more` when there are dead letters left that fit."""

    replayed: int
    items: tuple[str, ...]
    more: bool = False


class ClaimedFiring(Firing, frozen=True, kw_only=True):
    """A firing to work on, and the token to report on it with."""

    token: str
    claimed_until: datetime
    queue: str = "default"
    job_type: str = ""
    payload: Any = None
    idempotency_key: str = ""
    schedule_key: str = ""
    max_attempts: int = 1
    timeout_seconds: float = 0
    deadline: datetime | None = None
    fence: int | None = None

    def __repr__(self) -> str:
        # The token is an authority: it does not belong in a log.
        return f"ClaimedFiring(id={self.id!r}, job_type={self.job_type!r}, attempt={self.attempt})"


class ClaimResult(Result, frozen=True, kw_only=True):
    """What was claimed, in the order in which it should be begun."""

    items: tuple[ClaimedFiring, ...] = ()


class PauseResult(Result, frozen=True, kw_only=True):
    """How many were paused together; while there is `more`, the same call again goes on."""

    paused: int
    renewed: int = 0
    more: bool = False


class ResumeResult(Result, frozen=True, kw_only=True):
    """How many run again, or had no slot left; while there is `more`, the same call goes on."""

    resumed: int
    completed: int = 0
    more: bool = False


class Completion(Result, frozen=True, kw_only=True):
    """What became of the firing; `until` is how long its work may take."""

    id: str
    attempt: int
    status: str
    retry_at: datetime | None = None
    until: datetime | None = None


class Circuit(Result, frozen=True, kw_only=True):
    """A host that has failed a tenant since it last answered it: closed, open or half_open."""

    host: str
    state: str
    tenant: str | None = None
    reach: str = "tenant"
    failures: int = 0
    trips: int = 0
    opened_at: datetime | None = None
    open_until: datetime | None = None
    probe_until: datetime | None = None
    last_error: str | None = None
    changed_at: datetime | None = None


class Health(Result, frozen=True, kw_only=True):
    """How a server is: `ok`, or why not."""

    status: str
    version: str = ""
    detail: str | None = None

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"
