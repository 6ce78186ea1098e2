"""Cancelling, replaying and long work, through the real program."""

from __future__ import annotations

import json
import queue
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from tests.deadlines import Strain, patience
from tests.process.serving import Server, eventually, serving

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path


NEVER = "0 0 1 1 *"


@dataclass
class Seen:
    """A request, and whether its caller went away before the answer."""

    path: str
    headers: dict[str, str]
    arrived_at: float
    left: queue.Queue[float] = field(default_factory=queue.Queue)
    """When the caller went away."""


@dataclass
class Place:
    """A target: /hold answers nothing and notices when it is left, /async takes work on."""

    url: str
    requests: queue.Queue[Seen] = field(default_factory=queue.Queue)

    def next(self) -> Seen:
        return self.requests.get(timeout=patience(30))


def now() -> float:
    return time.monotonic()  # noqa: TID251 - outside of the program


@pytest.fixture
def place() -> Generator[Place]:
    with _serve() as made:
        yield made


@contextmanager
def _serve() -> Generator[Place]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.path, headers, now())
            made.requests.put(seen)
            if self.path == "/hold":
                self.connection.settimeout(60)
                if self.connection.recv(1) == b"":
                    seen.left.put(now())
                self.close_connection = True
                return
            self.send_response({"/async": 202, "/broken": 400}.get(self.path, 200))
            if self.path == "/async":
                self.send_header("Rota-Async", "true")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made = Place(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(tmp_path / ".local" / "share" / "rota")


def key_of(home: Path) -> str:
    return (home / ".local" / "share" / "rota" / "key").read_text().strip()


def post(url: str, body: Any = None, *, key: str | None = None) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    request = Request(url, data=json.dumps(body or {}).encode(), headers=headers, method="POST")
    with urlopen(request, timeout=patience(10)) as answer:
        return answer.status, json.load(answer)


def add(server: Server, url: str, *more: str) -> None:
    added = server.rota("add", "work", NEVER, url, *more)
    assert added.code == 0, added.err


def trigger(server: Server, key: str, schedule_id: str) -> dict[str, Any]:
    return post(f"{server.url}/v1/schedules/{schedule_id}/trigger", key=key)[1]


def firing(server: Server, key: str, id_: str) -> dict[str, Any]:
    status, found = server.get(f"/v1/firings/{id_}", key)
    assert status == 200
    return found


def when_it_is(server: Server, key: str, id_: str, status: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = firing(server, key, id_)
        return found if found["status"] == status else None

    return eventually(look)


def test_a_cancel_aborts_the_request_within_a_second_and_is_recorded(
    home: Path, place: Place
) -> None:
    with serving(home) as server:
        key = key_of(home)
        add(server, f"{place.url}/hold", "--timeout", "60")
        id_ = server.rota("trigger", "work", "--json").json["id"]
        seen = place.next()
        strain, asked_at = Strain(), now()
        status, answer = post(f"{server.url}/v1/firings/{id_}/cancel", {"reason": "no"}, key=key)
        assert (status, answer["status"]) == (202, "running")
        assert seen.left.get(timeout=patience(30)) - asked_at < 1.0 + strain.seconds
        ended = when_it_is(server, key, id_, "cancelled")
        assert now() - asked_at < 2.0 + strain.seconds
        assert (ended["reason"], ended["attempt"]) == ("no", 1)
        attempts = server.get(f"/v1/firings/{id_}/attempts", key)[1]["items"]
        assert [each["outcome"] for each in attempts] == ["cancelled"]
        assert attempts[0]["request"]["url"] == f"{place.url}/hold"
        late = server.rota("cancel", id_)
        assert late.code == 1
        assert "got one that is cancelled" in late.err


def test_cancel_previous_aborts_the_one_before_and_then_begins(home: Path, place: Place) -> None:
    with serving(home) as server:
        key = key_of(home)
        add(server, f"{place.url}/hold", "--timeout", "60", "--overlap", "cancel_previous")
        schedule_id = server.rota("show", "work", "--json").json["id"]
        first = trigger(server, key, schedule_id)
        seen = place.next()
        strain, asked_at = Strain(), now()
        second = trigger(server, key, schedule_id)
        assert second["status"] == "blocked"
        assert seen.left.get(timeout=patience(30)) - asked_at < 1.0 + strain.seconds
        following = place.next()
        assert following.headers["rota-firing-id"] == second["id"]
        ended = firing(server, key, first["id"])
        assert (ended["status"], ended["reason"]) == ("cancelled", "overlap")
        when_it_is(server, key, second["id"], "running")
        assert server.rota("cancel", second["id"], "--reason", "enough").code == 0
        assert when_it_is(server, key, second["id"], "cancelled")["reason"] == "enough"


def prepared(server: Server, key: str, schedule_id: str) -> dict[str, Any] | None:
    """The firing of a slot to come that is in the queue already."""
    for status in ("waiting", "running"):
        path = f"/v1/schedules/{schedule_id}/firings?status={status}&limit=1"
        for each in server.get(path, key)[1]["items"]:
            if each["triggered_by"] == "schedule" and each["started_at"] is None:
                return each
    return None


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def outcome(server: Server, key: str, id_: str) -> dict[str, Any] | None:
    """The firing, once it has ended. While a timer decides on its slot again there is none."""
    status, found = server.get(f"/v1/firings/{id_}", key)
    return found if status == 200 and found["finished_at"] else None


@pytest.mark.parametrize("policy", ["skip", "queue", "cancel_previous"])
def test_a_run_asked_for_just_before_a_slot_runs_and_so_does_the_slot(
    home: Path, place: Place, policy: str
) -> None:
    """A prepared slot is not running: the run is not skipped for it, nor the slot cancelled."""
    with serving(home) as server:
        key = key_of(home)
        assert server.rota("add", "work", "every 5s", place.url, "--overlap", policy).code == 0
        schedule_id = server.rota("show", "work", "--json").json["id"]
        tried = 0
        while tried < 3:
            slot = eventually(lambda: prepared(server, key, schedule_id))
            run = trigger(server, key, schedule_id)
            if at(run["scheduled_for"]) >= at(slot["scheduled_for"]):
                continue  # The slot has come in the meantime.
            tried += 1
            assert run["status"] in {"waiting", "blocked"}, run
            ended, came = (
                eventually(lambda id_=id_: outcome(server, key, id_))
                for id_ in (run["id"], slot["id"])
            )
            # On a slow machine the run may still be under way at the slot's instant.
            overlapped = at(ended["finished_at"]) >= at(slot["scheduled_for"])
            cancelled = overlapped and policy == "cancel_previous"
            assert ended["status"] in {"succeeded", "cancelled" if cancelled else ""}, ended
            skipped = overlapped and policy == "skip"
            assert came["status"] in {"succeeded", "skipped" if skipped else ""}, came
            if came["started_at"] is not None:
                first, second = sorted([ended, came], key=lambda each: at(each["started_at"]))
                assert at(first["finished_at"]) <= at(second["started_at"])


def test_a_target_takes_work_on_and_completes_it_over_http(home: Path, place: Place) -> None:
    """Point 8 from end to end: 202, the token, the callback, extend, complete."""
    with serving(home, ROTA_PUBLIC_URL="https://rota.example") as server:
        key = key_of(home)
        add(server, f"{place.url}/async", "--overlap", "skip")
        id_ = server.rota("trigger", "work", "--json").json["id"]
        seen = place.next()
        address = seen.headers["rota-callback"]
        assert address == f"https://rota.example/v1/firings/{id_}"
        token = seen.headers["rota-token"]
        address = address.replace("https://rota.example", server.url)

        def taken_on() -> bool:
            return firing(server, key, id_)["detached_until"] is not None

        eventually(taken_on)
        assert server.rota("trigger", "work", "--json").json["status"] == "skipped"
        _, extended = post(f"{address}/extend", {"token": token, "seconds": 86_400})
        assert extended["until"] > firing(server, key, id_)["scheduled_for"]
        _, done = post(f"{address}/complete", {"token": token, "result": {"rows": 12}})
        assert done["status"] == "succeeded"
        ended = firing(server, key, id_)
        assert (ended["status"], ended["result_excerpt"]) == ("succeeded", '{"rows":12}')
        attempts = server.get(f"/v1/firings/{id_}/attempts", key)[1]["items"]
        assert [each["outcome"] for each in attempts] == ["succeeded"]
        assert attempts[0]["request"]["headers"]["Rota-Token"] == "…"
        assert token not in (home / "serve.log").read_text("utf-8")


def test_dead_letters_are_listed_and_replayed_by_hand(home: Path, place: Place) -> None:
    with serving(home) as server:
        key = key_of(home)
        add(server, f"{place.url}/broken")
        assert server.rota("dead", "list").out.strip() == "No dead letters."
        for _ in range(2):
            id_ = server.rota("trigger", "work", "--json").json["id"]
            place.next()
            when_it_is(server, key, id_, "dead")
        listed = server.rota("dead", "list", "work", "--json").json
        assert [each["reason"] for each in listed] == ["HTTP 400", "HTTP 400"]
        assert "HTTP 400" in server.rota("dead", "list").out
        assert server.rota("edit", "work", "--target", f"{place.url}/ok").code == 0

        again = server.rota("dead", "replay", "--all", "--schedule", "work", "--json")
        assert again.out, again.err
        assert again.json["replayed"] == 2, again.err
        for replay in again.json["items"]:
            ended = when_it_is(server, key, replay, "succeeded")
            assert ended["replay_of"] in {each["id"] for each in listed}
        nothing = server.rota("dead", "replay", "--all")
        assert nothing.out.startswith("Nothing to replay")

        one = server.rota("replay", listed[0]["id"], "--json").json
        assert one["replay_of"] == listed[0]["id"]
        named = server.rota("dead", "replay", *(each["id"] for each in listed))
        assert named.out.strip() == "2 firings will run again."
        for arguments in ((), ("--all", listed[0]["id"])):
            assert server.rota("dead", "replay", *arguments).code == 2
