"""Other services, through apprise: in threads, as it waits; imported when it is first wanted.

Apprise opens its own connections, past the guard that targets stand behind: docs/decisions says
when it may be used.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from rota.watch import addresses
from rota.watch.sender import Told

if TYPE_CHECKING:
    from rota.targets import TargetPolicy
    from rota.tenants.secrets import Masked

_THREADS: Final = 4
_PATIENCE_SECONDS: Final = 30.0


def understands(url: str) -> bool:
    """Whether apprise can read it. Slow at first: it loads all that it knows."""
    try:
        return _apprise().Apprise.instantiate(url, suppress_exceptions=True) is not None
    except Exception:  # noqa: BLE001 - a plugin of a hundred that stumbles has not understood
        return False


async def unreadable(url: Masked, *, policy: TargetPolicy, allowed: bool) -> str | None:
    """The scheme of a channel's URL that apprise would have to read, and cannot; None when all is
    well. A URL that may not be used at all is refused (`addresses.check`)."""
    text = url.reveal()
    scheme = addresses.check(text, policy=policy, others=allowed)
    if scheme in addresses.WEBHOOKS or await asyncio.to_thread(understands, text):
        return None
    return scheme


class Others:
    """Tells services that apprise knows."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="rota apprise")

    async def __call__(self, url: Masked, title: str, text: str) -> Told:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                done = await loop.run_in_executor(self._threads, _notify, url, title, text)
        except TimeoutError:
            return Told(error=f"timed out after {_PATIENCE_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a failed try
            return Told(error=type(error).__name__)
        return Told(error=None if done else "the service did not take it")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _notify(url: Masked, title: str, text: str) -> bool:
    told = _apprise().Apprise()
    return bool(told.add(url.reveal()) and told.notify(title=title, body=text))


def _apprise() -> Any:
    """The library, silenced: what it logs about a URL would repeat it."""
    import apprise  # noqa: PLC0415 - heavy, and for few

    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    return apprise
