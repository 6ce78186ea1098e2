"""`rota serve` with streams and Celery: the real program, a real Redis, a real Celery worker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.celery_worker import celery_worker
from tests.process.serving import Server, eventually, serving
from tests.redis_server import RedisServer, redis_server

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path


PASSWORD = "CANARY-broker"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


@pytest.fixture
def redis(tmp_path: Path) -> Generator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    with redis_server(folder, password=PASSWORD) as server:
        yield server


def _add(server: Server, *arguments: str) -> dict[str, Any]:
    added = server.rota("add", *arguments, "--json")
    assert added.code == 0, added.err
    return added.json


def _succeeded(server: Server, name: str) -> dict[str, Any]:
    runs = eventually(lambda: server.rota("runs", name, "--status", "succeeded", "--json").json)
    assert len(runs) == 1
    return runs[0]


def test_a_stream_with_a_password_gets_an_entry_for_a_run(home: Path, redis: RedisServer) -> None:
    stream = f"redis://:${{secrets.REDIS}}@127.0.0.1:{redis.port}/jobs"
    with serving(home) as server:
        assert server.rota("secret", "set", "REDIS", "--value", PASSWORD).code == 0
        made = _add(server, "feed", "0 0 1 1 *", "--stream", stream, "--payload", '{"a": 1}')
        assert (made["stream"], made["target_url"]) == (stream, None)
        fired = server.rota("trigger", "feed", "--json").json
        run = _succeeded(server, "feed")
        (entry,) = redis.entries("jobs")
        assert (run["id"], entry["firing_id"]) == (fired["id"], fired["id"])
        assert run["result_excerpt"] == entry["id"]
        assert json.loads(entry["payload"]) == {"a": 1}
        assert "fence" not in entry
        assert server.stop() == 0
    assert PASSWORD not in (home / "serve.log").read_text("utf-8")


def test_a_celery_task_is_run_by_a_worker_that_knows_nothing_of_rota(
    home: Path, redis: RedisServer
) -> None:
    broker = f"redis://:{PASSWORD}@127.0.0.1:{redis.port}/0"
    with (
        celery_worker(home, broker, queues="mail") as celery,
        serving(home, ROTA_CELERY_BROKER_URL=broker) as server,
    ):
        arguments = ("--celery-task", "proj.tasks.add", "--queue", "mail", "--payload", "[2, 3]")
        made = _add(server, "sum", "0 0 1 1 *", *arguments)
        assert (made["celery_task"], made["queue"]) == ("proj.tasks.add", "mail")
        fired = server.rota("trigger", "sum", "--json").json
        assert _succeeded(server, "sum")["id"] == fired["id"]
        (done,) = eventually(celery.done)
        assert (done["id"], done["args"], done["queue"]) == (fired["id"], [2, 3], "mail")
        shown = server.rota("config", "check", "--json", ROTA_CELERY_BROKER_URL=broker)
        assert PASSWORD not in shown.out + shown.err
        assert server.stop() == 0
    assert PASSWORD not in (home / "serve.log").read_text("utf-8")


def test_without_a_broker_the_run_waits_for_a_worker_that_has_one(
    home: Path, redis: RedisServer
) -> None:
    broker = f"redis://:{PASSWORD}@127.0.0.1:{redis.port}/0"
    with serving(home) as server:
        _add(server, "sum", "0 0 1 1 *", "--celery-task", "proj.tasks.add")
        fired = server.rota("trigger", "sum", "--json").json
        (run,) = server.rota("runs", "sum", "--json").json
        assert (run["id"], run["status"], run["attempt"]) == (fired["id"], "waiting", 0)
        assert server.stop() == 0
    with serving(home, ROTA_CELERY_BROKER_URL=broker) as server:
        assert _succeeded(server, "sum")["id"] == fired["id"]
        two = server.rota("add", "both", "every day", "https://a.example", "--celery-task", "t")
        assert two.code == 2
        assert "one of them only" in two.err
