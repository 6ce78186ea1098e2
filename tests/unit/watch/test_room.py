"""How many alerts of a kind may be open."""

from __future__ import annotations

from uuid import uuid4

from rota.watch.rules import Reading
from rota.watch.watchdog import with_room


def test_a_tenant_with_very_much_trouble_does_not_hide_that_of_another() -> None:
    noisy, quiet = uuid4(), uuid4()
    many = [Reading(subject=str(n), value=1, detail="", tenant_id=noisy) for n in range(2_000)]
    one = Reading(subject="s", value=1, detail="", tenant_id=quiet)
    kept = with_room([*many, one], [])
    assert len(kept) == 501
    assert kept[-1] is one
