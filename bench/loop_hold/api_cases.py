"""The worst permitted requests to the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bench.api.items import item
from bench.loop_hold import bodies
from bench.loop_hold.case import Case
from bench.loop_hold.house import CAPTURES, PAYLOAD, calendar, schedule
from rota.api import operations

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.loop_hold.case import Prepare
    from bench.loop_hold.client import Ask
    from bench.loop_hold.house import House

_ANY: Final = tuple(range(200, 500))
_ID: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_NOBODYS: Final = {
    "schedule_id": f"sch_{_ID}",
    "firing_id": f"fir_{_ID}",
    "tenant_id": f"ten_{_ID}",
    "key_id": f"key_{_ID}",
    "channel_id": f"chn_{_ID}",
    "key": "nobodys",
    "name": "nobodys",
    "queue": "nobodys",
    "host": "nobodys.example",
    "token": "nobodys",
}
MANY: Final = 10_000
_READ_IN_FULL: Final = ("create_schedule", "put_calendar", "claim_firings")
"""Operations that look at every field, and one that reads a body into a few that it knows."""


def hostile_bodies() -> list[Case]:
    """Every body that is hard to read, for operations of each kind: all read it the same way."""
    return [
        Case(
            route=f"{each.method.upper()} {each.path}",
            title=f"body of {title}",
            prepare=_body(each, make()),
            status=_ANY,
        )
        for each in operations.ALL
        if each.name in _READ_IN_FULL
        for title, make in bodies.HARD.items()
    ]


def _body(operation: operations.Operation, body: bytes) -> Prepare:
    path = operation.path.format(**_NOBODYS)
    return lambda house: house.api(operation.method.upper(), path, body)


def _get(path: str, title: str = "", *, status: tuple[int, ...] = (200,)) -> Case:
    """A request without a body; {names} stand for schedules, {firing} for the one with captures."""
    route = "GET " + path.partition("?")[0]
    for name in ("secondly", "daily", "leap", "rule", "english", "dated", "fat", "monitor"):
        route = route.replace(f"{{{name}}}", "{schedule_id}")
    route = route.replace("{firing}", "{firing_id}").replace("/full-0", "/{name}")

    def prepare(house: House) -> Ask:
        return house.api("GET", path.format(**house.schedules, firing=house.firing))

    return Case(route=route, title=title, prepare=prepare, status=status)


def _call(route: str, title: str, prepare: Prepare, *, status: tuple[int, ...] = _ANY) -> Case:
    return Case(route=route, title=title, prepare=prepare, status=status)


def _bulk(
    title: str, make: Callable[[int], dict[str, Any]], *, query: str = "", status: int = 201
) -> Case:
    def prepare(house: House) -> Ask:
        start = house.fresh() * MANY
        items = [make(start + at) for at in range(MANY)]
        return house.api("POST", f"/v1/schedules/bulk{query}", items)

    return _call("POST /v1/schedules/bulk", title, prepare, status=(status,))


_PREVIEWS: Final[dict[str, dict[str, Any]]] = {
    "every second": {"cron_expr": "* * * * * *", "timezone": "America/New_York"},
    "every second, on a calendar": {"cron_expr": "* * * * * *", "calendar": "full-0"},
    "29 February on a Monday": {"cron_expr": "0 0 29 2 */1", "timezone": "Pacific/Apia"},
    "the last weekday": {"cron_expr": "0 0 LW * *", "timezone": "Asia/Tehran"},
    "interval": {"interval": "1s", "timezone": "Europe/Berlin"},
    "a rule that hardly ever fires": {
        "rrule": "FREQ=SECONDLY;BYMONTHDAY=29;BYMONTH=2;BYDAY=MO;BYSECOND=0,30"
    },
    "a rule with positions": {
        "rrule": "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=1,2,3,4;BYMINUTE=0,1,2;"
        "BYSETPOS=1,-1,2,-2,3,-3",
    },
    "English": {"text": "every weekday at 9am, 10am, 11am, noon and 5pm except in august"},
    "English of many words": {"text": "every " + "monday and tuesday and " * 70 + "friday at 9am"},
    "English that means nothing": {"text": "at " * 390 + "noon"},
    "a long list of minutes": {"cron_expr": ",".join(str(n) for n in range(60)) + " * * * *"},
}


def _previews() -> list[Case]:
    def prepare(fields: dict[str, Any]) -> Prepare:
        return lambda house: house.api("POST", "/v1/preview", fields | {"count": MANY})

    return [
        _call("POST /v1/preview", f"10,000 slots: {title}", prepare(fields))
        for title, fields in _PREVIEWS.items()
    ]


def _on(route: str, path: str, title: str, body: Any = None) -> Case:
    """Something done to a new schedule."""

    async def prepare(house: House) -> Ask:
        made = await house.made()
        return house.api(route.partition(" ")[0], path.format(id=made), body)

    return _call(route, title, prepare)


def _work(action: str, body: dict[str, Any]) -> Case:
    async def prepare(house: House) -> Ask:
        firing, token = await house.claimed()
        return house.api("POST", f"/v1/firings/{firing}/{action}", body | {"token": token})

    return _call(f"POST /v1/firings/{{firing_id}}/{action}", "a result at its limit", prepare)


async def _many_dead(house: House) -> Ask:
    return house.api("POST", "/v1/dead/replay", {"ids": house.dead[1:1_001]})


async def _cancel(house: House) -> Ask:
    return house.api("POST", f"/v1/firings/{await house.triggered()}/cancel", {"reason": "r" * 200})


async def _claim_many(house: House) -> Ask:
    """A hundred firings with payloads at their limit."""
    payload, number = {"job_type": "x", "queue": "full"}, house.fresh()
    for each in range(40):
        made = await house.made(**payload, payload=PAYLOAD, key=f"full-{number}-{each}")
        from bench.loop_hold.client import send  # noqa: PLC0415 - only here

        await send(house.app, house.api("POST", f"/v1/schedules/{made}/trigger"))
    return house.api("POST", "/v1/queues/full/claim", {"limit": 100})


async def _ping(house: House) -> Ask:
    return house.api("GET", f"/ping/{await house.token('monitor')}")


async def _post_ping(house: House) -> Ask:
    return house.api("POST", f"/ping/{await house.token('monitor')}", {"message": "m" * 1_000})


def _named(route: str, path: str, body: Any = None) -> Case:
    """Something whose name or id is nobody's, or whose body is small by nature."""
    return _call(route, "", lambda house: house.api(route.partition(" ")[0], path, body))


CASES: Final[tuple[Case, ...]] = (
    _call(
        "POST /v1/schedules",
        "a payload at its limit",
        lambda house: house.api("POST", "/v1/schedules", schedule(house.fresh(), payload=PAYLOAD)),
    ),
    _call(
        "PUT /v1/schedules/by-key/{key}",
        "a payload at its limit",
        lambda house: house.api(
            "PUT",
            "/v1/schedules/by-key/put",
            schedule(house.fresh(), payload=PAYLOAD, key=None),
        ),
    ),
    _on(
        "PATCH /v1/schedules/{schedule_id}",
        "/v1/schedules/{id}",
        "a payload at its limit",
        {"payload": PAYLOAD},
    ),
    _on("DELETE /v1/schedules/{schedule_id}", "/v1/schedules/{id}", ""),
    _on("POST /v1/schedules/{schedule_id}/pause", "/v1/schedules/{id}/pause", "", {"reason": "r"}),
    _on("POST /v1/schedules/{schedule_id}/resume", "/v1/schedules/{id}/resume", ""),
    _on(
        "POST /v1/schedules/{schedule_id}/trigger",
        "/v1/schedules/{id}/trigger",
        "a payload at its limit",
        {"payload": PAYLOAD},
    ),
    _call(
        "POST /v1/schedules/{schedule_id}/backfill",
        "a thousand slots",
        lambda house: house.api(
            "POST",
            f"/v1/schedules/{house.schedules['secondly']}/backfill",
            {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:16:40Z"},
        ),
        status=(202,),
    ),
    _call(
        "POST /v1/schedules/{schedule_id}/backfill",
        "a range of fifty years",
        lambda house: house.api(
            "POST",
            f"/v1/schedules/{house.schedules['rule']}/backfill",
            {"from": "1971-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"},
        ),
    ),
    _call(
        "POST /v1/schedules/{schedule_id}/ping",
        "",
        lambda house: house.api(
            "POST", f"/v1/schedules/{house.schedules['monitor']}/ping", {"message": "m" * 1_000}
        ),
    ),
    _call("GET /ping/{token}", "", _ping),
    _call("POST /ping/{token}", "", _post_ping),
    _bulk("10,000, none like another", lambda n: item(n, "again")),
    _bulk("10,000 with a result for each", lambda n: item(n, "part"), query="?partial=true"),
    _bulk(
        "10,000 with triggers that take long",
        lambda n: schedule(
            n,
            rrule=f"FREQ=YEARLY;BYMONTH={n % 12 + 1};BYDAY=MO,TU,WE;BYHOUR={n % 24};"
            f"BYMINUTE={n % 60};BYSETPOS=-1",
            tags=[f"tag-{n}-{each}" for each in range(3)],
        ),
    ),
    _bulk(
        "10,000 on a calendar, in English",
        lambda n: schedule(
            n, text=f"every weekday at {n % 12 + 1}:{n % 60:02}am", calendar="full-0"
        ),
    ),
    _bulk(
        "10,000 that are wrong",
        lambda n: {"name": f"n{n}", "cron_expr": "99 * * * *", "x": n},
        status=422,
    ),
    _bulk(
        "10,000 that are wrong, with a result for each",
        lambda n: {"name": f"n{n}", "cron_expr": f"99 {n} * * *", "frobnicate": n},
        query="?partial=true",
        status=200,
    ),
    _call(
        "POST /v1/schedules/bulk",
        "payloads of 10 MB",
        lambda house: house.api(
            "POST",
            "/v1/schedules/bulk",
            [schedule(house.fresh() + 10**8, payload=PAYLOAD) for _ in range(40)],
        ),
    ),
    *(
        _call(
            "POST /v1/schedules/bulk",
            f"10 MB of {title}",
            lambda house, make=make: house.api(
                "POST", "/v1/schedules/bulk", b"[" + make(bodies.BULK) + b"]"
            ),
        )
        for title, make in bodies.HARD.items()
    ),
    _get("/v1/schedules?limit=1000", "a thousand"),
    _get("/v1/schedules?limit=1000&tag=paged", "payloads at their limit"),
    _get("/v1/schedules?limit=1000&q=invoice", "a word of one in ten"),
    _get("/v1/schedules/{fat}", "a payload at its limit"),
    _get("/v1/schedules/{daily}/firings?limit=1000", "a thousand"),
    *(
        _get(f"/v1/schedules/{{{name}}}/why?at={at}", f"{name}, {at[:4]}", status=_ANY)
        for name in ("secondly", "leap", "rule", "english", "dated", "monitor")
        for at in ("1971-01-01T00:00:00Z", "2026-02-28T00:00:00Z", "9998-01-01T00:00:00Z")
    ),
    *(
        _get(f"/v1/schedules/{{{name}}}/next?count=10000", f"10,000 slots, {name}", status=_ANY)
        for name in ("secondly", "leap", "rule", "english", "dated")
    ),
    *_previews(),
    _get("/v1/firings/{firing}"),
    _get("/v1/firings/{firing}/attempts", f"{CAPTURES} captures of 1 MB"),
    _get("/v1/firings?limit=1000&status=ended", "a thousand", status=_ANY),
    _get("/v1/dead?limit=1000", "a thousand"),
    _get("/v1/audit?limit=1000", "a thousand"),
    _get("/v1/audit/slots", "a page of schedules"),
    _call("POST /v1/dead/replay", "a thousand", _many_dead),
    _call(
        "POST /v1/firings/{firing_id}/replay",
        "",
        lambda house: house.api("POST", f"/v1/firings/{house.dead[1_500]}/replay"),
    ),
    _call("POST /v1/firings/{firing_id}/cancel", "", _cancel),
    _call("POST /v1/queues/{queue}/claim", "40 payloads at their limit", _claim_many),
    _work("complete", {"result": PAYLOAD["rows"][:1_500]}),
    _work("fail", {"error": "e" * 60_000}),
    _work("extend", {}),
    _call(
        "PUT /v1/calendars/{name}",
        "10,000 dates and a country",
        lambda house: house.api("PUT", f"/v1/calendars/new-{house.fresh()}", calendar()),
    ),
    _call(
        "PUT /v1/calendars/{name}",
        "10,000 schedules armed again",
        lambda house: house.api(
            "PUT", "/v1/calendars/full-0", calendar() | {"country": "ES", "subdivision": None}
        ),
    ),
    _get("/v1/calendars?limit=1000", "with 10,000 dates each"),
    _get("/v1/calendars/full-0"),
    _named("DELETE /v1/calendars/{name}", "/v1/calendars/nobodys"),
    _call("POST /v1/pause", "all", lambda house: house.api("POST", "/v1/pause", {"tag": "team-1"})),
    _call("POST /v1/resume", "all", lambda house: house.api("POST", "/v1/resume", {})),
    _named("PUT /v1/secrets/{name}", "/v1/secrets/BIG", {"value": "s" * 60_000}),
    _get("/v1/secrets?limit=1000"),
    _named("DELETE /v1/secrets/{name}", "/v1/secrets/NOBODYS"),
    _get("/v1/signing-secret?host=acme.example"),
    _named("POST /v1/signing-secret/rotate", "/v1/signing-secret/rotate", {"host": "acme.example"}),
    _named("POST /v1/sign-in-links", "/v1/sign-in-links"),
    _named("POST /v1/channels", "/v1/channels", {"name": "c", "url": "https://acme.example"}),
    _get("/v1/channels?limit=1000"),
    *(
        _named(f"{method} /v1/channels/{{channel_id}}{more}", f"/v1/channels/chn_{_ID}{more}", body)
        for method, more, body in (
            ("GET", "", None),
            ("PATCH", "", {"enabled": False}),
            ("DELETE", "", None),
            ("POST", "/test", None),
            ("GET", "/notifications", None),
        )
    ),
    _get("/v1/alerts?limit=1000"),
    _named("POST /v1/tenants", "/v1/tenants", {"name": "another"}),
    _get("/v1/tenants?limit=1000"),
    *(
        _named(f"{method} /v1/tenants/{{tenant_id}}", f"/v1/tenants/ten_{_ID}", body)
        for method, body in (("GET", None), ("PATCH", {"weight": 2}), ("DELETE", None))
    ),
    _named("POST /v1/keys", "/v1/keys", {"scopes": ["read"]}),
    _get("/v1/keys?limit=1000"),
    _named("DELETE /v1/keys/{key_id}", f"/v1/keys/key_{_ID}"),
    _get("/v1/circuits?limit=1000"),
    _named("DELETE /v1/circuits/{host}", "/v1/circuits/nobodys.example"),
    _get("/v1/stats"),
    _get("/v1/cluster"),
    _get("/healthz"),
    _get("/readyz"),
    _get("/metrics"),
    _get("/openapi.json"),
    _get("/docs"),
    *hostile_bodies(),
)
