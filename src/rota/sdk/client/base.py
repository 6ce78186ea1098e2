"""What both clients share: which server, with which key, how patient, and a call as a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import httpx

from rota.clock import SystemClock
from rota.errors import InvalidInput
from rota.sdk.client.finding import find, no_key
from rota.sdk.client.sending import Policy, Trying
from rota.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from rota.sdk.client.call import Call

T = TypeVar("T")

_USUAL = {"Accept": "application/json", "User-Agent": f"rota-python/{__version__}"}


class Base:
    """A server and the key to it. The key shows nowhere."""

    def __init__(
        self,
        url: str | None,
        api_key: str | None,
        *,
        timeout: float,
        retries: int,
        max_wait: float,
        data_dir: str | Path | None,
    ) -> None:
        if timeout <= 0:
            raise InvalidInput(f"expected seconds above 0, got {timeout}", field="timeout")
        if retries < 0:
            raise InvalidInput(f"expected a number from 0 on, got {retries}", field="retries")
        self._place = find(url, api_key, data_dir)
        self._timeout = timeout
        self._policy = Policy(retries=retries, longest_wait=max_wait)
        self._clock = SystemClock()

    @property
    def url(self) -> str:
        """The server's address."""
        return self._place.url

    def __repr__(self) -> str:
        return f"<rota.{type(self).__name__} {self.url}>"

    def _trying(self, call: Call[T]) -> Trying[T]:
        return Trying(call, self._policy, self._clock)

    def _request(self, call: Call[T]) -> httpx.Request:
        """The call as it goes over the wire. Each try has its own."""
        headers = {**_USUAL, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.has_key:
            if self._place.key is None:
                raise no_key(self._place)
            headers["Authorization"] = f"Bearer {self._place.key}"
        query = f"?{urlencode(call.query)}" if call.query else ""
        patience = httpx.Timeout(self._timeout, read=self._timeout + call.patience)
        return httpx.Request(
            call.method,
            f"{self.url}{call.path}{query}",
            headers=headers,
            content=call.body,
            extensions={"timeout": patience.as_dict()},
        )
