"""The caller of the lane `celery`: sends a task by its name through the broker that is configured.

The task's id is the firing's, the same at every attempt. What Celery does with it afterwards is
Celery's affair: a firing has succeeded when the broker has taken the message.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, cast

import msgspec

from rota.errors import OperatorError, TemporaryError
from rota.targets import CeleryTarget
from rota.workers.caller import WITHHELD, Reply, always
from rota.workers.delivery import message
from rota.workers.delivery.request_signing import PreparedRequest
from rota.workers.delivery.secret_injection import Unsendable, names_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant
    from rota.workers.caller import Begin
    from rota.workers.delivery.request import Request
    from rota.workers.delivery.request_signing import RequestSigner

    FindTenant = Callable[[UUID], Awaitable[Tenant | None]]
    """The tenant of this id, as it is now or was a second ago."""

THREADS: Final = 8
"""Messages that are sent at once: each blocks a thread until the broker has it."""
_CONNECT_SECONDS: Final = 5
# A thread that hangs holds up the end of the process for as long.
_SOCKET_SECONDS: Final = 10


class CeleryCaller:
    """Sends to `broker_url` what `find_tenant`'s tenant may send.

    with CeleryCaller("redis://broker/0", find_tenant=…) as celery: ...
    """

    def __init__(
        self, broker_url: str, *, find_tenant: FindTenant, signer: RequestSigner | None = None
    ) -> None:
        self._broker_url = broker_url
        self._find_tenant = find_tenant
        self._signer = signer
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="rota celery")
        self._lock = threading.Lock()
        self._app: Any = None

    def prepare(self, claim: Claim, schedule: Schedule) -> CeleryCall:
        definition = schedule.definition
        target = definition.target
        assert isinstance(target, CeleryTarget)
        return CeleryCall(
            caller=self,
            claim=claim,
            target=target,
            facts=message.facts(claim, schedule),
            payload=message.payload(claim, definition),
            timeout=definition.timeout.total_seconds(),
        )

    async def require_permission(self, claim: Claim, target: CeleryTarget) -> None:
        """`Unsendable` when its tenant may not send it, or no longer."""
        tenant = await self._find_tenant(claim.tenant_id)
        wrong = "its tenant is gone" if tenant is None else tenant.wrong_with_celery(target)
        if wrong is not None:
            raise Unsendable(wrong)

    async def ready(self, claim: Claim, request: Request) -> PreparedRequest:
        """The request with its secrets filled in."""
        if self._signer is None:
            if names := names_in(request):
                raise Unsendable(f"expected the secret {min(names)}, got no key ring to open it by")
            return PreparedRequest(request=request)
        return await self._signer.complete(claim, request)

    async def publish(self, target: CeleryTarget, payload: bytes, facts: dict[str, str]) -> None:
        """Hand the message to the broker, in a thread: Celery blocks while it does."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, self._publish, target, payload, facts)

    def _publish(self, target: CeleryTarget, payload: bytes, facts: dict[str, str]) -> None:
        args, kwargs = arguments(msgspec.json.decode(payload))
        self._opened().send_task(
            target.task,
            args=args,
            kwargs=kwargs,
            task_id=message.delivery_id(facts),
            queue=target.queue,
            headers={f"rota_{name}": value for name, value in facts.items()},
            # Rota's own retries are durable, recorded, and by the schedule's rules.
            retry=False,
        )

    def _opened(self) -> Any:
        """Celery's application, made at the first use: most installations have no Celery."""
        with self._lock:
            if self._app is None:
                self._app = _application(self._broker_url)
            return self._app

    def close(self) -> None:
        # A broker that hangs must not hold up the end; its thread ends by its socket's timeout.
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._app is not None:
            self._app.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class CeleryCall:
    """One message, ready to be sent."""

    caller: CeleryCaller
    claim: Claim
    target: CeleryTarget
    facts: dict[str, str]
    payload: bytes
    timeout: float

    @property
    def shown(self) -> str:
        place = f"celery:{self.target.queue}/{self.target.task}"
        return message.shown("SEND", place, self.facts, self.payload)

    async def send(self, begin: Begin = always) -> Reply:
        try:
            await self.caller.require_permission(self.claim, self.target)
            template = message.template("SEND", "", self.payload, {})
            ready = await self.caller.ready(self.claim, template)
            if not begin():
                return WITHHELD
            async with asyncio.timeout(self.timeout):
                return await ready.scrub(await self._publish(ready.request.body))
        except TimeoutError:
            return Reply(error=f"timed out after {self.timeout:g} s", timed_out=True)
        except Unsendable as error:
            return Reply(error=str(error), permanent=True, sent=False)
        except OperatorError as error:
            return Reply(error=str(error), sent=False)
        except TemporaryError:
            return WITHHELD

    async def _publish(self, payload: bytes) -> Reply:
        try:
            await self.caller.publish(self.target, payload, self.facts)
        except Unsendable:
            raise
        except Exception as error:  # noqa: BLE001 - every transport has exceptions of its own
            # The kind only: a transport may quote the broker's address, password included.
            return Reply(error=f"the broker did not take the message: {_kinds(error)}")
        return Reply(body=message.delivery_id(self.facts).encode())


def arguments(payload: object) -> tuple[list[Any], dict[str, Any]]:
    """A list is the arguments, an object the named ones; anything else is one, and null is none."""
    if payload is None:
        return [], {}
    if isinstance(payload, list):
        return cast("list[Any]", payload), {}
    if isinstance(payload, dict):
        return [], cast("dict[str, Any]", payload)
    return [payload], {}


def _application(broker_url: str) -> Any:
    try:
        # An extra, and without types.
        from celery import Celery  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
    except ModuleNotFoundError as error:
        raise Unsendable(
            "this worker cannot send Celery tasks: install it with pip install 'rota[celery]'"
        ) from error
    app: Any = Celery("rota", broker=broker_url, set_as_current=False)
    app.conf.update(
        broker_connection_timeout=_CONNECT_SECONDS,
        broker_pool_limit=THREADS,
        broker_transport_options=_transport_options(broker_url),
    )
    return app


def _transport_options(broker_url: str) -> dict[str, Any]:
    """So that a broker that hangs lets go of its thread, and that "sent" means "taken"."""
    if broker_url.startswith(("redis:", "rediss:")):
        return {"socket_timeout": _SOCKET_SECONDS, "socket_connect_timeout": _CONNECT_SECONDS}
    if broker_url.startswith(("amqp:", "amqps:", "pyamqp:")):
        # Without it a message that never reached RabbitMQ would count as delivered.
        timeouts = {"read_timeout": _SOCKET_SECONDS, "write_timeout": _SOCKET_SECONDS}
        return {"confirm_publish": True, **timeouts}
    return {}


def _kinds(error: BaseException) -> str:
    """ "OperationalError (ConnectionRefusedError)": the error and what caused it."""
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < 4:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    names = list(dict.fromkeys(kinds))
    return f"{names[0]} ({', '.join(names[1:])})" if names[1:] else names[0]
