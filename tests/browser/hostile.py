"""Text that wants to be markup, put into every field that a page shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.process.serving import eventually

from rota.db import Database

if TYPE_CHECKING:
    from tests.browser.house import House

OUTSIDE = "http://outside.invalid"
# In pieces that fit a name each.
CORPUS = (
    """<script>alert("rota")</script>"><img src=x onerror=alert(2)>'><svg onload=alert(3)>""",
    f"</title></textarea></pre></svg><script src={OUTSIDE}/x.js></script><base href={OUTSIDE}/>",
    f"<img src={OUTSIDE}/a.png><meta http-equiv=refresh content=0;url={OUTSIDE}/><iframe srcdoc=x>",
    f"""" autofocus onfocus=alert(6) style="background:url({OUTSIDE}/b)" x='--><!--{{{{7*7}}}}""",
)
WHOLE = " ".join(CORPUS)
WORD = 'alert("rota")'
"""What a page that shows the first of them shows."""

# Whatever the corpus would have made of a page, were it read as markup.
ELEMENTS = """
    [onerror], [onload], [onfocus], [style], iframe, base, meta[http-equiv], style,
    script:not([src^="/static/"]), img:not([src^="/static/"]), form:not([action^="/"]),
    [src*="outside"], [action*="outside"], [href^="javascript:"]
"""


def fill(house: House) -> str:
    """Schedules whose every field is hostile, whose target is too; the id of a firing of them."""
    answer = {"Content-Type": "text/html", "X-Evil": WHOLE}
    house.target.said["evil"] = 200, answer, WHOLE.encode()
    house.target.said["dead"] = 500, answer, json.dumps({WHOLE: [WHOLE]}).encode()
    for name in ("closed", "spoiled"):
        house.client.put_calendar(name, weekdays=["sunday"], description=WHOLE)
    house.client.put_secret("TOKEN", WHOLE)
    house.client.create_channel("hooks", f"https{OUTSIDE[4:]}/<b>")
    for number, text in enumerate(CORPUS):
        house.client.create_schedule(_fields(house, number, text))
    fired = [
        house.client.trigger(each).id
        for each in house.client.list_schedules()
        if each.target_url is not None
    ]
    assert fired
    eventually(lambda: all(house.client.firing(each).finished_at for each in fired), within=60)
    return fired[-1]


def _fields(house: House, number: int, text: str) -> dict[str, Any]:
    url = f"{house.target.url}/said/{'dead' if number % 2 else 'evil'}"
    return {
        "name": text[:200],
        "key": f"evil-{number}",
        "description": WHOLE,
        "tags": [text[:50]],
        "text": "every day at 3am",
        "target_url": url,
        "headers": {"X-Evil": text},
        "payload": {text: [WHOLE]},
        "max_attempts": 1,
    }


async def spoil(house: House) -> None:
    """What the API would refuse, written past it: also what should not be there does no harm."""
    async with await Database.open(house.dsn) as db, db.transaction() as tx:
        for statement in _SPOILED:
            await tx.execute(statement, WHOLE)


_SPOILED = (
    "UPDATE schedules SET status = 'paused', status_reason = $1 WHERE key = 'evil-3'",
    "UPDATE schedules SET key = key || $1, tags = ARRAY[$1]",
    "UPDATE firings SET reason = $1, result_excerpt = $1",
    "UPDATE attempts SET error = $1",
    "UPDATE calendars SET name = $1 WHERE name = 'spoiled'",
    "UPDATE channels SET name = $1, shown = $1, last_error = $1, tags = ARRAY[$1]",
    "UPDATE secrets SET name = $1",
    "UPDATE api_keys SET name = $1",
    "UPDATE nodes SET host = $1, version = $1",
    """INSERT INTO circuits (host, failures, opened_at, open_until, last_error)
       VALUES ($1, 30, now(), now() + interval '1 hour', $1)""",
    """INSERT INTO alerts (id, tenant_id, kind, subject, detail)
       SELECT gen_random_uuid(), id, 'dead', $1, $1 FROM tenants""",
    """INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), $1)""",
)
