"""Operations past the framework's layers answer as they would through them, whatever is sent."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.api.conftest import SCHEDULE, caller

from rota.api.app import DIRECT, Application, create
from rota.api.bodies import MAX_BODY
from rota.api.direct import DirectRoute
from rota.api.engine import Engine
from rota.api.problems import RequestFailed
from rota.events import Bus

if TYPE_CHECKING:
    import httpx
    import pytest
    from litestar.types import Scope

    from rota.db import Database

_VOLATILE = re.compile(
    rb"sch_[0-9A-Z]{26}|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)"
    rb"|(?<=(api|cli):)[0-9A-Za-z]{12}|(?<=apply:)[0-9A-Za-z]{12}"
)
_MANY = 150


@dataclass(frozen=True)
class Sent:
    """A request; where its key stands, each side has one of its own tenant."""

    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    chunks: int
    hangs_up: bool


class Side:
    """One way to the application, for one tenant."""

    def __init__(self, app: Application, engine: Engine, keys: dict[bytes, bytes]) -> None:
        self._app = app
        self._keys = keys
        self.failed: list[str] = []
        engine.bus.subscribe(
            RequestFailed,
            lambda event: self.failed.append(f"{event.method} {event.path} {event.error!r}"),
        )

    async def ask(self, sent: Sent) -> list[Any]:
        """All that is sent back, but for what differs between any two schedules."""
        answer: list[Any] = []
        parts = _parts(sent)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)  # noqa: TID251 - yields to the loop, as a server does
            return next(parts, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            answer.append(message)

        headers = [(name, self._keys.get(value, value)) for name, value in sent.headers]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": ("127.0.0.1", 8080),
            "client": ("127.0.0.1", 1234),
            "scheme": "http",
            "root_path": "",
            "headers": headers,
            "state": {},
            "method": sent.method,
            "path": sent.path,
            "raw_path": sent.path.encode(),
            "query_string": sent.query,
        }
        try:
            await self._app(cast("Scope", scope), cast("Any", receive), cast("Any", send))
        except Exception as error:  # noqa: BLE001 - the server answers it with a 500
            answer.append({"type": "raised", "error": type(error)})
        return [_plain(answer), scope.get("auth") is not None, *self._take_failed()]

    def _take_failed(self) -> list[str]:
        found, self.failed = self.failed, []
        return found


def _parts(sent: Sent) -> Any:
    size = max(1, -(-len(sent.body) // sent.chunks))
    pieces = [sent.body[at : at + size] for at in range(0, len(sent.body), size)] or [b""]
    if sent.hangs_up:
        pieces.pop()
    for at, piece in enumerate(pieces):
        more = sent.hangs_up or at + 1 < len(pieces)
        yield {"type": "http.request", "body": piece, "more_body": more}


def _plain(answer: list[Any]) -> list[Any]:
    body = b"".join(each.get("body", b"") for each in answer)
    found: list[Any] = []
    for each in answer:
        message = dict(each)
        if "headers" in message:
            length = str(len(body)).encode()
            message["headers"] = [
                (name, b"right" if (name, value) == (b"content-length", length) else value)
                for name, value in message["headers"]
            ]
        if "body" in message:
            message["body"] = _VOLATILE.sub(b"-", message["body"])
        found.append(message)
    return found


async def _side(db: Database, engine: Engine, http: httpx.AsyncClient, *, direct: bool) -> Side:
    own = Engine(db=db, clock=engine.clock, bus=Bus(), shards=engine.shards, targets=engine.targets)
    app = create(own)
    assert isinstance(app, Application)
    assert set(app.direct) == set(DIRECT)
    if not direct:
        app.direct = {}
    tenant = f"{direct} {uuid4().hex}"
    writer = await caller(own, http, "write", tenant=tenant)
    reader = await caller(own, http, "read", tenant=f"{tenant} reader")
    keys = {
        b"WRITER": writer.headers["Authorization"].encode(),
        b"writer": writer.headers["Authorization"].replace("Bearer ", "bearer   ").encode(),
        b"READER": reader.headers["Authorization"].encode(),
    }
    return Side(app, own, keys)


_FIELDS = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "", "é", "n" * 300, None, 7])},
    optional={
        "key": st.sampled_from(["k1", "k2", "k3", "", " k ", "k" * 300, 5]),
        "cron_expr": st.sampled_from(["0 9 * * *", "never", "* * * * *", 9, None]),
        "interval": st.sampled_from(["1h", "1s", "x", 3600, None]),
        "timezone": st.sampled_from(["UTC", "Europe/Berlin", "Mars/Base"]),
        "target_url": st.sampled_from(["https://a.example/x", "ftp://a", "http://", "", 1]),
        "job_type": st.sampled_from(["a.b", "", "x y"]),
        "payload": st.sampled_from([{}, {"a": [1, 2.5, None]}, "text", {"k": "x" * 20_000}, None]),
        "tags": st.sampled_from([[], ["a"], ["a", "a"], "a", [1]]),
        "enabled": st.sampled_from([True, False, "yes"]),
        "monitor": st.sampled_from([None, {"grace": "5m"}, True]),
        "after": st.sampled_from([None, {"schedules": ["k1"]}, "k1"]),
        "calendar": st.sampled_from([None, "none-such"]),
        "nonsense": st.just(1),
    },
)
_GOOD = st.fixed_dictionaries(
    {"cron_expr": st.just("0 9 * * *"), "target_url": st.just("https://a.example/x")},
    optional={"tags": st.just(["a"]), "payload": st.just({"n": 1}), "enabled": st.booleans()},
).flatmap(lambda rest: st.uuids().map(lambda id_: {"key": id_.hex, **rest}))
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_BODIES = st.one_of(
    _GOOD.map(json.dumps).map(str.encode),
    _GOOD.map(json.dumps).map(str.encode),
    _FIELDS.map(json.dumps).map(str.encode),
    _VALUES.map(json.dumps).map(str.encode),
    st.binary(max_size=40),
    st.sampled_from(
        [
            *(b"", b"  ", b"{", b"[]", b"{}", b"null", b'"x"', b"\xef\xbb\xbf{}", b"{}{}", b"NaN"),
            *(b'{"name": "\xff"}', b'{"name": 1, "name": 2}', b"[" * 5000, b'{"a":' * 500),
            b'{"name": "' + b"x" * 40_000 + b'"}',
            b'{"payload": "' + b"x" * MAX_BODY + b'"}',
            json.dumps({f"f{n}": n for n in range(300)}).encode(),
            json.dumps(SCHEDULE).encode(),
        ]
    ),
)


def _maybe(name: bytes, *values: bytes, usual: bytes | None = None) -> st.SearchStrategy[Any]:
    """No header of this name, one, or two; mostly the usual."""
    common = st.just(() if usual is None else ((name, usual),))
    odd = st.lists(st.sampled_from(values), max_size=2).map(
        lambda found: tuple((name, each) for each in found)
    )
    return st.one_of(common, common, common, odd)


_HEADERS = st.tuples(
    _maybe(
        b"host",
        *(b"rota", b"", b"a b", b"rota:8080", b"[::1]:80", b"\xff", b"a/b", b"a_b~", b"a@b"),
        usual=b"127.0.0.1",
    ),
    _maybe(
        b"authorization",
        *(b"WRITER", b"writer", b"READER", b"", b"Bearer", b"Bearer ", b"Basic eDp5", b"\xff"),
        *(b"Bearer rota_x", b"Bearer rota_aaaaaaaa_bbbbbbbb", b"Bearer \xe9"),
        usual=b"WRITER",
    ),
    _maybe(
        b"content-type",
        *(b"text/plain", b"", b"application/json; charset=utf-8", b"application/x+json"),
        *(b"APPLICATION/JSON", b"application/jsonp", b"\xff"),
        usual=b"application/json",
    ),
    _maybe(b"content-length", b"abc", b"-1", b"99999999", b"", b"1e3", b" 5"),
    _maybe(b"idempotency-key", b"one", b"two", b"", b"k" * 300, b"\xff", b"a b"),
    _maybe(b"user-agent", b"rota-cli/1", b"rota-cli/1 (apply)", b"curl/8", b"\xff"),
    _maybe(b"accept", b"text/html", b"*/*", b"application/json"),
    _maybe(b"expect", b"100-continue"),
    _maybe(b"if-match", b"*", b'"v1"'),
).map(lambda groups: tuple(each for group in groups for each in group))

_REQUESTS = st.builds(
    Sent,
    method=st.sampled_from(["POST"] * 9 + ["GET", "PUT", "post", "OPTIONS"]),
    path=st.sampled_from(
        ["/v1/schedules"] * 9
        + ["/v1/schedules/", "//v1/schedules", "/v1/schedule", "/V1/schedules"]
    ),
    query=st.sampled_from([b"", b"", b"a=b", b"%ff=\xff"]),
    headers=_HEADERS,
    body=_BODIES,
    chunks=st.integers(1, 4),
    hangs_up=st.sampled_from([False] * 9 + [True]),
)


def _sent(key: bytes, fields: dict[str, Any]) -> Sent:
    headers = ((b"authorization", key), (b"content-type", b"application/json"))
    return Sent("POST", "/v1/schedules", b"", headers, json.dumps(fields).encode(), 1, False)


async def test_any_request_is_answered_as_through_the_framework(
    db: Database, engine: Engine, http: httpx.AsyncClient
) -> None:
    """Its status, headers in their order, body, and what is published of a fault; also again."""
    short = await _side(db, engine, http, direct=True)
    long = await _side(db, engine, http, direct=False)
    loop = asyncio.get_running_loop()
    statuses: set[int] = set()

    @settings(
        max_examples=_MANY, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )
    @given(sent=_REQUESTS)
    @example(sent=_sent(b"WRITER", SCHEDULE))
    @example(sent=_sent(b"WRITER", {"name": "a", "cron_expr": "never"}))
    @example(sent=_sent(b"READER", SCHEDULE))
    @example(sent=_sent(b"Bearer rota_x", SCHEDULE))
    def check(sent: Sent) -> None:
        async def compare() -> None:
            for _ in range(2):
                found = await short.ask(sent)
                assert found == await long.ask(sent)
                statuses.update(each["status"] for each in found[0] if "status" in each)

        asyncio.run_coroutine_threadsafe(compare(), loop).result()

    await asyncio.to_thread(check)
    assert {201, 401, 403, 409, 422} <= statuses


async def test_a_plain_create_goes_the_short_way(
    engine: Engine, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = await caller(engine, http, "write")
    taken: list[str] = []
    call = DirectRoute.__call__

    async def noted(self: DirectRoute, scope: Any, receive: Any, send: Any) -> None:
        taken.append(scope["path"])
        await call(self, scope, receive, send)

    monkeypatch.setattr(DirectRoute, "__call__", noted)
    await api.created()
    assert taken == ["/v1/schedules"]
    await api.get("/v1/schedules")
    assert len(taken) == 1
