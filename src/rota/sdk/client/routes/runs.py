"""`/v1/firings` and `/v1/dead`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from rota.sdk.client.call import Call, Listing, at, get, listing, post, some, visible
from rota.sdk.client.results import Attempt, ClaimResult, Completion, Firing, Page, ReplayResult
from rota.sdk.client.schedules import Instant, Schedule, Status

T = TypeVar("T")

TOKEN_HEADER = "Rota-Token"  # noqa: S105 - the header's name
_ONE = "/v1/firings/{}"


def all_firings(
    *,
    since: Instant | None = None,
    status: Status | Literal["live", "ended"] | None = None,
    schedule: str | Schedule | None = None,
    page_size: int | None = None,
) -> Listing[Firing]:
    """All firings: the live ones first, then those that ended, the newest end first.

    `since` leaves out what had ended before. Who reads it again and again follows what happens.
    """
    which = _schedule_id(schedule)
    return listing(
        Page[Firing], "/v1/firings", page_size, since=since, status=status, schedule_id=which
    )


def firing(firing: str | Firing) -> Call[Firing]:
    """One firing, live or ended."""
    return get(Firing, at(_ONE, _id(firing)))


def attempts(firing: str | Firing) -> Listing[Attempt]:
    """Every try of a firing, with request and response."""
    return listing(Page[Attempt], at(f"{_ONE}/attempts", _id(firing)))


def cancel(firing: str | Firing, *, reason: str | None = None) -> Call[Firing]:
    """End a firing: at once when no worker has it, else within a second."""
    return post(Firing, at(f"{_ONE}/cancel", _id(firing)), some(reason=reason) or None)


def replay(firing: str | Firing) -> Call[Firing]:
    """Repeat a firing that has ended: a new one, which names it."""
    return post(Firing, at(f"{_ONE}/replay", _id(firing)))


def dead(
    *,
    schedule: str | Schedule | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    page_size: int | None = None,
) -> Listing[Firing]:
    """The dead letters, the newest slot first: slots from `since` on and before `until`."""
    which = _schedule_id(schedule)
    return listing(Page[Firing], "/v1/dead", page_size, schedule_id=which, since=since, until=until)


def replay_dead(
    *,
    schedule: str | Schedule | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    firings: Iterable[str | Firing] | None = None,
    limit: int | None = None,
) -> Call[ReplayResult]:
    """Repeat the dead letters that fit and have no replay yet, or the firings named.

    Up to 10,000 a call; `more` in the result says that there are others.
    """
    body = some(
        schedule_id=_schedule_id(schedule),
        since=since,
        until=until,
        ids=None if firings is None else [_id(each) for each in firings],
        limit=limit,
    )
    return post(ReplayResult, "/v1/dead/replay", body or None)


def claim(
    queue: str,
    *,
    limit: int | None = None,
    wait: float | None = None,
    visibility: float | None = None,
    worker: str | None = None,
) -> Call[ClaimResult]:
    """Take work of a queue: up to `limit` (1) firings, at once or within `wait` seconds (0).

    They are the caller's for `visibility` seconds (60), unless it says so again with `extend`;
    `complete` and `fail` end them. `worker` is a name for people.
    """
    body = some(limit=limit, wait=wait, visibility=visibility, worker=worker)
    call = post(ClaimResult, at("/v1/queues/{}/claim", queue), body or None)
    return replace(call, patience=wait or 0.0)


def complete(firing: str | Firing, *, token: str, result: Any = None) -> Call[Completion]:
    """The work is done; the result is kept with the firing. `token` is the attempt's Rota-Token."""
    return _work("complete", firing, token, result=result)


def fail(
    firing: str | Firing, *, token: str, error: str | None = None, retry: bool = True
) -> Call[Completion]:
    """The work has failed: it is tried again as its schedule says, unless that is no use."""
    return _work("fail", firing, token, error=error, retry=retry)


def extend(firing: str | Firing, *, token: str, seconds: float | None = None) -> Call[Completion]:
    """The work takes longer: this long from now, or as long as its schedule gives."""
    return _work("extend", firing, token, seconds=seconds)


def _work(verb: str, firing: str | Firing, token: str, **fields: Any) -> Call[Completion]:
    call = post(Completion, at(f"{_ONE}/{verb}", _id(firing)), some(**fields) or None)
    # The token is the authority here; the key has no business with it.
    return replace(call, headers={TOKEN_HEADER: visible("token", token)}, has_key=False)


def _id(firing: str | Firing) -> str:
    return firing.id if isinstance(firing, Firing) else firing


def _schedule_id(schedule: str | Schedule | None) -> str | None:
    return schedule.id if isinstance(schedule, Schedule) else schedule
