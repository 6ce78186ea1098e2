"""Every case on one application, one after another: how long each held the loop."""

from __future__ import annotations

import asyncio
import gc
import inspect
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.loop_hold import api_cases, page_cases
from bench.loop_hold.client import send
from bench.loop_hold.house import house
from rota.clock import SystemClock
from rota.runtime.collector import calm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.loop_hold.case import Case
    from bench.loop_hold.house import House
    from bench.loop_hold.probe import Probe

CASES = (*api_cases.CASES, *page_cases.CASES)
_PATIENCE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Held:
    """What a case did to the loop."""

    case: Case
    seconds: float
    place: str
    status: int


async def holds_of(
    dsn: str,
    probe: Probe,
    *,
    cases: Sequence[Case] = CASES,
    enough: float,
    rounds: int,
    told: Callable[[Held], None] = lambda _: None,
) -> list[Held]:
    """The longest hold of each case; `told` hears of each as it comes.

    A case that held the loop for more than `enough` seconds is repeated, up to so many rounds, and
    the shortest counts: what the code itself holds comes again, what the machine takes does not.
    """
    found: list[Held] = []
    async with house(dsn) as at:
        # As a server that has started.
        calm()
        for case in cases:
            held = await _held(at, case, probe)
            for _ in range(rounds - 1):
                if held.seconds <= enough:
                    break
                held = min(held, await _held(at, case, probe), key=lambda each: each.seconds)
            told(held)
            found.append(held)
    return found


async def _held(at: House, case: Case, probe: Probe) -> Held:
    prepared = case.prepare(at)
    ask = await prepared if inspect.isawaitable(prepared) else prepared
    # What the preparation leaves behind, and the rest of this turn, are not the case's.
    gc.collect()
    gc.freeze()
    await _turn()
    probe.reset()
    async with asyncio.timeout(_PATIENCE_SECONDS):
        answer = await send(at.app, ask, first_part=case.endless)
    await _turn()
    hold = probe.longest()
    assert answer.status in case.status, (case.route, case.title, answer.status, answer.body[:500])
    return Held(case, hold.seconds, hold.place, answer.status)


async def _turn() -> None:
    """Let the loop end the turn that it is in."""
    await SystemClock().sleep(timedelta(milliseconds=1))
