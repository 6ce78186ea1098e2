"""A program as a user writes one, for tests that need real processes: it notes every run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rota import Context, Rota

NAME = os.environ.get("PROGRAM", "ledger")
rota = Rota(name=NAME, stop_grace=2)


# A slow machine must not have slots skipped: each of them is counted.
@rota.schedule("every second", key="tick" if NAME == "ledger" else NAME, overlap_policy="allow")
def tick(context: Context) -> None:
    """One line for each run: its slot, and who ran it."""
    line = f"{int(context.scheduled_for.timestamp())} {os.getpid()}\n"
    with Path(os.environ["LEDGER"]).open("a", encoding="utf-8") as ledger:
        ledger.write(line)


def forked() -> None:
    """A fork after the start, and one before it."""
    import asyncio  # noqa: PLC0415 - only here

    from rota.library.errors import NotRunning  # noqa: PLC0415 - only here

    async def parent() -> None:
        async with Rota(roles=()) as started:
            if os.fork() == 0:
                try:
                    _ = started.running
                except NotRunning as error:
                    os.write(1, f"{error}\n".encode())
                os._exit(0)
            os.wait()  # noqa: ASYNC222 - nothing else runs here

    async def child() -> None:
        async with before:
            os.write(1, b"started after the fork\n")

    before = Rota(roles=())
    asyncio.run(parent())
    if os.fork() == 0:
        asyncio.run(child())
        os._exit(0)
    os.wait()


if __name__ == "__main__":
    forked() if sys.argv[1:] == ["fork"] else rota.run()
