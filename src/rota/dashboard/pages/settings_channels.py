"""Channels: where to hear of trouble. URLs go in, and are shown redacted."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import Response, get, post

from rota import ids
from rota.dashboard import doors, rendering, settings
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.forms import MEDIUM, Form
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.refusals import PageRefused, missing
from rota.db import Tx
from rota.errors import InvalidInput
from rota.tenants.secrets import Masked
from rota.tenants.tenant import Tenant
from rota.watch import channel, channels_sql, others, outbox
from rota.watch.channel import Channel
from rota.watch.channels import MAX_CHANNELS, Channels, NoSuchChannel, find
from rota.watch.kinds import DEFAULT_EVENTS, EVENTS, INSTALLATION

_SAID: Final = 20
EXPLAINED: Final = {
    "dead": "a firing failed for good",
    "missed": "slots were missed",
    "overdue": "a slot passed and nothing fired",
    "moved": "new rules of a time zone moved a slot",
    "limit": "a limit of the tenant's is reached, and something is not kept",
    "recovered": "what was wrong goes well again",
    "succeeded": "every success, one by one",
    "failing": "many of the tenant's firings fail",
    "slow": "runs come close to their timeout",
    "installation": "trouble of the whole installation",
}


@get("/settings/channels", opt=doors.needs("read"))
async def channels(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """All of them."""
    return await _listed(desk, visitor, done=request.query_params.get("done"))


@post("/settings/channels", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def create_channel(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make one."""
    form = await Form.read(request)
    given = _given(form) | {"url": form.text("url") or None}
    tenant = visitor.principal.tenant.id
    try:
        terms = channel.read(given, events=DEFAULT_EVENTS)
        _require_right(visitor, terms.events)
        assert terms.url is not None
        await _check(desk, visitor.principal.tenant, terms.url)
        made = await desk.db.run(
            lambda tx: Channels(desk.vault).create(tx, tenant, terms), tenant=tenant
        )
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _listed(desk, visitor, typed=given, wrong=wrong, code=code)
    return rendering.go_to(f"/settings/channels/{_id_text(made)}?done=made")


@get("/settings/channels/{channel_id:str}", opt=doors.needs("read"))
async def one_channel(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, channel_id: Named
) -> Response[str]:
    """One, with what was said on it lately."""
    id_ = settings.read_id(ids.Kind.CHANNEL, channel_id, "channel")
    return await _one(desk, visitor, id_, done=request.query_params.get("done"))


@post("/settings/channels/{channel_id:str}", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def change_channel(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, channel_id: Named
) -> Response[Any]:
    """Change it; without a URL it keeps the one it has."""
    id_ = settings.read_id(ids.Kind.CHANNEL, channel_id, "channel")
    form = await Form.read(request)
    given = _given(form) | ({"url": form.text("url")} if form.text("url") else {})
    before = await _found(desk, visitor, id_)
    try:
        wanted = channel.change(before.terms, given)
        _require_right(visitor, (*before.events, *wanted.events))
        if wanted.url is not None:
            await _check(desk, visitor.principal.tenant, wanted.url)
        await _change(desk, visitor, id_, given)
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _one(desk, visitor, id_, typed=given, wrong=wrong, code=code)
    return rendering.go_to(f"/settings/channels/{channel_id}?done=saved")


@post("/settings/channels/{channel_id:str}/enable", opt=doors.needs("write"))
async def enable_channel(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, channel_id: Named
) -> Response[Any]:
    """Turn it on, or off."""
    id_ = settings.read_id(ids.Kind.CHANNEL, channel_id, "channel")
    on = (await Form.read(request)).ticked("on")
    _require_right(visitor, (await _found(desk, visitor, id_)).events)
    await _change(desk, visitor, id_, {"enabled": on})
    return rendering.go_to(f"/settings/channels/{channel_id}?done=saved")


@post("/settings/channels/{channel_id:str}/test", opt=doors.needs("write"))
async def try_channel(desk: TheDesk, visitor: TheVisitor, channel_id: Named) -> Response[Any]:
    """Say something on it, to see whether it works."""
    id_ = settings.read_id(ids.Kind.CHANNEL, channel_id, "channel")
    before = await _found(desk, visitor, id_)
    _require_right(visitor, before.events)

    async def work(tx: Tx) -> None:
        await outbox.say_test(tx, before, at=await tx.fetch_value("SELECT clock_timestamp()"))

    await desk.db.run(work, tenant=visitor.principal.tenant.id)
    return rendering.go_to(f"/settings/channels/{channel_id}?done=tested#said")


@post("/settings/channels/{channel_id:str}/delete", opt=doors.needs("write"))
async def delete_channel(desk: TheDesk, visitor: TheVisitor, channel_id: Named) -> Response[Any]:
    """Delete it, with what had still to be said on it."""
    id_ = settings.read_id(ids.Kind.CHANNEL, channel_id, "channel")
    tenant = visitor.principal.tenant.id
    _require_right(visitor, (await _found(desk, visitor, id_)).events)
    if not await desk.db.run(lambda tx: channels_sql.delete(tx, tenant, id_), tenant=tenant):
        raise missing("channel")
    return rendering.go_to("/settings/channels?done=deleted")


ROUTES = (
    channels,
    create_channel,
    one_channel,
    change_channel,
    enable_channel,
    try_channel,
    delete_channel,
)


async def _listed(
    desk: Desk,
    visitor: Visitor,
    *,
    typed: dict[str, Any] | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, list[Channel]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await channels_sql.listed(tx, tenant, after="", limit=MAX_CHANNELS)

    now, found = await desk.db.run(work, read_only=True, tenant=tenant)
    usual: dict[str, Any] = {"name": "", "events": DEFAULT_EVENTS, "tags": []}
    return settings.page(
        "settings_channels.html",
        visitor,
        "channels",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        channels=[(_id_text(each), each) for each in found],
        typed=typed or usual,
        events=_events(visitor),
        is_on=desk.vault.is_on,
        apprise=desk.allows_apprise(visitor.principal.tenant),
    )


async def _one(
    desk: Desk,
    visitor: Visitor,
    id_: UUID,
    *,
    typed: dict[str, Any] | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, Channel, list[outbox.Said]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        found = await find(tx, tenant, id_)
        return now, found, await outbox.listed(tx, tenant, id_, before=None, limit=_SAID)

    try:
        now, found, said = await desk.db.run(work, read_only=True, tenant=tenant)
    except NoSuchChannel:
        raise missing("channel") from None
    own = {"name": found.name, "events": found.events, "tags": list(found.tags)}
    mine = INSTALLATION not in found.events or visitor.may("operator")
    return settings.page(
        "settings_channel.html",
        visitor,
        "channels",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        channel=found,
        id=_id_text(found),
        notes=said,
        typed=typed or own,
        events=_events(visitor),
        may_change=visitor.may("write") and mine,
        apprise=desk.allows_apprise(visitor.principal.tenant),
    )


async def _found(desk: Desk, visitor: Visitor, id_: UUID) -> Channel:
    tenant = visitor.principal.tenant.id
    try:
        return await desk.db.run(lambda tx: find(tx, tenant, id_), read_only=True, tenant=tenant)
    except NoSuchChannel:
        raise missing("channel") from None


async def _change(desk: Desk, visitor: Visitor, id_: UUID, given: dict[str, Any]) -> None:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> None:
        await Channels(desk.vault).change(tx, tenant, id_, given)

    try:
        await desk.db.run(work, repeatable=True, tenant=tenant)
    except NoSuchChannel:
        raise missing("channel") from None


def _given(form: Form) -> dict[str, Any]:
    tags = [each.strip() for each in form.text("tags").split(",")]
    return {
        "name": form.text("name"),
        "events": form.all("events"),
        "tags": [each for each in tags if each],
    }


def _events(visitor: Visitor) -> list[tuple[str, str]]:
    known = [each for each in EVENTS if each != INSTALLATION or visitor.may("operator")]
    return [(each, EXPLAINED[each]) for each in known]


def _require_right(visitor: Visitor, events: tuple[str, ...]) -> None:
    """What concerns the whole installation names hosts and nodes that are no tenant's business."""
    if INSTALLATION in events and not visitor.may("operator"):
        raise PageRefused(
            HTTPStatus.FORBIDDEN, "Only whoever runs the installation may hear of all of it."
        )


async def _check(desk: Desk, tenant: Tenant, url: Masked) -> None:
    policy = desk.targets.of_tenant(tenant.id)
    scheme = await others.unreadable(url, policy=policy, allowed=desk.allows_apprise(tenant))
    if scheme is not None:
        raise InvalidInput(
            f"Invalid url: expected a URL of {scheme}:// that apprise can read", field="url"
        )


def _id_text(of: Channel) -> str:
    return ids.to_text(ids.Kind.CHANNEL, of.id)
