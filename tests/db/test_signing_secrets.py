"""Signing secrets on a real database: made once, rotated with an overlap (S13)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.secrets_kit import tenant, vault

from rota.clock import SystemClock
from rota.errors import InvalidInput
from rota.tenants.secrets import NoSecretKeys, Rings, Vault
from rota.tenants.signing import OVERLAP, SigningSecret, SigningSecrets

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database


async def test_the_first_is_made_once_however_many_ask(db: Database) -> None:
    owners = [await tenant(db) for _ in range(5)]

    async def ask() -> dict[UUID, list[SigningSecret]]:
        async with db.transaction() as tx:
            return await SigningSecrets(vault()).of_all(tx, owners)

    answers = await asyncio.gather(*(ask() for _ in range(6)))
    assert all(answer == answers[0] for answer in answers)
    texts = {secrets[0].text_for("x.example") for secrets in answers[0].values()}
    assert len(texts) == 5
    assert all(text.startswith("whsec_") for text in texts)


async def test_the_one_before_signs_beside_the_new_one_until_it_retires(db: Database) -> None:
    own, signing = await tenant(db), SigningSecrets(vault())
    async with db.transaction() as tx:
        (first,) = await signing.of(tx, own)
        second, before = await signing.rotate(tx, own)
    assert before.key == first.key
    assert second.key != first.key
    assert (second.version, second.retired_at) == (2, None)
    assert before.retired_at is not None
    left = before.retired_at - SystemClock().now()
    assert OVERLAP - timedelta(minutes=1) < left <= OVERLAP
    async with db.transaction() as tx:
        third, *_ = await signing.rotate(tx, own, overlap=timedelta(hours=1))
        now = await signing.of(tx, own)
    assert [each.version for each in now] == [3, 2, 1]
    assert third.key == now[0].key


async def test_without_an_overlap_all_before_are_gone_at_once(db: Database) -> None:
    """A secret that has leaked must not sign for another second."""
    own, signing = await tenant(db), SigningSecrets(vault())
    async with db.transaction() as tx:
        await signing.of(tx, own)
        await signing.rotate(tx, own)
    async with db.transaction() as tx:
        (only,) = await signing.rotate(tx, own, overlap=timedelta())
    assert only.version == 3


async def test_what_is_not_an_overlap_is_refused(db: Database) -> None:
    own, signing = await tenant(db), SigningSecrets(vault())
    for overlap in (timedelta(seconds=-1), timedelta(days=31)):
        async with db.transaction() as tx:
            with pytest.raises(InvalidInput, match="Invalid overlap"):
                await signing.rotate(tx, own, overlap=overlap)


async def test_without_a_ring_it_is_off(db: Database) -> None:
    own, signing = await tenant(db), SigningSecrets(Vault(Rings(None)))
    assert not signing.is_on
    async with db.transaction() as tx:
        with pytest.raises(NoSecretKeys):
            await signing.of(tx, own)


async def test_what_a_server_of_the_version_before_makes_is_shared(db: Database) -> None:
    """It shows the secret itself to receivers: its statement knows nothing of keys per host."""
    own, signing = await tenant(db), SigningSecrets(vault())
    async with db.transaction() as tx:
        (made,) = await signing.of(tx, own)
        await tx.execute(
            """WITH gone AS (DELETE FROM signing_secrets WHERE tenant_id = $1 RETURNING *)
               INSERT INTO signing_secrets (tenant_id, version, key_id, nonce, ciphertext)
               SELECT tenant_id, version + 1, key_id, nonce, ciphertext FROM gone""",
            own,
        )
        shared = await tx.fetch_value(
            "SELECT shared FROM signing_secrets WHERE tenant_id = $1", own
        )
        new, *_ = await signing.rotate(tx, await tenant(db))
    assert (made.shared, shared, new.shared) == (False, True, False)
