"""The worst permitted requests to the dashboard."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import msgspec

from bench.loop_hold import bodies
from bench.loop_hold.case import Case
from bench.loop_hold.client import FORM, Ask
from bench.loop_hold.house import PAYLOAD, calendar

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from bench.loop_hold.case import Prepare
    from bench.loop_hold.house import House

_ANY: Final = tuple(range(200, 500))
_ID: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def route_of(handler: HTTPRouteHandler) -> str:
    """Its method and its path."""
    [method] = [str(each) for each in handler.http_methods if each != "HEAD"]
    [path] = handler.paths
    return f"{method} {path}"


def _look(path: str, title: str = "", *, endless: bool = False) -> Case:
    """A page; {names} stand for schedules, {firing} for the one with captures."""
    route = "GET " + path.partition("?")[0]
    for name in ("secondly", "daily", "leap", "rule", "english", "dated", "fat", "monitor"):
        route = route.replace(f"{{{name}}}", "{schedule_id:str}")
    route = route.replace("{firing}", "{firing_id:str}").replace("/full-0", "/{name:str}")

    def prepare(house: House) -> Ask:
        return house.page("GET", path.format(**house.schedules, firing=house.firing))

    return Case(route=route, title=title, prepare=prepare, status=(200, 422), endless=endless)


def _send(route: str, path: str, title: str, **fields: Any) -> Case:
    def prepare(house: House) -> Ask:
        return house.page(
            "POST", path.format(**house.schedules, firing=house.firing), _form(**fields)
        )

    return Case(route=route, title=title, prepare=prepare, status=_ANY)


def _form(**fields: Any) -> bytes:
    return urlencode(fields, doseq=True).encode()


def _on(action: str, **fields: Any) -> Case:
    """Something done to a new schedule."""

    async def prepare(house: House) -> Ask:
        return house.page("POST", f"/schedules/{await house.made()}/{action}", _form(**fields))

    route = f"POST /schedules/{{schedule_id:str}}/{action}"
    return Case(route=route, title="", prepare=prepare, status=_ANY)


async def _together(house: House) -> Ask:
    made = [await house.made() for _ in range(200)]
    return house.page("POST", "/schedules/together", _form(action="pause", id=made))


def _sign_in(body: bytes) -> Prepare:
    return lambda _: Ask("POST", "/sign-in", body, FORM)


async def _sign_out(house: House) -> Ask:
    """With the token of another session: the house goes on with its own."""
    ask = house.page("POST", "/sign-out", b"a=1")
    return replace(ask, body=ask.body.replace(house.csrf.encode(), b"0" * 64))


async def _replay_dead(house: House) -> Ask:
    return house.page("POST", "/dead/replay", _form(action="chosen", id=house.dead[:500]))


_EDIT: Final[dict[str, Any]] = {
    "name": "Edited",
    "firing": "slots",
    "when": "0 9 * * *",
    "timezone": "UTC",
    "target_url": "https://acme.example",
    "payload": msgspec.json.encode(PAYLOAD).decode()[: 255 * 1024],
}


def hostile_forms() -> list[Case]:
    """Every form that is hard to read, for the page that takes the largest: all read it alike."""
    return [
        Case(
            route="POST /schedules/new",
            title=f"form of {title}",
            prepare=lambda house, make=make: house.page("POST", "/schedules/new", make()),
            status=_ANY,
        )
        for title, make in bodies.FORMS.items()
    ]


_DATES: Final = "\n".join(calendar()["dates"])

CASES: Final[tuple[Case, ...]] = (
    _look("/sign-in"),
    *(
        Case(
            route="POST /sign-in",
            title=f"form of {title}",
            prepare=_sign_in(make()),
            status=_ANY,
        )
        for title, make in bodies.FORMS.items()
    ),
    Case(route="POST /sign-out", title="", prepare=_sign_out, status=_ANY),
    Case(
        route="GET /static/{name:str}",
        title="",
        prepare=lambda house: house.page("GET", "/static/base.css"),
    ),
    _look("/"),
    _look("/overview/charts"),
    _look("/overview/lists"),
    _look("/live", endless=True),
    _look("/firings/{firing}", "captures of 1 MB"),
    _send("POST /firings/{firing_id:str}/cancel", "/firings/{firing}/cancel", "one that has ended"),
    _send("POST /firings/{firing_id:str}/replay", "/firings/{firing}/replay", ""),
    _look("/dead"),
    Case(route="POST /dead/replay", title="500", prepare=_replay_dead, status=_ANY),
    _look("/cluster"),
    _send("POST /cluster/circuits/reset", "/cluster/circuits/reset", "", host="nobodys.example"),
    _look("/schedules"),
    _look("/schedules?q=invoice", "a word of one in ten"),
    _look("/schedules?tag=paged", "payloads at their limit"),
    Case(route="POST /schedules/together", title="200", prepare=_together, status=_ANY),
    _look("/schedules/new"),
    Case(
        route="GET /schedules/new",
        title="like one with a payload at its limit",
        prepare=lambda house: house.page("GET", f"/schedules/new?like={house.schedules['fat']}"),
    ),
    _send("POST /schedules/new", "/schedules/new", "a payload at its limit", **_EDIT),
    _send("POST /schedules/new", "/schedules/new", "one that is wrong", **_EDIT | {"when": "x"}),
    _look("/schedules/{fat}/edit", "a payload at its limit"),
    _send(
        "POST /schedules/{schedule_id:str}/edit",
        "/schedules/{fat}/edit",
        "a payload at its limit, and a version that is not the last",
        **_EDIT | {"version": "7"},
    ),
    *(
        _look(f"/schedules/preview?when={quote(text)}&timezone=America/New_York&calendar=full-0")
        for text in (
            "* * * * * *",
            "0 0 29 2 */1",
            "RRULE:FREQ=SECONDLY;BYMONTHDAY=29;BYMONTH=2;BYDAY=MO;BYSECOND=0,30",
            "every " + "monday and tuesday and " * 70 + "friday at 9am",
            "at " * 390 + "noon",
            "x" * 3_900,
        )
    ),
    *(
        _look(f"/schedules/{{{name}}}{part}", name)
        for name in ("secondly", "daily", "leap", "rule", "english", "dated", "fat", "monitor")
        for part in ("", "/now", "/history", "/year")
    ),
    _look("/schedules/{rule}?at=1971-01-01T00:00:00Z", "why, a rule that hardly ever fires"),
    _on("pause", reason="r" * 200),
    _on("resume"),
    _on("delete"),
    _on("trigger", payload=_EDIT["payload"]),
    _on("backfill", since="2026-01-01T00:00", until="2026-06-01T00:00"),
    _look("/forecast", "10,000 schedules"),
    _look("/forecast?tz=Asia/Kathmandu", "once more"),
    _look("/alerts"),
    _look("/settings"),
    _look("/settings/secrets"),
    _send("POST /settings/secrets", "/settings/secrets", "", name="BIG", value="s" * 60_000),
    _send("POST /settings/secrets/delete", "/settings/secrets/delete", "", name="NOBODYS"),
    _look("/settings/signing"),
    _send("POST /settings/signing/show", "/settings/signing/show", "", host="acme.example"),
    _send("POST /settings/signing/rotate", "/settings/signing/rotate", "", overlap="1d"),
    _look("/settings/channels"),
    _send(
        "POST /settings/channels", "/settings/channels", "", name="c", url="https://acme.example"
    ),
    Case(
        route="GET /settings/channels/{channel_id:str}",
        title="",
        prepare=lambda house: house.page("GET", f"/settings/channels/chn_{_ID}"),
        status=_ANY,
    ),
    *(
        _send(
            f"POST /settings/channels/{{channel_id:str}}{more}",
            f"/settings/channels/chn_{_ID}{more}",
            "",
        )
        for more in ("", "/enable", "/test", "/delete")
    ),
    _look("/settings/calendars"),
    _send(
        "POST /settings/calendars",
        "/settings/calendars",
        "1,000 dates and a country",
        name="from-a-form",
        country="US",
        dates=_DATES,
    ),
    _look("/settings/calendars/full-0", "1,000 dates"),
    _send(
        "POST /settings/calendars/{name:str}",
        "/settings/calendars/full-1",
        "1,000 dates and a country",
        country="DE",
        dates=_DATES,
    ),
    _send("POST /settings/calendars/{name:str}/delete", "/settings/calendars/nobodys/delete", ""),
    _look("/settings/keys"),
    _send("POST /settings/keys", "/settings/keys", "", scopes="read"),
    _send("POST /settings/keys/{key_id:str}/revoke", f"/settings/keys/key_{_ID}/revoke", ""),
    _look("/settings/tenants"),
    _send("POST /settings/tenants", "/settings/tenants", "", name="from-a-form"),
    Case(
        route="GET /settings/tenants/{tenant_id:str}",
        title="",
        prepare=lambda house: house.page("GET", f"/settings/tenants/ten_{_ID}"),
        status=_ANY,
    ),
    _send("POST /settings/tenants/{tenant_id:str}", f"/settings/tenants/ten_{_ID}", ""),
    _send(
        "POST /settings/tenants/{tenant_id:str}/delete", f"/settings/tenants/ten_{_ID}/delete", ""
    ),
    *hostile_forms(),
)
