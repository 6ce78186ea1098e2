"""`rota.Client` and `rota.AsyncClient`: one method for each route of the API.

Both send the calls that `rota.sdk.client.routes` builds. A method is named once in each; a test
compares the two with each other, and with the API's own list of operations.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Self, TypeVar

import httpx

from rota.sdk.client.base import Base
from rota.sdk.client.methods import async_lists, async_sends, awaits, calls, lists, sends
from rota.sdk.client.routes import administering, calendars, runs, schedules, secrets, watching

if TYPE_CHECKING:
    import ssl
    from pathlib import Path
    from types import TracebackType

    from rota.sdk.client.call import Call

T = TypeVar("T")


class Client(Base):
    """A server's API, for programs that wait for their answers. May be shared by threads.

    Without `url` and `api_key`, ROTA_URL and ROTA_API_KEY say them, or `rota.toml`, or the data
    folder of a `rota serve` on this machine. `timeout` is for how many seconds a server may be
    silent, `retries` how often a call that is safe to repeat is tried again, and `max_wait` the
    longest wait before that. No redirect is followed and no proxy asked, as the key would go along;
    give a `transport` of httpx for whatever else is needed, and `verify` for a private authority.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        max_wait: float = 30.0,
        data_dir: str | Path | None = None,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(
            url, api_key, timeout=timeout, retries=retries, max_wait=max_wait, data_dir=data_dir
        )
        self._http = httpx.Client(
            transport=transport, verify=verify, trust_env=False, follow_redirects=False
        )
        self._closed = threading.Event()

    def send(self, call: Call[T], /) -> T:
        """Send a call, again if it is safe and need be, and give its answer."""
        trying = self._trying(call)
        while True:
            outcome = self._try(self._request(call))
            wait = trying.again_after(outcome)
            # Whoever closes the client meanwhile ends the wait.
            if wait is None or self._closed.wait(wait):
                return trying.result(outcome)

    def _try(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        try:
            return self._http.send(request)
        except httpx.RequestError as error:
            return error

    def close(self) -> None:
        """Let go of its connections."""
        self._closed.set()
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    create_schedule = calls(schedules.create_schedule)
    create_schedules = sends(schedules.create_schedules)
    list_schedules = lists(schedules.list_schedules)
    get_schedule = calls(schedules.get_schedule)
    update_schedule = calls(schedules.update_schedule)
    delete_schedule = calls(schedules.delete_schedule)
    put_schedule = calls(schedules.put_schedule)
    pause = calls(schedules.pause)
    resume = calls(schedules.resume)
    pause_all = calls(schedules.pause_all)
    resume_all = calls(schedules.resume_all)
    trigger = calls(schedules.trigger)
    backfill = calls(schedules.backfill)
    firings = lists(schedules.firings)
    why = calls(schedules.why)
    audit = lists(schedules.audit)
    audit_slots = lists(schedules.audit_slots)
    next = calls(schedules.next_slots)
    preview = calls(schedules.preview)

    all_firings = lists(runs.all_firings)
    firing = calls(runs.firing)
    attempts = lists(runs.attempts)
    cancel = calls(runs.cancel)
    replay = calls(runs.replay)
    dead = lists(runs.dead)
    replay_dead = calls(runs.replay_dead)
    claim = calls(runs.claim)
    complete = calls(runs.complete)
    fail = calls(runs.fail)
    extend = calls(runs.extend)

    put_calendar = calls(calendars.put_calendar)
    list_calendars = lists(calendars.list_calendars)
    get_calendar = calls(calendars.get_calendar)
    delete_calendar = calls(calendars.delete_calendar)
    ping = calls(calendars.ping)
    ping_token = calls(calendars.ping_token)
    ping_token_saying = calls(calendars.ping_token_saying)

    put_secret = calls(secrets.put_secret)
    list_secrets = lists(secrets.list_secrets)
    delete_secret = calls(secrets.delete_secret)
    signing_secret = calls(secrets.signing_secret)
    rotate_signing_secret = calls(secrets.rotate_signing_secret)

    create_channel = calls(watching.create_channel)
    list_channels = lists(watching.list_channels)
    get_channel = calls(watching.get_channel)
    update_channel = calls(watching.update_channel)
    delete_channel = calls(watching.delete_channel)
    test_channel = calls(watching.test_channel)
    list_notifications = lists(watching.list_notifications)
    list_alerts = lists(watching.list_alerts)

    create_tenant = calls(administering.create_tenant)
    list_tenants = lists(administering.list_tenants)
    get_tenant = calls(administering.get_tenant)
    update_tenant = calls(administering.update_tenant)
    delete_tenant = calls(administering.delete_tenant)
    create_key = calls(administering.create_key)
    list_keys = lists(administering.list_keys)
    delete_key = calls(administering.delete_key)
    create_sign_in_link = calls(administering.create_sign_in_link)
    list_circuits = lists(administering.list_circuits)
    reset_circuit = calls(administering.reset_circuit)
    stats = calls(administering.stats)
    cluster = calls(administering.cluster)
    healthz = calls(administering.healthz)
    readyz = calls(administering.readyz)


class AsyncClient(Base):
    """A server's API, for programs on an event loop: as `Client`, with what it answers awaited.

    Lists are not awaited themselves: `async for schedule in client.list_schedules()`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        max_wait: float = 30.0,
        data_dir: str | Path | None = None,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(
            url, api_key, timeout=timeout, retries=retries, max_wait=max_wait, data_dir=data_dir
        )
        self._http = httpx.AsyncClient(
            transport=transport, verify=verify, trust_env=False, follow_redirects=False
        )

    async def send(self, call: Call[T], /) -> T:
        """Send a call, again if it is safe and need be, and give its answer."""
        trying = self._trying(call)
        while True:
            outcome = await self._try(self._request(call))
            wait = trying.again_after(outcome)
            if wait is None:
                return trying.result(outcome)
            await self._clock.sleep(timedelta(seconds=wait))

    async def _try(self, request: httpx.Request) -> httpx.Response | httpx.RequestError:
        try:
            return await self._http.send(request)
        except httpx.RequestError as error:
            return error

    async def aclose(self) -> None:
        """Let go of its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    create_schedule = awaits(schedules.create_schedule)
    create_schedules = async_sends(schedules.create_schedules)
    list_schedules = async_lists(schedules.list_schedules)
    get_schedule = awaits(schedules.get_schedule)
    update_schedule = awaits(schedules.update_schedule)
    delete_schedule = awaits(schedules.delete_schedule)
    put_schedule = awaits(schedules.put_schedule)
    pause = awaits(schedules.pause)
    resume = awaits(schedules.resume)
    pause_all = awaits(schedules.pause_all)
    resume_all = awaits(schedules.resume_all)
    trigger = awaits(schedules.trigger)
    backfill = awaits(schedules.backfill)
    firings = async_lists(schedules.firings)
    why = awaits(schedules.why)
    audit = async_lists(schedules.audit)
    audit_slots = async_lists(schedules.audit_slots)
    next = awaits(schedules.next_slots)
    preview = awaits(schedules.preview)

    all_firings = async_lists(runs.all_firings)
    firing = awaits(runs.firing)
    attempts = async_lists(runs.attempts)
    cancel = awaits(runs.cancel)
    replay = awaits(runs.replay)
    dead = async_lists(runs.dead)
    replay_dead = awaits(runs.replay_dead)
    claim = awaits(runs.claim)
    complete = awaits(runs.complete)
    fail = awaits(runs.fail)
    extend = awaits(runs.extend)

    put_calendar = awaits(calendars.put_calendar)
    list_calendars = async_lists(calendars.list_calendars)
    get_calendar = awaits(calendars.get_calendar)
    delete_calendar = awaits(calendars.delete_calendar)
    ping = awaits(calendars.ping)
    ping_token = awaits(calendars.ping_token)
    ping_token_saying = awaits(calendars.ping_token_saying)

    put_secret = awaits(secrets.put_secret)
    list_secrets = async_lists(secrets.list_secrets)
    delete_secret = awaits(secrets.delete_secret)
    signing_secret = awaits(secrets.signing_secret)
    rotate_signing_secret = awaits(secrets.rotate_signing_secret)

    create_channel = awaits(watching.create_channel)
    list_channels = async_lists(watching.list_channels)
    get_channel = awaits(watching.get_channel)
    update_channel = awaits(watching.update_channel)
    delete_channel = awaits(watching.delete_channel)
    test_channel = awaits(watching.test_channel)
    list_notifications = async_lists(watching.list_notifications)
    list_alerts = async_lists(watching.list_alerts)

    create_tenant = awaits(administering.create_tenant)
    list_tenants = async_lists(administering.list_tenants)
    get_tenant = awaits(administering.get_tenant)
    update_tenant = awaits(administering.update_tenant)
    delete_tenant = awaits(administering.delete_tenant)
    create_key = awaits(administering.create_key)
    list_keys = async_lists(administering.list_keys)
    delete_key = awaits(administering.delete_key)
    create_sign_in_link = awaits(administering.create_sign_in_link)
    list_circuits = async_lists(administering.list_circuits)
    reset_circuit = awaits(administering.reset_circuit)
    stats = awaits(administering.stats)
    cluster = awaits(administering.cluster)
    healthz = awaits(administering.healthz)
    readyz = awaits(administering.readyz)
