"""One run of a case: by Rota, or by a bare loop."""

from __future__ import annotations

import asyncio
import math
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from bench.api.client import Talk, connect, decoded, request
from bench.punctuality import bare
from bench.punctuality.target import Arrival
from rota.clock import SystemClock

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence
    from datetime import datetime

    from bench.api.stand import Stand
    from bench.punctuality.cases import Case
    from bench.punctuality.target import Target

_CLOCK = SystemClock()
_REST = timedelta(seconds=3)
_SETTLE = timedelta(seconds=8)
"""After the last instant: the last retries have come by then, and what is later is not punctual."""
_PATIENCE = timedelta(seconds=60)
_POLL = timedelta(milliseconds=200)
SOON = timedelta(seconds=1)
SINGLES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Where it is measured: a server, and a target."""

    stand: Stand
    target: Target
    trusted: ssl.SSLContext

    async def taken(self) -> list[Arrival]:
        """What has arrived since the last time."""
        talk = await self._target()
        _, body = await talk.ask(b"GET /taken HTTP/1.1\r\nHost: target\r\n\r\n")
        talk.close()
        return msgspec.json.decode(body, type=list[Arrival])

    async def _target(self) -> Talk:
        loop = asyncio.get_running_loop()
        _, talk = await loop.create_connection(Talk, "127.0.0.1", self.target.ports[0])
        return talk

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask the server; its answer."""
        talk = await connect(self.stand)
        status, answer = await talk.ask(request(self.stand, method, path, body))
        talk.close()
        assert status < 300, (status, answer[:500])
        return decoded(answer) if answer else None

    async def arrivals(self, run: str, expected: int) -> list[Arrival]:
        """All requests of a run, once there are as many as expected."""
        found: list[Arrival] = []
        async with asyncio.timeout(_PATIENCE.total_seconds()):
            while len(found) < expected:
                await _CLOCK.sleep(_POLL)
                found += await self.arrived(run)
        return found

    async def arrived(self, run: str) -> list[Arrival]:
        """The requests of a run that have come since the last time."""
        return [each for each in await self.taken() if f"/{run}/" in each.path]

    async def rest(self) -> None:
        """Nothing is left of the last run."""
        await self.stand.empty()
        await _CLOCK.sleep(_REST)
        await self.taken()


async def by_rota(field: Field, case: Case) -> list[float]:
    """Milliseconds by which each request was late."""
    run = secrets.token_hex(4)
    first = case.first_after(_CLOCK.now())
    await field.ask("POST", "/v1/schedules/bulk", case.bodies(field.target, run, first))
    assert _CLOCK.now() < first - 2 * SOON, "the schedules were made too late"
    await _until(case.slots(first)[-1] + _SETTLE)
    late = case.lateness(await field.arrived(run), first)
    await field.rest()
    assert late, "no request arrived"
    assert min(late) >= 0, "a request arrived before its instant"
    # A slot is skipped when the run before it was so late that it has not ended: no request came at
    # all, which is later than any.
    skipped = case.count * case.instants - len(late)
    return late + [1000.0 * (case.every or 1)] * skipped


async def by_bare_loop(field: Field, case: Case, *, ahead: bool) -> list[float]:
    """The same of a loop that only sends."""
    run = secrets.token_hex(4)
    first = case.first_after(_CLOCK.now())
    sends = case.sends(field.target, run, first)
    await bare.send(sends, ahead=ahead, trusted=field.trusted)
    return case.lateness(await field.arrivals(run, len(sends)), first)


async def created_soon(field: Field) -> list[float]:
    """Schedules that are created one second before their only slot."""
    run = secrets.token_hex(4)
    slots: dict[str, float] = {}
    for number in range(SINGLES):
        slot = _CLOCK.now() + SOON
        path = f"/now/{run}/{number}"
        slots[path] = slot.timestamp()
        body = {
            "name": f"{run} {number}",
            "run_at": slot.isoformat(),
            "target_url": f"http://127.0.0.1:{field.target.ports[0]}{path}",
        }
        await field.ask("POST", "/v1/schedules", body)
        await _CLOCK.sleep(_POLL)
    arrivals = await field.arrivals(run, SINGLES)
    await field.rest()
    return [(each.at - slots[each.path]) * 1000 for each in arrivals]


async def sent_soon(field: Field, *, ahead: bool) -> list[float]:
    """The same of a bare loop: one request a time, each a second after it is asked for."""
    run = secrets.token_hex(4)
    now = _CLOCK.now() + 2 * SOON
    sends = [
        bare.Send(at=now + number * _POLL, port=field.target.ports[0], path=f"/now/{run}/{number}")
        for number in range(SINGLES)
    ]
    await bare.send(sends, ahead=ahead, trusted=field.trusted)
    due = {each.path: each.at.timestamp() for each in sends}
    return [(each.at - due[each.path]) * 1000 for each in await field.arrivals(run, SINGLES)]


async def manual_runs(field: Field) -> list[float]:
    """From the request for a run to its first byte at the target."""
    run = secrets.token_hex(4)
    made = await field.ask(
        "POST",
        "/v1/schedules",
        {
            "name": run,
            "cron_expr": "0 0 1 1 *",
            "overlap_policy": "allow",
            "target_url": f"http://127.0.0.1:{field.target.ports[0]}/now/{run}/0",
        },
    )
    late: list[float] = []
    talk = await connect(field.stand)
    for _ in range(SINGLES):
        asked_at = _CLOCK.now().timestamp()
        await talk.ask(request(field.stand, "POST", f"/v1/schedules/{made['id']}/trigger", {}))
        (arrival,) = await field.arrivals(run, 1)
        late.append((arrival.at - asked_at) * 1000)
    talk.close()
    await field.rest()
    return late


async def bare_runs(field: Field, *, ahead: bool) -> list[float]:
    """From the request to the target itself to its first byte there."""
    run = secrets.token_hex(4)
    late: list[float] = []
    for number in range(SINGLES):
        at = _CLOCK.now() + (2.1 * SOON if ahead else timedelta())
        path = f"/now/{run}/{number}"
        one = bare.Send(at=at, port=field.target.ports[0], path=path)
        await bare.send([one], ahead=ahead, trusted=field.trusted)
        (arrival,) = await field.arrivals(run, 1)
        late.append((arrival.at - at.timestamp()) * 1000)
    return late


def p99(late: Sequence[float]) -> float:
    """The value that one in a hundred exceeds; of fewer than a hundred, the highest."""
    ordered = sorted(late)
    return ordered[math.ceil(0.99 * len(ordered)) - 1]


async def _until(at: datetime) -> None:
    await _CLOCK.sleep(max(at - _CLOCK.now(), timedelta()))
