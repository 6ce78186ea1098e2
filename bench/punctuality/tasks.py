"""Tasks of a program: when each was entered after its slot, next to a loop that only calls.

`python -m bench.punctuality.tasks KIND HOME SECONDS` is such a program: it notes when its tasks are
entered, for so long, and writes the milliseconds of all as its last line.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import uvloop

from rota import Context, Rota
from rota.clock import SystemClock
from rota.runtime.collector import calm

if TYPE_CHECKING:
    from bench.punctuality.measure import Field

Kind = Literal["async", "thread"]

COUNT = 90
INSTANTS = 20
_CLOCK = SystemClock()
_SECOND = timedelta(seconds=1)
_START_SECONDS = 60
_LONGEST_LINE = 16 * 1024 * 1024


async def by_rota(field: Field, kind: Kind) -> list[float]:
    """Milliseconds by which each was late."""
    run = secrets.token_hex(4)
    async with AsyncExitStack() as stack:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, kind, str(field.stand.home), str(INSTANTS + 15)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
        )
        stack.callback(lambda: process.returncode is None and process.kill())
        assert process.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            assert await process.stdout.readline() == b"ready\n"
        first = _first()
        await field.ask("POST", "/v1/schedules/bulk", [_body(run, n) for n in range(COUNT)])
        assert _CLOCK.now() < first - 2 * _SECOND, "the schedules were made too late"
        async with asyncio.timeout(INSTANTS + _START_SECONDS):
            late = json.loads(await process.stdout.readline())
        await process.wait()
    await field.rest()
    wanted = {(first + n * _SECOND).timestamp() for n in range(INSTANTS)}
    found = [milliseconds for slot, milliseconds in late if slot in wanted]
    assert found, "no task was run"
    assert min(found) >= 0, "a task was entered before its instant"
    return found + [1000.0] * (COUNT * INSTANTS - len(found))


async def by_bare_loop(kind: Kind) -> list[float]:
    """The same of a loop that calls functions at instants, and does nothing else."""
    loop, first = asyncio.get_running_loop(), _first()
    late: list[float] = []

    def note(slot: datetime) -> None:
        late.append((_CLOCK.now() - slot).total_seconds() * 1000)

    async def at(slot: datetime) -> None:
        while (left := (slot - _CLOCK.now()).total_seconds()) > 0:
            reached = loop.create_future()
            loop.call_later(left, reached.set_result, None)
            await reached
        if kind == "thread":
            await asyncio.to_thread(note, slot)
        else:
            note(slot)

    slots = [first + n * _SECOND for n in range(INSTANTS)]
    await asyncio.gather(*(at(slot) for slot in slots for _ in range(COUNT)))
    return late


def _first() -> datetime:
    """The first instant that there is time to prepare for."""
    return _CLOCK.now().replace(microsecond=0) + 6 * _SECOND


def _body(run: str, number: int) -> dict[str, Any]:
    return {
        "name": f"{run} {number}",
        "key": f"{run}-{number}",
        "job_type": "note",
        "cron_expr": "* * * * * *",
    }


async def _program(kind: Kind, home: str, seconds: int) -> None:
    rota = Rota(data_dir=home, name="punctuality", roles=("worker",))
    late: list[tuple[float, float]] = []

    def noted(context: Context) -> None:
        now, slot = _CLOCK.now(), context.scheduled_for
        late.append((slot.astimezone(UTC).timestamp(), (now - slot).total_seconds() * 1000))

    if kind == "thread":

        @rota.task(name="note")
        def note_in_thread(context: Context) -> None:
            noted(context)

    else:

        @rota.task(name="note")
        async def note(context: Context) -> None:
            noted(context)

    calm()
    async with rota:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await _CLOCK.sleep(timedelta(seconds=seconds))
    sys.stdout.write(json.dumps(late) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_program(sys.argv[1], sys.argv[2], int(sys.argv[3])))  # pyright: ignore[reportArgumentType] - one of two
