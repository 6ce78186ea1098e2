"""Without the extras: what needs them says what to install, and nothing else needs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.unit.workers import made

import rota
from rota.targets import OPEN
from rota.tenants.tenant import Tenant
from rota.workers.delivery.celery import CeleryCaller
from rota.workers.delivery.redis_streams import StreamCaller

if TYPE_CHECKING:
    from types import ModuleType
    from uuid import UUID

    import pytest

SOURCE = Path(rota.__file__).parents[1]
STREAM: dict[str, Any] = {"target_url": None, "stream": "redis://127.0.0.1:1/x"}
CELERY: dict[str, Any] = {"target_url": None, "celery_task": "t", "queue": "celery"}


def _forget(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    nothing: ModuleType | None = None
    monkeypatch.setitem(sys.modules, package, nothing)  # pyright: ignore[reportArgumentType]


async def test_a_stream_without_redis_is_a_permanent_failure_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "rota.workers.delivery.redis_pools", raising=False)
    _forget(monkeypatch, "redis.asyncio")
    async with StreamCaller(OPEN) as streams:
        reply = await streams.prepare(made.claim(), made.schedule(**STREAM)).send()
    assert reply.permanent
    assert "pip install 'rota[redis]'" in (reply.error or "")


async def test_a_celery_task_without_celery_is_a_permanent_failure_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _forget(monkeypatch, "celery")

    async def operators(id_: UUID) -> Tenant:
        return Tenant(id=id_, name="default", created_at=made.SLOT)

    with CeleryCaller("redis://127.0.0.1:1/0", find_tenant=operators) as celery:
        reply = await celery.prepare(made.claim(), made.schedule(**CELERY)).send()
    assert reply.permanent
    assert "pip install 'rota[celery]'" in (reply.error or "")


def test_a_server_starts_without_either() -> None:
    code = "import sys, rota.runtime.serve; print('redis' in sys.modules, 'celery' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_receiver_needs_the_standard_library_only() -> None:
    """It goes into other people's programs."""
    code = (
        "import sys, rota.receiver; "
        "names = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names; "
        "print(*sorted(name for name in names if name[0] != '_'))"
    )
    program = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}",
    ]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rota"]
