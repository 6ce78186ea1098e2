"""Calls by the real caller, as a worker makes them."""

from __future__ import annotations

import errno
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.hostile.raw import OK, answering, serving
from tests.unit.workers.made import claim, schedule

from rota.targets import OPEN, TargetPolicy
from rota.workers.delivery.http import HttpCaller

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.hostile.raw import Server

    from rota.workers.caller import Reply
    from rota.workers.delivery.http.resolver import Lookup

STRICT = TargetPolicy()


async def call(
    url: str, policy: TargetPolicy = OPEN, *, lookup: Lookup | None = None, **fields: Any
) -> Reply:
    """One call, with a caller of its own."""
    async with HttpCaller(policy, lookup=lookup) as caller:
        return await call_with(caller, url, **fields)


async def call_with(caller: HttpCaller, url: str, **fields: Any) -> Reply:
    fields.setdefault("timeout_seconds", 60.0)
    return await caller.prepare(claim(), schedule(target_url=url, **fields)).send()


@dataclass
class Canary:
    """Listens on every address of this machine, on one port; nobody should ever come."""

    four: Server
    six: Server

    @property
    def port(self) -> int:
        return self.four.port

    @property
    def connections(self) -> int:
        return self.four.connections + self.six.connections


@contextmanager
def canary() -> Generator[Canary]:
    """A canary, for as long as the block lasts."""
    for _ in range(20):
        with serving(answering(OK), host="0.0.0.0") as four:
            try:
                with serving(answering(OK), host="::", port=four.port) as six:
                    yield Canary(four, six)
                    return
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
    raise AssertionError("no port was free for both families")


@contextmanager
def alias(address: str) -> Generator[bool]:
    """Another address of the loopback interface; False where that is not permitted."""
    done = _ip("add", address)
    try:
        yield done
    finally:
        if done:
            _ip("del", address)


def _ip(verb: str, address: str) -> bool:
    try:
        ran = subprocess.run(
            ["ip", "addr", verb, f"{address}/32", "dev", "lo"], check=False, capture_output=True
        )
    except OSError:
        return False
    return ran.returncode == 0
