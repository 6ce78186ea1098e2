"""Pages of every list while rows come and go: what was there throughout is seen exactly once."""

from __future__ import annotations

import itertools
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, LiteralString, Protocol
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.api.conftest import Api, made_of
from tests.api.outcomes import vault

from rota import ids

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_VAULT = vault()
_DAY = datetime(2026, 11, 1, tzinfo=UTC)

# Few instants, so that many rows share one and the id must tell them apart.
_ENDED: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, triggered_by,
                         finished_at)
    SELECT $1, s.id, s.tenant_id, 1, $2, $3, 'schedule', $4 FROM schedules s WHERE s.id = $5
"""


class Rows(Protocol):
    """Rows that one list shows."""

    path: str

    async def add(self, api: Api, at: int) -> str:
        """A new one; `at` says where in the list, as far as that can be chosen. Its id."""
        ...

    async def remove(self, api: Api, id_: str) -> None: ...


class Schedules:
    path = "/v1/schedules"

    async def add(self, api: Api, at: int) -> str:
        return (await api.created(name=f"{at} {uuid4().hex}"))["id"]

    async def remove(self, api: Api, id_: str) -> None:
        assert (await api.delete(f"/v1/schedules/{id_}")).status_code == 204


class Keys:
    path = "/v1/keys"

    async def add(self, api: Api, at: int) -> str:
        return (await api.post("/v1/keys", {"scopes": ["read"], "name": str(at)})).json()["id"]

    async def remove(self, api: Api, id_: str) -> None:
        assert (await api.delete(f"/v1/keys/{id_}")).status_code == 204


class Tenants:
    path = "/v1/tenants"

    async def add(self, api: Api, at: int) -> str:
        return (await api.post("/v1/tenants", {"name": f"t{at} {uuid4().hex}"})).json()["id"]

    async def remove(self, api: Api, id_: str) -> None:
        assert (await api.delete(f"/v1/tenants/{id_}")).status_code == 204


class Secrets:
    path = "/v1/secrets"

    async def add(self, api: Api, at: int) -> str:
        name = f"s{at}_{uuid4().hex[:12]}"
        assert (await api.put(f"/v1/secrets/{name}", {"value": "x"})).status_code == 200
        return name

    async def remove(self, api: Api, id_: str) -> None:
        assert (await api.delete(f"/v1/secrets/{id_}")).status_code == 204


class Ended:
    """Firings that ended: of one schedule, dead, or in the log."""

    def __init__(self, path: str, schedule_id: str, status: str) -> None:
        self.path = path
        self._schedule = ids.from_text(ids.Kind.SCHEDULE, schedule_id)
        self._status = status

    async def add(self, api: Api, at: int) -> str:
        slot = _DAY + timedelta(minutes=at)
        id_ = uuid4()
        async with api.engine.db.transaction() as tx:
            finished = slot + timedelta(seconds=at % 2)
            await tx.execute(_ENDED, id_, slot, self._status, finished, self._schedule)
        return ids.to_text(ids.Kind.FIRING, id_)

    async def remove(self, api: Api, id_: str) -> None:
        async with api.engine.db.transaction() as tx:
            await tx.execute("DELETE FROM firings WHERE id = $1", _uuid(id_))


class Live(Ended):
    """The same list with live ones among them."""

    def __init__(self, path: str, schedule_id: str, status: str) -> None:
        super().__init__(path, schedule_id, status)
        self._text = schedule_id

    async def add(self, api: Api, at: int) -> str:
        if at % 2:
            return await super().add(api, at)
        answer = await api.post(f"/v1/schedules/{self._text}/trigger")
        return answer.json()["id"]

    async def remove(self, api: Api, id_: str) -> None:
        await super().remove(api, id_)
        async with api.engine.db.transaction() as tx:
            await tx.execute("DELETE FROM queue WHERE id = $1", _uuid(id_))


def _uuid(firing_id: str) -> UUID:
    return ids.from_text(ids.Kind.FIRING, firing_id)


async def _rows(api: Api, name: str) -> Rows:
    plain: dict[str, Rows] = {
        "schedules": Schedules(),
        "keys": Keys(),
        "tenants": Tenants(),
        "secrets": Secrets(),
    }
    if name in plain:
        return plain[name]
    fields = made_of(overlap_policy="allow")
    made = (await api.put("/v1/schedules/by-key/paged", fields)).json()["id"]
    return {
        "firings": Ended(f"/v1/schedules/{made}/firings", made, "succeeded"),
        "dead": Ended("/v1/dead", made, "dead"),
        "log": Ended("/v1/firings", made, "skipped"),
        "firings, live": Live(f"/v1/schedules/{made}/firings", made, "succeeded"),
        "log, live": Live("/v1/firings", made, "succeeded"),
    }[name]


_NOTHING: tuple[int, list[int], list[int]] = (1, [], [])

places = st.integers(0, 5)
steps = st.lists(
    st.tuples(
        st.integers(1, 4),  # the page's size
        st.lists(places, max_size=2),  # rows that come before the next page
        st.lists(st.integers(0, 30), max_size=2),  # rows that go
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize(
    "name",
    [
        *("schedules", "keys", "tenants", "secrets"),
        *("firings", "dead", "log", "firings, live", "log, live"),
    ],
)
@given(first=st.lists(places, min_size=1, max_size=10), script=steps)
@settings(
    max_examples=int(os.environ.get("ROTA_PAGING_EXAMPLES", "10")),
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_rows_that_come_and_go_neither_hide_nor_repeat_others(
    api: Api, name: str, first: list[int], script: list[tuple[int, list[int], list[int]]]
) -> None:
    object.__setattr__(api.engine, "vault", _VAULT)
    rows = await _rows(api, name)
    stays = {id_ async for page in _pages(api, rows.path, [1_000]) for id_ in page}
    throughout = [await rows.add(api, at) for at in first]
    came: list[str] = []
    seen: list[str] = []
    turns = iter([*script, *([_NOTHING] * 1_000)])
    async for page in _pages(api, rows.path, [size for size, _, _ in script]):
        seen += page
        _, comes, goes = next(turns)
        came += [await rows.add(api, at) for at in comes]
        for number in goes:
            # Also the very row that the cursor names.
            gone = [each for each in (*throughout, *came) if each in seen] or throughout
            if gone:
                await _remove(api, rows, gone[number % len(gone)], throughout, came)
    assert len(seen) == len(set(seen))
    assert stays | set(throughout) <= set(seen)
    for id_ in (*throughout, *came):
        await rows.remove(api, id_)


async def _remove(api: Api, rows: Rows, id_: str, *lists: list[str]) -> None:
    await rows.remove(api, id_)
    for each in lists:
        if id_ in each:
            each.remove(id_)


async def _pages(api: Api, path: str, sizes: list[int]) -> AsyncGenerator[list[str]]:
    """The ids on each page, until there is no more; the last size is that of the rest."""
    cursor: str | None = None
    for size in itertools.chain(sizes, itertools.repeat(sizes[-1])):
        query = {"limit": size} | ({} if cursor is None else {"cursor": cursor})
        answer = await api.get(path, **query)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert len(body["items"]) <= size
        cursor = body["next_cursor"]
        yield [each.get("id") or each["name"] for each in body["items"]]
        if cursor is None:
            return
