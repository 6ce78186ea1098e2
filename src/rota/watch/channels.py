"""Making, changing and opening channels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rota import ids
from rota.errors import CallerError, InvalidInput
from rota.tenants import sql as tenants_sql
from rota.tenants.secrets import Masked, cipher
from rota.watch import addresses, channel, channels_sql
from rota.watch.channel import Channel
from rota.watch.channels_sql import SealedUrl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.secrets import Vault
    from rota.watch.channel import Terms

MAX_CHANNELS: Final = 100
"""Of one tenant."""


class NoSuchChannel(CallerError):
    """The tenant has no such channel."""


class DuplicateChannel(InvalidInput):
    """The tenant has another channel of this name."""

    def __init__(self) -> None:
        super().__init__("Invalid name: another channel has it", field="name")


class Channels:
    """The channels in a vault. Without a key ring none can be made: their URLs are secrets."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def create(self, tx: Tx, tenant_id: UUID, terms: Terms) -> Channel:
        """A new one; its URL has been checked."""
        assert terms.url is not None, "a channel is made with a URL"
        self._vault.require_on()
        if await channels_sql.count(tx, tenant_id) >= MAX_CHANNELS:
            raise InvalidInput(
                f"Invalid name: expected at most {MAX_CHANNELS} channels; delete one first",
                field="name",
            )
        now = await tenants_sql.now(tx)
        new = _new(ids.new(at=now), tenant_id, terms, now=now)
        made = await channels_sql.add(tx, new, await self._seal(tx, new, terms.url, version=1))
        if made is None:
            raise DuplicateChannel
        return made

    async def change(
        self, tx: Tx, tenant_id: UUID, named: UUID | str, given: Mapping[str, object]
    ) -> Channel:
        """The channel with the fields given changed."""
        held = await channels_sql.hold(tx, tenant_id, named)
        if held is None:
            raise NoSuchChannel
        old, version = held
        terms = channel.change(old.terms, given)
        if terms.name != old.name and await channels_sql.id_of(tx, tenant_id, terms.name):
            raise DuplicateChannel
        if terms.url is not None:
            sealed = await self._seal(tx, old, terms.url, version=version + 1)
            await channels_sql.reseal(tx, sealed, addresses.shown(terms.url.reveal()))
        new = replace(
            old, name=terms.name, events=terms.events, tags=terms.tags, enabled=terms.enabled
        )
        return await channels_sql.change(tx, new)

    async def open(self, tx: Tx, channel_ids: Sequence[UUID]) -> dict[UUID, Masked]:
        """The URLs of those of the channels that there are, to be called with."""
        return {
            each.channel_id: self._unseal(each)
            for each in await channels_sql.sealed(tx, channel_ids)
        }

    async def _seal(self, tx: Tx, of: Channel, url: Masked, *, version: int) -> SealedUrl:
        text = url.reveal()
        key = await self._vault.hold_key(tx, of.tenant_id)
        place = cipher.place_of_channel(of.tenant_id, of.id, version)
        return SealedUrl(
            channel_id=of.id,
            tenant_id=of.tenant_id,
            version=version,
            scheme=addresses.scheme_of(text),
            key=key,
            sealed=cipher.seal(self._vault.unwrap(key), text.encode(), place=place),
        )

    def _unseal(self, url: SealedUrl) -> Masked:
        place = cipher.place_of_channel(url.tenant_id, url.channel_id, url.version)
        return Masked(cipher.unseal(self._vault.unwrap(url.key), url.sealed, place=place).decode())


async def find(tx: Tx, tenant_id: UUID, named: UUID | str) -> Channel:
    """The tenant's channel, by its id or its name."""
    found = await channels_sql.one(tx, tenant_id, named)
    if found is None:
        raise NoSuchChannel
    return found


def _new(id_: UUID, tenant_id: UUID, terms: Terms, *, now: datetime) -> Channel:
    assert terms.url is not None
    return Channel(
        id=id_,
        tenant_id=tenant_id,
        name=terms.name,
        shown=addresses.shown(terms.url.reveal()),
        events=terms.events,
        tags=terms.tags,
        enabled=terms.enabled,
        created_at=now,
        updated_at=now,
        last_sent_at=None,
        last_error=None,
    )
