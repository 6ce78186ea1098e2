"""`rota serve` on an embedded database, and the commands beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
from typing import TYPE_CHECKING

import pytest
from tests.process.serving import Server, Target, eventually, serving, target
from tests.process.test_cli_program import run

from rota.cli.client import Client, RequestRefused
from rota.db import embedded
from rota.db.embedded import layout

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path


HEADERS = (
    *("idempotency-key", "rota-schedule-id", "rota-firing-id", "rota-scheduled-for"),
    *("rota-attempt", "rota-catch-up", "rota-fence"),
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    yield tmp_path
    await embedded.remove(_folder(tmp_path))


@pytest.fixture
def sink() -> Generator[Target]:
    with target() as found:
        yield found


def _folder(home: Path) -> Path:
    return home / ".local" / "share" / "rota"


def _add(server: Server, sink: Target, *more: str) -> dict[str, str]:
    added = server.rota("add", "ping", "every 2 seconds", f"{sink.url}/hook", "--json", *more)
    assert added.code == 0, added.err
    return added.json


def test_a_schedule_added_by_hand_is_called_and_accounted_for(home: Path, sink: Target) -> None:
    with serving(home) as server:
        made = _add(server, sink, "--payload", '{"team": "ops"}', "--tag", "blue")
        call = sink.next_call()
        assert call.path == "/hook"
        assert json.loads(call.body) == {"team": "ops"}
        assert [name for name in HEADERS if name not in call.headers] == []
        assert call.headers["rota-schedule-id"] == made["id"]
        assert call.headers["rota-attempt"] == "1"

        runs = eventually(lambda: server.rota("runs", "ping", "--json").json)
        done = eventually(
            lambda: server.rota("runs", "ping", "--status", "succeeded", "--json").json
        )
        assert call.headers["rota-firing-id"] in {each["id"] for each in done}
        assert {each["schedule_id"] for each in runs} == {made["id"]}
        assert "succeeded" in server.rota("runs", "ping").out

        why = server.rota("why", "ping", done[0]["scheduled_for"], "--json").json
        assert why["outcome"] == "succeeded"
        assert server.rota("why", "ping", done[0]["scheduled_for"]).out.startswith("It ran")
        audited = server.rota("audit", "ping", "--since", "1h", "--json")
        assert (audited.code, audited.json["schedules"], audited.json["unexplained"]) == (0, 1, 0)
        assert server.rota("audit").out.startswith("unexplained = 0 of ")
        assert server.stop() == 0
        assert not (_folder(home) / "url").exists()


def test_commands_find_the_server_and_its_files_are_the_owners_alone(
    home: Path, sink: Target
) -> None:
    with serving(home) as server:
        for name in ("url", "key"):
            mode = stat.S_IMODE((_folder(home) / name).stat().st_mode)
            assert mode == 0o600
        assert (_folder(home) / "url").read_text().strip() == server.url
        made = _add(server, sink)
        for name in ("ping", made["key"], made["id"]):
            assert server.rota("show", name, "--json").json["id"] == made["id"]
        listed = server.rota("list")
        assert "every 2 seconds" in listed.out
        unknown = server.rota("show", "pnig")
        assert (unknown.code, unknown.out) == (1, "")
        assert "did you mean 'ping'?" in unknown.err
        refused = server.rota("add", "bad", "0 0 30 2 *", sink.url)
        assert refused.code == 1
        assert "Invalid cron expression: expected a date that exists" in refused.err
        assert server.rota("add", "bad", "every day").code == 2
        server.rota("add", "pong", "every day", sink.url)
        few = server.rota("list", "-n", "1", "--json")
        assert [each["name"] for each in few.json] == ["pong"]
        assert "there are more" in few.err
        assert server.rota("delete", "pong").code == 0
        assert server.rota("delete", "ping").code == 0
        assert server.rota("list", "--json").json == []


def test_pause_resume_edit_and_trigger(home: Path, sink: Target) -> None:
    with serving(home) as server:
        added = server.rota("add", "ping", "0 0 1 1 *", f"{sink.url}/a", "--json")
        assert added.code == 0, added.err
        assert server.rota("pause", "ping", "--json").json["status"] == "paused"
        assert "ping is active" in server.rota("resume", "ping").out
        edited = server.rota("edit", "ping", "--target", f"{sink.url}/b", "--when", "1h", "--json")
        assert edited.json["target_url"] == f"{sink.url}/b"
        assert (edited.json["interval"], edited.json["cron_expr"]) == ("1h", None)
        # The key is what others know it by: it stays, and that is said.
        assert edited.json["key"] == added.json["key"] == "ping::cron:0 0 1 1 *:UTC"
        assert "The key stays 'ping::cron:0 0 1 1 *:UTC'" in edited.err
        assert server.rota("edit", "ping", "--priority", "7", "--json").err == ""
        past = ("--from", "2020-01-01 00:00", "--to", "2020-01-01T01:30")
        filled = server.rota("backfill", "ping", *past, "--json")
        assert (filled.code, filled.json["created"]) == (0, 0), filled.err
        fired = server.rota("trigger", "ping", "--payload", '{"by": "hand"}', "--json")
        assert (fired.code, fired.json["triggered_by"]) == (0, "manual")
        call = sink.next_call()
        assert (call.path, json.loads(call.body)) == ("/b", {"by": "hand"})
        assert call.headers["rota-firing-id"] == fired.json["id"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_lets_what_runs_come_to_its_end(
    home: Path, sink: Target, how: signal.Signals
) -> None:
    sink.answer_after = 3.0
    with serving(home) as server:
        server.rota("add", "slow", "0 0 1 1 *", sink.url)
        fired = server.rota("trigger", "slow", "--json").json
        sink.next_call()
        assert server.stop(how) == 0
    with serving(home) as server:
        runs = server.rota("runs", "slow", "--json").json
        assert [(each["id"], each["status"]) for each in runs] == [(fired["id"], "succeeded")]
    assert sink.all_calls() == []


def test_a_second_signal_ends_it_at_once_and_the_firing_is_not_lost(
    home: Path, sink: Target
) -> None:
    sink.answer_after = 8.0
    with serving(home) as server:
        server.rota("add", "slow", "0 0 1 1 *", sink.url)
        server.rota("trigger", "slow")
        sink.next_call()
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: server.get("/readyz")[0] != 200)
        assert server.stop() == 0
    sink.answer_after = 0.0
    with serving(home) as server:
        again = sink.next_call()
        assert int(again.headers["rota-attempt"]) > 1
        eventually(lambda: server.rota("runs", "slow", "--status", "succeeded", "--json").json)


def test_an_embedded_database_that_dies_is_brought_back(home: Path, sink: Target) -> None:
    with serving(home) as server:
        server.rota("add", "s", "0 0 1 1 *", sink.url)
        place = layout.find(_folder(home))
        assert place is not None
        pid = int((place.pgdata / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: server.rota("trigger", "s").code == 0, within=60)
        sink.next_call()
        assert server.get("/readyz")[0] == 200
        eventually(lambda: "database_back" in (home / "serve.log").read_text())
        assert server.stop() == 0
    assert "database_away" in (home / "serve.log").read_text()


def test_a_body_that_is_too_large_gets_its_answer_while_it_is_still_sent(home: Path) -> None:
    with serving(home) as server:
        body = {"payload": "x" * 10_000_000}
        with pytest.raises(RequestRefused) as refused:
            Client(server.url, (_folder(home) / "key").read_text().strip()).post(
                "/v1/schedules", body
            )
        assert refused.value.status == 413
        assert server.get("/readyz")[0] == 200


def test_a_port_in_use_is_a_sentence(home: Path) -> None:
    with serving(home) as server:
        port = server.url.rpartition(":")[2]
        other = home / "other"
        other.mkdir()
        shown = server.rota("serve", "--port", port, "--data-dir", str(other))
        assert shown.code == 1
        assert f"port: expected 127.0.0.1 port {port} to be free" in shown.err
        assert not any(other.iterdir())


def test_without_a_server_commands_say_how_to_start_one(tmp_path: Path) -> None:
    shown = run(tmp_path, "list")
    assert shown.code == 1
    assert "start one with `rota serve`" in shown.err
    away = run(tmp_path, "list", ROTA_URL="http://127.0.0.1:9", ROTA_API_KEY="rota_x_y")
    assert away.code == 1
    assert re.search(r"expected a server at http://127.0.0.1:9, got none", away.err)


def test_who_changed_a_schedule_is_told_also_when_it_is_deleted(home: Path, sink: Target) -> None:
    with serving(home) as server:
        made = _add(server, sink)
        assert server.rota("pause", "ping", "--reason", "Ana looks").code == 0
        ran = server.rota("trigger", "ping", "--json").json
        assert ran["triggered_by"] == "manual"
        told = server.rota("history", "ping", "--json").json
        assert [each["action"] for each in told] == ["triggered", "paused", "created"]
        assert {each["actor"].partition(":")[0] for each in told} == {"cli"}
        assert server.rota("delete", "ping").code == 0
        found = server.rota("history", "ping")
        assert "status_reason - → Ana looks" in found.out
        assert "deleted" in found.out
        why = server.rota("why", made["id"], "2090-01-01T00:00:00Z", "--json").json
        assert why["outcome"] in {"deleted", "not_a_slot"}
        assert server.rota("history", "nobodys").code == 1
