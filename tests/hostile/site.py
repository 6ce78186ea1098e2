"""A server on a database of the tests', spoken to with its admin key."""

from __future__ import annotations

import json
import os
import threading
import time
from base64 import b64encode
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from tests.deadlines import patience
from tests.process.serving import serving

from rota.db import Database
from rota.tenants import keys
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.process.serving import Server, Target

ADMIN = keys.new().text
RING = f"k1:{b64encode(bytes(32)).decode()}"
WITHIN = 90.0


async def allow_every_second(dsn: str) -> None:
    """Let the default tenant have schedules of a second."""
    db = await Database.open(dsn, pool_size=1)
    async with db, db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))


@contextmanager
def site(home: Path, dsn: str, **variables: str) -> Generator[Server]:
    """A whole server: engine and web process."""
    known = {"ROTA_ADMIN_KEY": ADMIN, "ROTA_SECRET_KEYS": RING}
    with serving(home, "--dsn", dsn, **known, **variables) as server:
        yield server


def post(server: Server, path: str, body: Any, *, within: float = WITHIN) -> Any:
    """What a POST with the admin key is answered."""
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    request = Request(server.url + path, json.dumps(body).encode(), headers, method="POST")
    with urlopen(request, timeout=patience(within)) as answer:
        return json.load(answer)


def every_second(server: Server, sink: Target) -> None:
    """A schedule that calls the sink every second, and has done so once."""
    post(
        server,
        "/v1/schedules",
        {"name": "tick", "interval": "1s", "target_url": sink.url, "overlap_policy": "allow"},
    )
    sink.next_call(within=WITHIN)


def goes_on(sink: Target, *, calls: int = 4) -> None:
    """Return when so many more calls have come."""
    sink.all_calls()
    for _ in range(calls):
        sink.next_call(within=WITHIN)


@contextmanager
def in_background(work: Any, *arguments: Any) -> Generator[list[Any]]:
    """Run it in a thread; what it returned, or its error, is in the list when the block ends."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work(*arguments))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield results
    thread.join(patience(WITHIN))


def resident_megabytes(pid: int) -> float:
    """What the process has in memory."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - as short
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def now() -> float:
    return time.monotonic()  # noqa: TID251 - outside of the program
