"""Any number of schedules, in requests that the server takes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.sdk.client import bulk
from rota.sdk.client.bulk import Bulk, chunks
from rota.sdk.client.call import REQUEST_KEY
from rota.sdk.client.schedules import BulkItem, BulkResult


@given(st.lists(st.integers(0, 60), max_size=60))
def test_chunks_hold_every_item_once_in_order_and_none_is_too_large(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "MAX_ITEMS", 7)
        patch.setattr(bulk, "MAX_BYTES", 200)
        items = [{"n": at, "x": "x" * size} for at, size in enumerate(sizes)]
        made = list(chunks(items))
    assert [msgspec.json.decode(each) for chunk in made for each in chunk] == items
    for chunk in made:
        assert 1 <= len(chunk) <= 7
        assert len(chunk) == 1 or sum(len(bytes(each)) for each in chunk) <= 200


def test_items_are_asked_for_as_they_are_sent() -> None:
    taken: list[int] = []

    def many() -> Any:
        for at in range(25_000):
            taken.append(at)
            yield {"name": f"n-{at}"}

    calls = Bulk(items=many()).calls()
    first = next(calls)
    assert len(taken) == 10_001
    assert len(msgspec.json.decode(first.body or b"")["items"]) == 10_000


def test_each_request_has_a_key_of_its_own_and_the_same_each_time() -> None:
    items = [{"name": "n"}] * 10_001
    keys = [
        [call.headers[REQUEST_KEY] for call in Bulk(items=items, request_key="k").calls()]
        for _ in range(2)
    ]
    assert keys == [["k.0", "k.1"]] * 2


def test_results_are_counted_on_and_an_error_says_what_came_before() -> None:
    work = Bulk(items=[])
    answer = BulkResult(created=1, failed=1, items=(BulkItem(index=0), BulkItem(index=1)))
    work.add(answer)
    work.add(answer)
    assert [each.index for each in work.result.items] == [0, 1, 2, 3]
    assert (work.result.created, work.result.failed) == (2, 2)
    error = ValueError("no")
    work.explain(error)
    assert "2 of the 4 schedules before had been created" in error.__notes__[0]
