"""The store that the guide shows keeps the contract, on a real Redis."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.redis_server import redis_server

from rota.receiver import Begun, Delivery, MemoryStore

if TYPE_CHECKING:
    from collections.abc import Generator

GUIDE = Path(__file__).resolve().parents[3] / "docs/guides/receive.md"


@pytest.fixture(params=["memory", "guide"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Any]:
    if request.param == "memory":
        yield MemoryStore()
        return
    blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (code,) = (block for block in blocks if "class RedisStore" in block)
    shown: dict[str, Any] = {}
    exec(code, shown)
    with redis_server(tmp_path) as server:
        found = shown["RedisStore"](f"redis://127.0.0.1:{server.port}/0")
        yield found
        found._redis.close()
        shown["receiver"].store._redis.close()


def delivery(firing: str, token: str = "t", fence: int | None = None) -> Delivery:
    return Delivery(firing_id=firing, schedule_id="s", fence=fence, token=token)


def test_the_contract_of_a_store(store: Any) -> None:
    first = delivery("a", fence=7)
    assert store.begin(first) is Begun.STARTED
    assert store.begin(delivery("a", "u", 7)) is Begun.BUSY
    store.finish(first, ok=False)
    again = delivery("a", "v", 7)
    assert store.begin(again) is Begun.STARTED
    store.finish(first, ok=False)
    assert store.begin(delivery("a", "w", 7)) is Begun.BUSY
    store.finish(again, ok=True)
    assert store.begin(delivery("a", "x", 6)) is Begun.DUPLICATE
    assert store.begin(delivery("b", fence=6)) is Begun.STALE
    assert store.begin(delivery("c", fence=8)) is Begun.STARTED
    assert store.begin(delivery("d", fence=7)) is Begun.STALE
    assert store.begin(delivery("e")) is Begun.STARTED
