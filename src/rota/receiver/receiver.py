"""The receiver: which requests reach the application."""

from __future__ import annotations

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
    from rota.receiver.call import Call
    from rota.receiver.store import Store

MAX_BODY: Final = 1024 * 1024


class Receiver:
    """Lets through what Rota signed, each firing once.

    `secrets` are the keys of this host (`whsec_…`, from `rota signing --host`): several while one
    replaces another, or for several hosts. `max_body` is how many bytes a body may have. `store`
    remembers; give one of your own when several processes serve the same target.
    `check_fence=False` lets older fences through: for schedules with `overlap_policy: allow`, whose
    earlier firings may be tried again after later ones.
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
            # Without a key nothing could ever be let through.
            raise InvalidInput("expected at least one signing key, got none", field="secrets")
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

    def check(self, method: str, headers: Mapping[str, str], body: bytes) -> Call | Answer:
        """The call that this request is, or how it is refused. Names are in lower case."""
        try:
            return signature.check_call(
                self._keys,
                method,
                headers,
                body,
                now=self._clock.now(),
                tolerance=self._tolerance,
            )
        except signature.InvalidSignature as error:
            return answers.problem(HTTPStatus.UNAUTHORIZED, str(error))

    def begin(self, call: Call) -> Delivery | Answer:
        """The delivery to be handled, or its answer. May wait for the store."""
        delivery = Delivery(
            firing_id=call.id,
            schedule_id=call.schedule_id,
            fence=call.fence if self._check_fence else None,
            token=uuid.uuid4().hex,
        )
        begun = self.store.begin(delivery)
        return delivery if begun is Begun.STARTED else answers.of(begun)
