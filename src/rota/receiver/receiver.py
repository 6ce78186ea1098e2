"""The receiver: which requests reach the application."""

from __future__ import annotations

import re
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from rota.clock import SystemClock
from rota.errors import InvalidInput
from rota.receiver import answers, signature
from rota.receiver.asgi import AsgiReceiver
from rota.receiver.store import Begun, Delivery, MemoryStore
from rota.receiver.wsgi import WsgiReceiver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta
    from wsgiref.types import WSGIApplication

    from rota.clock import Clock
    from rota.receiver.answers import Answer
    from rota.receiver.asgi import AsgiApp
    from rota.receiver.store import Store

MAX_BODY: Final = 1024 * 1024

_FENCE = re.compile(r"[0-9]{1,19}", re.ASCII)


class Receiver:
    """Lets through what Rota signed, each firing once.

    `secrets` are the signing secrets (`whsec_…`), several while one replaces another. `max_body` is
    how many bytes a body may have. `store` remembers; give one of your own when several processes
    serve the same target. `check_fence=False` lets older fences through: for schedules with
    `overlap_policy: allow`, whose earlier firings may be tried again after later ones.
    """

    def __init__(
        self,
        *,
        secrets: Iterable[str],
        store: Store | None = None,
        max_body: int = MAX_BODY,
        tolerance: timedelta = signature.TOLERANCE,
        check_fence: bool = True,
        clock: Clock | None = None,
    ) -> None:
        if isinstance(secrets, str):
            secrets = [secrets]
        keys = tuple(signature.key_of(secret) for secret in secrets)
        if not keys:
            # Without a secret nothing could ever be let through.
            raise InvalidInput("expected at least one signing secret, got none", field="secrets")
        self.store: Store = store if store is not None else MemoryStore(clock=clock)
        self.max_body = max_body
        self._keys = keys
        self._tolerance = tolerance
        self._check_fence = check_fence
        self._clock = clock or SystemClock()

    def asgi(self, app: AsgiApp) -> AsgiReceiver:
        """The ASGI application behind this receiver."""
        return AsgiReceiver(self, app)

    def wsgi(self, app: WSGIApplication) -> WsgiReceiver:
        """The WSGI application behind this receiver."""
        return WsgiReceiver(self, app)

    def check(self, headers: Mapping[str, str], body: bytes) -> Delivery | Answer:
        """The delivery that these bytes are, or how they are refused. Names are in lower case."""
        try:
            firing_id = signature.check(
                self._keys, headers, body, self._clock.now(), self._tolerance
            )
        except signature.InvalidSignature as error:
            return answers.problem(HTTPStatus.UNAUTHORIZED, str(error))
        return self._delivery(firing_id, headers)

    def begin(self, delivery: Delivery) -> Answer | None:
        """None when it is to be handled, otherwise its answer. May wait for the store."""
        begun = self.store.begin(delivery)
        return None if begun is Begun.STARTED else answers.of(begun)

    def _delivery(self, firing_id: str, headers: Mapping[str, str]) -> Delivery | Answer:
        fence = headers.get("rota-fence")
        if fence is not None and not _FENCE.fullmatch(fence):
            return answers.problem(
                HTTPStatus.BAD_REQUEST, "expected a whole number as Rota-Fence, got something else"
            )
        return Delivery(
            # The id that was signed, not Rota-Firing-Id, which anybody on the way could change.
            firing_id=firing_id,
            schedule_id=headers.get("rota-schedule-id"),
            fence=int(fence) if fence is not None and self._check_fence else None,
            token=uuid.uuid4().hex,
        )
