"""Runs of tasks, as the API shows them: enqueued by a program, seen and ended here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import ids
from rota.queue.enqueue import EnqueueRequest, enqueue

if TYPE_CHECKING:
    from tests.api.conftest import Api

    from rota.db import Database

TASK = {
    "cron_expr": None,
    "on_demand": True,
    "target_url": None,
    "job_type": "copy",
    "key": "task:copy",
    "overlap_policy": "allow",
    "idempotency_key": None,
}


async def test_a_run_shows_its_progress_and_can_be_cancelled(api: Api, db: Database) -> None:
    made = await api.created(**TASK)
    async with db.transaction() as tx:
        order = EnqueueRequest(task="copy", payloads=[b'{"args":[1]}'])
        (id_,) = await enqueue(tx, order)
        await tx.execute("UPDATE queue SET progress = 0.4, progress_note = 'copying'")
    firing = ids.to_text(ids.Kind.FIRING, id_)
    shown = (await api.get(f"/v1/firings/{firing}")).json()
    assert (shown["status"], shown["triggered_by"]) == ("waiting", "enqueue")
    assert (shown["progress"], shown["progress_note"]) == (0.4, "copying")
    listed = (await api.get(f"/v1/schedules/{made['id']}/firings")).json()["items"]
    assert [(each["id"], each["progress"]) for each in listed] == [(firing, 0.4)]
    await api.post(f"/v1/firings/{firing}/cancel")
    ended = (await api.get(f"/v1/firings/{firing}")).json()
    assert (ended["status"], ended["progress"]) == ("cancelled", None)
