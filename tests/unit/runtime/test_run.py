"""The end of a process, whatever its tasks do."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from rota.runtime import run

if TYPE_CHECKING:
    import pytest

    from rota.events import Bus
    from rota.runtime.parts import Stop


def test_a_task_that_swallows_its_cancellation_does_not_keep_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "_LEAVE_TIMEOUT", 0.05)
    kept: list[asyncio.Task[None]] = []

    async def stubborn(begun: asyncio.Event) -> None:
        begun.set()
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def main(_: Bus, __: Stop) -> None:
        begun = asyncio.Event()
        kept.append(asyncio.create_task(stubborn(begun)))
        await begun.wait()

    run.with_signals(main)
    assert not kept[0].done()
    # Nobody waits for it any more, so nobody need be told.
    kept[0]._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]
