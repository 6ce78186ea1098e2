"""The outbox: sent once, again when it failed, and by somebody else after a crash."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from standardwebhooks.webhooks import Webhook
from tests.db.queue_support import make_schedule
from tests.db.watch_kit import (
    VAULT,
    end,
    make_channel,
    notice,
    receiving,
    rows,
    run,
    sending,
)

from rota.clock import SystemClock
from rota.events import Bus, Recorder
from rota.receiver import verify_call
from rota.targets import TargetPolicy, signing_host
from rota.telemetry.log import describe
from rota.tenants.secrets import BrokenSecret, Masked
from rota.tenants.signing import SigningSecrets
from rota.watch import outbox
from rota.watch.channels import Channels
from rota.watch.events import NotificationFailed, NotificationSent
from rota.watch.others import Others
from rota.watch.pacing import MAX_TRIES
from rota.watch.sender import Told

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database
    from rota.schedules.schedule import Schedule

CANARY = "CANARY-7f3d"
URL = "https://hooks.example.com/x"


async def _dead(db: Database, url: str) -> Schedule:
    """Somebody is to be told something."""
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, url)
    await end(db, schedule)
    await notice(db)
    return schedule


async def _due_now(db: Database) -> None:
    await run(db, "UPDATE notifications SET available_at = now() WHERE status = 'pending'")


async def test_a_webhook_is_called_and_signed_as_firings_are(db: Database) -> None:
    """NO1, S13: verified by the specification's own library, on the raw bytes."""
    async with receiving() as receiver, sending(db) as sender:
        schedule = await _dead(db, receiver.url)
        assert await sender.run_once() == 1
        assert await sender.run_once() == 0
    (headers, body) = receiver.calls[0]
    assert (body["type"], body["data"]["schedule_name"]) == ("alert.opened", schedule.name)
    assert body["text"].startswith(f"{schedule.name}: firings have failed for good")
    async with db.transaction() as tx:
        (secret,) = await SigningSecrets(VAULT).of(tx, schedule.tenant_id)
    key = secret.text_for(signing_host.of_url(receiver.url))
    Webhook(key).verify(receiver.bodies[0], headers)
    now = SystemClock().now()
    assert verify_call("POST", headers, receiver.bodies[0], [key], now).schedule_id is None
    (said,) = await rows(db, "notifications")
    assert (said["status"], said["attempt"], said["error"]) == ("sent", 1, None)
    (channel,) = await rows(db, "channels")
    assert channel["last_sent_at"] is not None


async def test_many_senders_send_it_once(db: Database) -> None:
    async with receiving() as receiver, sending(db) as one, sending(db) as other:
        await _dead(db, receiver.url)
        sent = await asyncio.gather(*(each.run_once() for each in (one, other, one, other)))
    assert (sum(sent), len(receiver.calls)) == (1, 1)


async def test_what_fails_is_tried_again_later_and_given_up_in_the_end(db: Database) -> None:
    bus = Bus()
    recorder = Recorder(bus)
    async with receiving() as receiver, sending(db, bus=bus) as sender:
        receiver.status = 503
        await _dead(db, receiver.url)
        assert await sender.run_once() == 1
        assert await sender.run_once() == 0, "it waits"
        (said,) = await rows(db, "notifications")
        assert (said["status"], said["error"]) == ("pending", "HTTP 503")
        for _ in range(MAX_TRIES):
            await _due_now(db)
            await sender.run_once()
    (said,) = await rows(db, "notifications")
    assert (said["status"], len(receiver.calls)) == ("given_up", MAX_TRIES)
    assert len({headers["webhook-id"] for headers, _ in receiver.calls}) == 1
    told = recorder.all(NotificationFailed)
    assert [each.given_up for each in told] == [False] * (MAX_TRIES - 1) + [True]


async def test_whoever_crashes_with_it_only_delays_it(db: Database) -> None:
    async with receiving() as receiver, sending(db) as sender:
        await _dead(db, receiver.url)
        async with db.transaction() as tx:
            (taken,) = await outbox.take(tx, limit=5)
        assert await sender.run_once() == 0, "it is somebody's"
        await _due_now(db)
        assert await sender.run_once() == 1
        async with db.transaction() as tx:
            await outbox.failed(tx, taken, "too late", again=timedelta())
    (said,) = await rows(db, "notifications")
    assert (said["status"], said["attempt"], said["error"]) == ("sent", 2, None)


async def test_a_receiver_that_is_gone_turns_the_channel_off(db: Database) -> None:
    """S13: 410 is the end."""
    async with receiving() as receiver, sending(db) as sender:
        receiver.status = 410
        await _dead(db, receiver.url)
        await sender.run_once()
    (channel,) = await rows(db, "channels")
    (said,) = await rows(db, "notifications")
    assert (channel["enabled"], channel["last_error"], said["status"]) == (
        False,
        "HTTP 410",
        "given_up",
    )


async def test_the_guard_of_targets_stands_before_channels_as_well(db: Database) -> None:
    """S1, S2, S3: asked again at the sending, whatever was asked before; no redirect followed."""
    async with receiving() as receiver, receiving() as elsewhere:
        async with sending(db, policy=TargetPolicy()) as sender:
            await _dead(db, receiver.url)
            await sender.run_once()
        assert receiver.calls == []
        (said,) = await rows(db, "notifications")
        assert "loopback" in said["error"]
        async with sending(db) as sender:
            receiver.status = 302
            await _due_now(db)
            await sender.run_once()
        assert (len(receiver.calls), elsewhere.calls) == (1, [])


async def test_user_and_password_become_a_header_and_are_seen_nowhere(db: Database) -> None:
    """S8: nor is any other part of the URL, though the receiver repeats all of it."""
    bus = Bus()
    recorder = Recorder(bus)
    async with receiving() as receiver, sending(db, bus=bus) as sender:
        receiver.status = 500
        place = receiver.url.removeprefix("http://").removesuffix("/hook")
        url = f"http://user:{CANARY}1@{place}/{CANARY}2?token={CANARY}3"
        await _dead(db, url)
        await sender.run_once()
        receiver.status = 200
        await _due_now(db)
        await sender.run_once()
    headers, _ = receiver.calls[0]
    assert headers["authorization"] == "Basic dXNlcjpDQU5BUlktN2YzZDE="
    assert recorder.all(NotificationSent)
    seen = " ".join(describe(each) for each in recorder.all(NotificationFailed))
    for table in ("channels", "alerts", "notifications", "data_keys"):
        seen += str([dict(row) for row in await rows(db, table)])
    assert CANARY not in seen


async def test_other_services_are_told_only_where_that_is_on(db: Database) -> None:
    said: list[tuple[str, str, str]] = []

    async def say(url: Masked, title: str, text: str) -> Told:
        said.append((url.reveal(), title, text))
        return Told(error=f"bad token {CANARY}")

    url = f"slack://{CANARY}/B/C"
    await _dead(db, url)
    async with sending(db) as sender:
        await sender.run_once()
    (row,) = await rows(db, "notifications")
    assert "ROTA_APPRISE" in row["error"]
    # Made while it was allowed, or by hand: at the sending it is asked again whose it is.
    async with sending(db, say=say, say_for=uuid4()) as sender:
        await _due_now(db)
        await sender.run_once()
    assert said == []
    async with sending(db, say=say) as sender:
        await _due_now(db)
        await sender.run_once()
    assert said[0][0] == url
    (row,) = await rows(db, "notifications")
    assert row["error"] == "bad token …"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its own, of a plugin
async def test_apprise_itself_carries_a_word(db: Database) -> None:
    """Its own generic scheme, against a real server on loopback."""
    async with receiving() as receiver:
        others = Others()
        try:
            url = receiver.url.replace("http://", "json://")
            told = await others(Masked(url), "title", "text")
            failed = await others(Masked("nonsense://x"), "title", "text")
        finally:
            others.close()
    assert told == Told()
    assert failed.error
    assert receiver.calls[0][1]["title"] == "title"


async def test_a_url_moved_to_another_channel_does_not_open(db: Database) -> None:
    """S7."""
    schedule = await make_schedule(db)
    one = await make_channel(db, schedule.tenant_id, "https://a.example/1", name="one")
    await make_channel(db, schedule.tenant_id, "https://a.example/2", name="two")
    await run(
        db,
        """UPDATE channels SET nonce = o.nonce, ciphertext = o.ciphertext
             FROM channels o WHERE o.id = $1 AND channels.id <> o.id""",
        one.id,
    )
    ids = [row["id"] for row in await rows(db, "channels")]
    async with db.transaction() as tx:
        with pytest.raises(BrokenSecret):
            await Channels(VAULT).open(tx, ids)


async def test_who_has_much_to_hear_does_not_delay_another_tenant(db: Database) -> None:
    """S12: a receiver that never answers is its own tenant's trouble."""
    loud, quiet = await make_schedule(db), await make_schedule(db)
    many = await make_channel(db, loud.tenant_id, URL)
    one = await make_channel(db, quiet.tenant_id, URL)
    await _wait_to_be_said(db, many.id, 30)
    await _wait_to_be_said(db, one.id, 1)
    async with db.transaction() as tx:
        first = await outbox.take(tx, limit=5)
        rest = await outbox.take(tx, limit=50)
    assert {each.channel_id for each in first} == {many.id, one.id}
    assert [each.channel_id for each in rest] == [many.id] * 26


async def test_a_channel_that_cannot_keep_up_hears_of_no_more_successes(db: Database) -> None:
    schedule = await make_schedule(db)
    channel = await make_channel(db, schedule.tenant_id, URL, events=["succeeded"])
    await _wait_to_be_said(db, channel.id, outbox.MOST_WAITING)
    await end(db, schedule, "succeeded")
    await notice(db)
    assert len(await rows(db, "notifications")) == outbox.MOST_WAITING
    await run(db, "UPDATE notifications SET status = 'sent' WHERE channel_id = $1", channel.id)
    await notice(db)
    assert len(await rows(db, "notifications")) == outbox.MOST_WAITING + 1


async def _wait_to_be_said(db: Database, channel_id: UUID, count: int) -> None:
    await run(
        db,
        """INSERT INTO notifications (id, tenant_id, channel_id, event, title, content)
           SELECT gen_random_uuid(), c.tenant_id, c.id, 'dead', 'x', '{}'
             FROM channels c, generate_series(1, $2) WHERE c.id = $1""",
        channel_id,
        count,
    )
