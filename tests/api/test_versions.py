"""ETag and If-Match on edits."""

from __future__ import annotations

import pytest
from tests.api.conftest import Api, made_of, problem

NOBODYS = "/v1/schedules/sch_01ARZ3NDEKTSV4RRFFQ69G5FAV"


def _if(api: Api, tag: str) -> Api:
    return Api(api.http, api.engine, {**api.headers, "If-Match": tag})


async def test_every_answer_names_the_version(api: Api) -> None:
    made = await api.post("/v1/schedules", made_of())
    at = f"/v1/schedules/{made.json()['id']}"
    assert made.headers["etag"] == (await api.get(at)).headers["etag"] == '"v1"'
    assert (await api.patch(at, {"priority": 1})).headers["etag"] == '"v2"'
    put = await api.put("/v1/schedules/by-key/other", made_of(name="other"))
    assert put.headers["etag"] == '"v1"'


async def test_an_edit_of_the_version_it_was_made_for_is_taken(api: Api) -> None:
    at = f"/v1/schedules/{(await api.created())['id']}"
    assert (await _if(api, '"v1"').patch(at, {"priority": 1})).status_code == 200
    assert (await _if(api, '"v7", "v2"').patch(at, {"priority": 2})).status_code == 200
    assert (await _if(api, "*").patch(at, {"priority": 3})).status_code == 200
    assert (await _if(api, '"v4"').delete(at)).status_code == 204


@pytest.mark.parametrize("tag", ['"v1"', '"v3"', '"nonsense"', "v2", 'W/"v2"', ""])
async def test_an_edit_of_another_version_changes_nothing(api: Api, tag: str) -> None:
    made = await api.created(key="mine")
    at = f"/v1/schedules/{made['id']}"
    await api.patch(at, {"priority": 1})
    before = (await api.get(at)).json()
    problem(await _if(api, tag).patch(at, {"priority": 2}), 412)
    problem(await _if(api, tag).delete(at), 412)
    problem(await _if(api, tag).put("/v1/schedules/by-key/mine", made_of(priority=3)), 412)
    assert (await api.get(at)).json() == before


async def test_what_is_not_there_has_no_version(api: Api) -> None:
    problem(await _if(api, "*").patch(NOBODYS, {"priority": 2}), 404)
    problem(await _if(api, "*").put("/v1/schedules/by-key/none", made_of()), 412)
    assert await api.count() == 0
