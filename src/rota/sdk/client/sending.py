"""What to do with an answer, or with none: return it, raise it, or try again after a while. No I/O.

Only a call that is safe (`Call.is_safe`) is tried again: when the network failed, on 429 and 503.
`Retry-After` is honoured up to the policy's longest wait; a longer one is the caller's to wait for.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import httpx
import msgspec

from rota.sdk.client.errors import FieldError, NotFound, RotaApiError, Unreachable, kind_of

if TYPE_CHECKING:
    from datetime import datetime

    from rota.clock import Clock
    from rota.sdk.client.call import Call

T = TypeVar("T")
Outcome = httpx.Response | httpx.RequestError

_PROBLEM = "application/problem+json"
# Anything else (a scheme that is not HTTP, a request that breaks the protocol) fails again.
_PASSING = (
    httpx.TimeoutException,
    httpx.NetworkError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How often a safe call is tried again, and after which waits in seconds."""

    retries: int = 3
    first_wait: float = 0.2
    longest_wait: float = 30.0

    def backoff(self, tried: int, chance: float) -> float:
        """The wait after this many retries: doubled each time, less up to a half by chance."""
        return min(self.longest_wait, self.first_wait * 2**tried) * (1 - chance / 2)


class Trying(Generic[T]):
    """One call on its way: how often it was tried, and whether a try may have done its work."""

    def __init__(self, call: Call[T], policy: Policy, clock: Clock) -> None:
        self._call = call
        self._policy = policy
        self._clock = clock
        self._retries = 0
        self._is_in_doubt = False

    def again_after(self, outcome: Outcome) -> float | None:
        """The seconds to wait before it is sent again; None when this is the last word."""
        if not self._call.is_safe or self._retries >= self._policy.retries:
            return None
        wait = self._wait(outcome)
        if wait is None or wait > self._policy.longest_wait:
            return None
        self._retries += 1
        self._is_in_doubt |= not (
            isinstance(outcome, httpx.ConnectError)
            or (isinstance(outcome, httpx.Response) and outcome.status_code == 429)
        )
        return wait

    def _wait(self, outcome: Outcome) -> float | None:
        backoff = self._policy.backoff(self._retries, random.random())
        if isinstance(outcome, httpx.RequestError):
            return backoff if isinstance(outcome, _PASSING) else None
        if outcome.status_code not in (429, 503) or outcome.status_code in self._call.also:
            return None
        asked = retry_after(outcome, self._clock.now())
        if asked is None:
            # Rota says when to come again. Where it does not, coming again is of no use; but it
            # may be somebody in between who says this.
            return None if _is_problem(outcome) else backoff
        # A little later, and not all at once, when many were told the same.
        return max(asked, min(asked + min(backoff, 0.25), self._policy.longest_wait))

    def result(self, outcome: Outcome) -> T:
        """What the caller gets of it; whatever is no answer is raised."""
        if isinstance(outcome, httpx.RequestError):
            raise _unreachable(outcome) from outcome
        status = outcome.status_code
        if status in self._call.also:
            return self._read(outcome)
        if status >= 400:
            error = refusal(outcome, self._clock.now())
            if self._is_gone(error):
                return cast("T", None)
            raise error
        if status >= 300:
            raise Unreachable(f"expected Rota at {_origin(outcome)}, got a redirect ({status})")
        return self._read(outcome)

    def _is_gone(self, error: RotaApiError) -> bool:
        """It was to be deleted, a try of ours may have done so, and it is not there."""
        deleting = self._call.method == "DELETE" and isinstance(error, NotFound)
        return deleting and self._is_in_doubt

    def _read(self, response: httpx.Response) -> T:
        if self._call.answer is type(None):
            return cast("T", None)
        try:
            return msgspec.json.decode(response.content, type=self._call.answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreachable(
                f"expected Rota at {_origin(response)}, got an answer that is not its: {error}"
            ) from error


def refusal(response: httpx.Response, now: datetime) -> RotaApiError:
    """The error that an answer from 400 on is."""
    status = response.status_code
    problem = _problem(response)
    detail = problem.get("detail")
    if not isinstance(detail, str):
        detail = f"expected Rota at {_origin(response)} to answer, got status {status}"
    return kind_of(status)(status, detail, _errors(problem), retry_after(response, now))


def retry_after(response: httpx.Response, now: datetime) -> float | None:
    """The seconds that a Retry-After asks for: a number as Rota sends, or a date as others do."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        value: Any = msgspec.json.decode(response.content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _errors(problem: dict[str, Any]) -> tuple[FieldError, ...]:
    try:
        return msgspec.convert(problem.get("errors") or [], tuple[FieldError, ...])
    except msgspec.ValidationError:
        return ()


def _is_problem(response: httpx.Response) -> bool:
    return response.headers.get("Content-Type", "").startswith(_PROBLEM)


def _origin(response: httpx.Response) -> str:
    return _address(response.request.url)


def _address(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _unreachable(error: httpx.RequestError) -> Unreachable:
    reason = str(error) or type(error).__name__
    return Unreachable(f"expected a server at {_address(error.request.url)}, got none: {reason}")
