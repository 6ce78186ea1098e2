"""A target that does and undoes things, and remembers what it was asked for."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from rota.schedules.fields import read_target
from rota.schedules.values import Values

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.schedules.steps import Step


@dataclass
class Desk:
    """`POST /flight` books, `DELETE /flight` unbooks; `fails` says how often each answers 500."""

    url: str = ""
    calls: list[str] = field(default_factory=list[str])
    """As `flight` and `-flight`."""
    keys: list[str] = field(default_factory=list[str])
    """The Idempotency-Key of each call."""
    bodies: list[Any] = field(default_factory=list[Any])
    fails: dict[str, int] = field(default_factory=dict[str, int])
    holds: set[str] = field(default_factory=set[str])
    """What is answered only once it is let go."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        name = request.path.strip("/")
        what = f"-{name}" if request.method == "DELETE" else name
        body = await request.read()
        self.calls.append(what)
        self.keys.append(request.headers["Idempotency-Key"])
        self.bodies.append(json.loads(body) if body else None)
        self.arrived.set()
        if what in self.holds:
            await self.go.wait()
        if self.fails.get(what, 0) > 0:
            self.fails[what] -= 1
            return web.Response(status=500)
        return web.json_response({"booked": what})

    def steps(self, *names: str) -> tuple[Step, ...]:
        """A step for each, with a compensation unless its name ends with a dot."""
        values = Values({"steps": [self.step(name) for name in names]})
        draft: dict[str, Any] = {}
        read_target(values, draft)
        assert not values.problems
        return draft["steps"]

    def step(self, name: str) -> dict[str, Any]:
        bare = name.rstrip(".")
        step: dict[str, Any] = {"name": bare, "target_url": f"{self.url}/{bare}"}
        if bare == name:
            step["compensate"] = {"target_url": f"{self.url}/{bare}", "method": "DELETE"}
        return step


@asynccontextmanager
async def desk() -> AsyncGenerator[Desk]:
    it = Desk()
    runner = web.ServerRunner(web.Server(it.answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    it.url = f"http://{host}:{port}"
    try:
        yield it
    finally:
        it.go.set()
        await runner.cleanup()
