"""`/v1/channels`: where a tenant wants to hear of trouble. URLs go in, and come out redacted."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response, delete, get, patch, post
from msgspec import Meta

from rota import ids
from rota.api import access, bodies, cursors, models, paths
from rota.api.engine import Engine
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.problems import bad_field, not_found
from rota.api.queries import Query
from rota.db import Tx
from rota.tenants.secrets import Masked
from rota.tenants.tenant import Principal, Tenant
from rota.watch import addresses, channel, channels_sql, others, outbox
from rota.watch.channel import MAX_NAME, MAX_TAG, MAX_TAGS
from rota.watch.channels import Channels, NoSuchChannel, find
from rota.watch.kinds import DEFAULT_EVENTS, INSTALLATION, ChannelEvent

_Name = Annotated[
    str,
    Meta(
        max_length=MAX_NAME,
        pattern=r"^(?![Cc][Hh][Nn]_)[A-Za-z0-9]([A-Za-z0-9 ._@-]*[A-Za-z0-9])?$",
    ),
]
_Url = Annotated[str, Meta(max_length=addresses.MAX_LENGTH)]
_Events = Annotated[list[ChannelEvent], Meta(min_length=1)]
_Tags = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=MAX_TAG)]], Meta(max_length=MAX_TAGS)
]


class ChannelFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A channel to be made. Its URL is an https:// webhook, or one of apprise where that is on."""

    name: _Name
    url: _Url
    events: _Events | None = None
    """What to hear of: dead, missed, overdue and recovered, unless given."""
    tags: _Tags | None = None
    """Only of schedules with one of these tags."""
    enabled: bool | None = None

    def __repr__(self) -> str:
        return "ChannelFields(…)"


class ChannelChanges(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change of a channel; null takes a field back to its default."""

    name: _Name | msgspec.UnsetType = msgspec.UNSET
    url: _Url | msgspec.UnsetType = msgspec.UNSET
    events: _Events | None = None
    tags: _Tags | None = None
    enabled: bool | None = None

    def __repr__(self) -> str:
        return "ChannelChanges(…)"


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """A channel, with as much of its URL as may be seen."""

    id: str
    name: str
    url: str
    """Its scheme and, of a webhook, its host."""
    events: tuple[str, ...]
    tags: tuple[str, ...]
    enabled: bool
    created_at: datetime
    updated_at: datetime
    last_sent_at: datetime | None
    last_error: str | None
    """Why the last notification could not be sent; null when it could."""


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was to be said on a channel, and what became of it."""

    id: str
    event: str
    title: str
    status: str
    """pending, sent or given_up."""
    attempts: int
    error: str | None
    created_at: datetime
    ended_at: datetime | None


@post("/v1/channels", opt=access.needs("write"))
async def create_channel(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """Make a channel."""
    given = await bodies.read_object(request)
    usual = (*DEFAULT_EVENTS, INSTALLATION) if caller.is_operator else DEFAULT_EVENTS
    terms = channel.read(given, events=usual)
    _require_right(caller, terms.events)
    assert terms.url is not None
    await _check(engine, caller.tenant, terms.url)

    async def work(tx: Tx) -> Done:
        made = await Channels(engine.vault).create(tx, caller.tenant.id, terms)
        return Done(_view(made), HTTPStatus.CREATED)

    return await once(request, engine, caller, work)


@get("/v1/channels", opt=access.needs("read"))
async def list_channels(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """List the channels by name."""
    query = Query(request, "limit", "cursor")
    limit = query.limit()
    after = cursors.decode(query.text("cursor"), str) or ""
    if "\0" in after or not after.isascii():
        raise cursors.refused(query.text("cursor") or "")

    async def work(tx: Tx) -> list[channel.Channel]:
        return await channels_sql.listed(tx, caller.tenant.id, after=after, limit=limit + 1)

    found = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    more = cursors.encode(found[limit - 1].name) if len(found) > limit else None
    return models.Page(items=[_view(each) for each in found[:limit]], next_cursor=more)


@get("/v1/channels/{channel_id:str}", opt=access.needs("read"))
async def get_channel(engine: TheEngine, caller: Caller, channel_id: Named) -> Channel:
    """One channel."""
    return _view(await _found(engine, caller, paths.channel_id(channel_id)))


@patch("/v1/channels/{channel_id:str}", opt=access.needs("write"))
async def update_channel(
    request: AnyRequest, engine: TheEngine, caller: Caller, channel_id: Named
) -> Channel:
    """Change the fields given; null takes one back to its default."""
    id_ = paths.channel_id(channel_id)
    given = await bodies.read_object(request)
    before = await _found(engine, caller, id_)
    wanted = channel.change(before.terms, given)
    _require_right(caller, (*before.events, *wanted.events))
    if wanted.url is not None:
        await _check(engine, caller.tenant, wanted.url)

    async def work(tx: Tx) -> channel.Channel:
        try:
            return await Channels(engine.vault).change(tx, caller.tenant.id, id_, given)
        except NoSuchChannel:
            raise not_found("channel") from None

    return _view(await engine.db.run(work, repeatable=True, tenant=caller.tenant.id))


@delete("/v1/channels/{channel_id:str}", opt=access.needs("write"))
async def delete_channel(engine: TheEngine, caller: Caller, channel_id: Named) -> None:
    """Delete a channel, with what had still to be said on it."""
    id_ = paths.channel_id(channel_id)
    before = await _found(engine, caller, id_)
    _require_right(caller, before.events)

    async def work(tx: Tx) -> bool:
        return await channels_sql.delete(tx, caller.tenant.id, id_)

    if not await engine.db.run(work, tenant=caller.tenant.id):
        raise not_found("channel")


@post("/v1/channels/{channel_id:str}/test", opt=access.needs("write"))
async def test_channel(
    request: AnyRequest, engine: TheEngine, caller: Caller, channel_id: Named
) -> Response[bytes]:
    """Say something on a channel, to see whether it works; a worker does it within a second."""
    id_ = paths.channel_id(channel_id)
    before = await _found(engine, caller, id_)
    _require_right(caller, before.events)

    async def work(tx: Tx) -> Done:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        made = await outbox.say_test(tx, before, at=now)
        (said,) = await outbox.listed(tx, caller.tenant.id, id_, before=None, limit=1, only=made)
        return Done(_said(said), HTTPStatus.ACCEPTED)

    return await once(request, engine, caller, work)


@get("/v1/channels/{channel_id:str}/notifications", opt=access.needs("read"))
async def list_notifications(
    request: AnyRequest, engine: TheEngine, caller: Caller, channel_id: Named
) -> models.Page:
    """What was to be said on a channel within the last week, the newest first."""
    query = Query(request, "limit", "cursor")
    limit = query.limit()
    before = cursors.decode(query.text("cursor"), tuple[datetime, UUID])
    if before is not None and before[0].tzinfo is None:
        raise cursors.refused(query.text("cursor") or "")
    found = await _found(engine, caller, paths.channel_id(channel_id))

    async def work(tx: Tx) -> list[outbox.Said]:
        return await outbox.listed(tx, caller.tenant.id, found.id, before=before, limit=limit + 1)

    said = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    page = said[:limit]
    more = cursors.encode((page[-1].created_at, page[-1].id)) if len(said) > limit else None
    return models.Page(items=[_said(each) for each in page], next_cursor=more)


ROUTES = (
    create_channel,
    list_channels,
    get_channel,
    update_channel,
    delete_channel,
    test_channel,
    list_notifications,
)


async def _found(engine: Engine, caller: Principal, id_: UUID) -> channel.Channel:
    tenant_id = caller.tenant.id
    try:
        return await engine.db.run(
            lambda tx: find(tx, tenant_id, id_), read_only=True, tenant=tenant_id
        )
    except NoSuchChannel:
        raise not_found("channel") from None


def _require_right(caller: Principal, events: tuple[str, ...]) -> None:
    """What concerns the whole installation names hosts and nodes that are no tenant's business."""
    if INSTALLATION in events:
        access.require_operator(caller)


async def _check(engine: Engine, tenant: Tenant, url: Masked) -> None:
    policy = engine.targets.of_tenant(tenant.id)
    scheme = await others.unreadable(url, policy=policy, allowed=engine.allows_apprise(tenant))
    if scheme is not None:
        raise bad_field("url", f"expected a URL of {scheme}:// that apprise can read")


def _view(each: channel.Channel) -> Channel:
    return Channel(
        id=ids.to_text(ids.Kind.CHANNEL, each.id),
        name=each.name,
        url=each.shown,
        events=each.events,
        tags=each.tags,
        enabled=each.enabled,
        created_at=each.created_at,
        updated_at=each.updated_at,
        last_sent_at=each.last_sent_at,
        last_error=each.last_error,
    )


def _said(each: outbox.Said) -> Notification:
    return Notification(
        id=ids.to_text(ids.Kind.NOTIFICATION, each.id),
        event=each.event,
        title=each.title,
        status=each.status,
        attempts=each.attempt,
        error=each.error,
        created_at=each.created_at,
        ended_at=each.ended_at,
    )
