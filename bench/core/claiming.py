"""Claims and finishes, by the thousand, beside their statements alone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from bench.core import sql
from bench.core.wire import say_again
from bench.frame.results import Figure, Row
from rota.clock import SystemClock
from rota.queue.claim import Claim, claim
from rota.queue.complete import AttemptRecord, Settlement, settle
from rota.schedules.definition import HTTP_LANE

if TYPE_CHECKING:
    from datetime import datetime

    from bench.core.stand import Stand
    from bench.frame.measure import Session

TITLE = "Claim and finish"
FIRINGS = 10_000
BATCH = 1_000

_CLOCK = SystemClock()
_WORKER = UUID(int=1)
_AGO = timedelta(seconds=10)
_LEAD = timedelta(seconds=2)
_VISIBILITY = timedelta(seconds=30)
_TRIED = AttemptRecord(
    outcome="succeeded",
    request='{"method": "POST", "url": "https://target.example/hook", "headers": {}, "body": ""}',
    response_headers='[["Content-Type", "text/plain"]]',
    response_body=b"ok",
)
_NOTE = (
    f"{FIRINGS:,} firings that wait in the queue, taken {BATCH:,} at a time; each thousand is then "
    "recorded as succeeded by one statement, with its attempts."
)


async def rows(session: Session, stand: Stand) -> list[Row]:
    """How many firings are claimed and finished in a second."""
    ours: list[float] = []
    bare: list[float] = []
    for number in range(session.rounds + 1):
        session.at_round(TITLE, number)
        first = await stand.now() - _AGO
        await _fill(stand, first)
        stand.tape.start()
        start = _CLOCK.monotonic()
        done = await _claim_and_finish(stand)
        ours.append(FIRINGS / (_CLOCK.monotonic() - start))
        said = stand.tape.stop()
        assert done == FIRINGS
        await _fill(stand, first)
        start = _CLOCK.monotonic()
        await say_again(stand.bare, said)
        bare.append(FIRINGS / (_CLOCK.monotonic() - start))
        assert await stand.queued() == 0
    row = Row(
        TITLE,
        "firings per second",
        Figure("Rota", tuple(ours[1:])),
        (Figure("bare", tuple(bare[1:])),),
        note=_NOTE,
    )
    session.tell(row)
    return [row]


async def _fill(stand: Stand, first: datetime) -> None:
    await stand.empty_queue()
    await stand.admin.execute(sql.FILL_QUEUE, FIRINGS, stand.tenant_id, first)


async def _claim_and_finish(stand: Stand) -> int:
    done = 0
    while True:
        async with stand.db.transaction() as tx:
            claims = await claim(
                tx, [HTTP_LANE], _WORKER, limit=BATCH, lead=_LEAD, visibility=_VISIBILITY
            )
        if not claims:
            return done
        settlements = [settlement(each) for each in claims]
        async with stand.db.transaction() as tx:
            done += len((await settle(tx, _WORKER, settlements)).accepted)


def settlement(each: Claim) -> Settlement:
    """Its success at the first attempt."""
    return Settlement(
        claim=each,
        started_at=each.available_at,
        finished_at=each.available_at,
        status="succeeded",
        tried=_TRIED,
        code=200,
        excerpt="ok",
    )
