"""`rota plan`, `apply`, `export` and `import crontab`, beside a real server."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.deadlines import patience
from tests.process.serving import Server, serving
from tests.process.test_cli_program import Result, _environment, _read, run

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

JOBS = """
defaults:
  timezone: America/New_York
  tags: [ops]
schedules:
  - key: morning
    name: Morning report
    cron_expr: 0 9 * * MON-FRI
    target_url: https://acme.example/hooks/morning
    payload: {team: ops, since: 2027-01-01, deep: [1, 2.5, {on: true}]}
  - key: sweep
    interval: 5m
    target_url: https://acme.example/hooks/sweep
    headers: {X-Team: ops}
    enabled: false
  - name: cleanup
    text: every day at 6pm
    job_type: cleanup
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """One server for all of these: each test keeps to an owner of its own."""
    with serving(tmp_path_factory.mktemp("apply"), ROTA_HTTPS_ONLY="1") as server:
        yield server


def with_input(home: Path, text: str, *arguments: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "rota", *arguments],
        env=_environment(home, {}),
        cwd=home,
        capture_output=True,
        input=text,
        encoding="utf-8",
        timeout=patience(100),
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def write(server: Server, name: str, content: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    (server.home / name).write_text(text, "utf-8")
    return name


def owned(server: Server, owner: str) -> dict[str, dict[str, Any]]:
    listed = server.rota("list", "--tag", f"applied:{owner}", "-n", "5000", "--json").json
    return {each["key"]: each for each in listed}


def task(key: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "cron_expr": "0 9 * * *", "job_type": "x", **more}


def test_a_file_is_planned_applied_changed_and_pruned(server: Server) -> None:
    file = write(server, "jobs.yaml", JOBS)
    planned = server.rota("plan", file)
    assert planned.code == 0
    assert "+ morning  (jobs.yaml:6: schedules[0] (morning))" in planned.out
    assert "fires newly: 5 times (America/New_York): " in planned.out
    assert planned.out.endswith("3 to create, 0 to change, 0 unchanged.\n")
    assert owned(server, "jobs") == {}  # A plan changes nothing.
    assert server.rota("plan", file, "--exit-code").code == 1

    applied = server.rota("apply", file)
    assert (applied.code, applied.err) == (0, "")
    assert applied.out == "3 created, 0 changed, 0 deleted, 0 unchanged.\n"
    made = owned(server, "jobs")
    assert made["morning"]["payload"]["since"] == "2027-01-01"
    assert made["morning"]["tags"] == ["ops", "applied:jobs"]
    assert made["sweep"]["status"] == "paused"
    assert set(made) == {"morning", "sweep", "cleanup::cron:0 18 * * *:America/New_York"}

    again = server.rota("apply", file)
    assert again.out == "Nothing to do: 3 schedules as declared.\n"
    assert owned(server, "jobs") == made  # Not even a version is another.
    assert server.rota("plan", file, "--exit-code", "--prune").code == 0

    fewer = JOBS.split("  - name: cleanup", maxsplit=1)[0].replace("0 9 * *", "0 10 * *")
    write(server, file, fewer)
    plan = server.rota("plan", file, "--prune", "--json", "--days", "14").json
    (change,) = plan["change"]
    assert change["fields"] == {"cron_expr": {"old": "0 9 * * MON-FRI", "new": "0 10 * * MON-FRI"}}
    assert change["slots"]["appear"]["count"] == change["slots"]["disappear"]["count"] == 10
    assert change["slots"]["appear"]["slots"][0]["local"][11:] in (
        "10:00:00-05:00",
        "10:00:00-04:00",
    )
    assert [each["name"] for each in plan["delete"]] == ["cleanup"]
    assert plan["unchanged"] == ["sweep"]

    left = server.rota("apply", file)
    assert "1 schedule no longer in the files still run: cleanup" in left.err
    pruned = server.rota("apply", file, "--prune", "--json").json
    assert (pruned["changed"], pruned["deleted"]) == (0, 1)
    assert set(owned(server, "jobs")) == {"morning", "sweep"}


def test_a_plan_leaves_out_what_the_servers_calendars_do(server: Server) -> None:
    put = server.rota("calendar", "set", "office", "--weekday", "sat", "--weekday", "sun")
    assert put.code == 0, put.err
    file = write(server, "office.json", {"schedules": [task("office", calendar="office")]})
    plan = server.rota("plan", file, "--json", "--days", "14").json
    (made,) = plan["create"]
    assert made["slots"]["appear"]["count"] == 10
    assert server.rota("apply", file).code == 0
    write(server, file, {"schedules": [task("office")]})
    (change,) = server.rota("plan", file, "--json", "--days", "14").json["change"]
    assert change["slots"]["appear"]["count"] == 4
    assert change["slots"]["disappear"]["count"] == 0


def test_pruning_leaves_what_the_file_does_not_own(server: Server) -> None:
    write(server, "a.json", {"schedules": [task("mine")]})
    write(server, "b.json", {"schedules": [task("theirs")]})
    assert server.rota("apply", "a.json", "b.json").code == 0
    server.rota("add", "nobodys", "every hour", "https://acme.example/x", "--key", "nobodys")
    write(server, "a.json", {"schedules": []})
    assert server.rota("apply", "a.json", "--prune", "--json").json["deleted"] == 1
    assert set(owned(server, "b")) == {"theirs"}
    assert server.rota("show", "nobodys").code == 0


def test_what_another_file_owns_is_not_changed(server: Server) -> None:
    write(server, "first.json", {"schedules": [task("shared")]})
    write(server, "second.json", {"schedules": [task("shared", priority=1), task("fresh")]})
    server.rota("apply", "first.json")
    refused = server.rota("apply", "second.json")
    assert refused.code == 1
    assert 'schedules[0] (shared): it is owned by "first", not by "second"' in refused.err
    assert owned(server, "second") == {}  # Nothing of it, also not what was free.
    assert server.rota("apply", "second.json", "--take-over").code == 0
    assert set(owned(server, "second")) == {"shared", "fresh"}


def test_all_problems_are_found_before_anything_is_changed(server: Server) -> None:
    good = write(server, "good.json", {"schedules": [task("good")]})
    bad = (
        "schedules:\n- {key: bad, cron: x, job_type: y}\n- {key: good, interval: 5m, job_type: y}\n"
    )
    shown = server.rota("apply", good, write(server, "bad.yaml", bad))
    assert shown.code == 1
    assert (
        'bad.yaml:2: schedules[0] (bad): Unknown field "cron": did you mean cron_expr?' in shown.err
    )
    assert "bad.yaml:3: schedules[1] (good): expected each key once" in shown.err
    assert owned(server, "good") == {}
    assert "Traceback" not in shown.err


def test_an_export_is_taken_back_with_nothing_to_do(server: Server) -> None:
    entries = [
        task("e1", payload={"on": ["~", "12:30", 1e20, None, "a\nb"]}, tags=["x", "y"]),
        task("e2", enabled=False, timezone="Europe/Madrid", backoff_delay="2h", misfire_cap=3),
        {"key": "e3", "run_at": "2090-01-01T09:00:00Z", "target_url": "https://acme.example/x"},
        {"key": "e4", "rrule": "FREQ=DAILY", "celery_task": "t", "start_at": "2030-01-01T00:00Z"},
        {
            "key": "e5",
            "interval": 90,
            "target_url": "https://a.example",
            "success_on": ["2xx", 404],
        },
    ]
    write(server, "exported.json", {"schedules": entries})
    assert server.rota("apply", "exported.json").code == 0
    whole = server.rota("export")
    assert (whole.code, whole.err) == (0, "")
    for text in (whole.out, server.rota("export", "--json").out):
        back = with_input(server.home, text, "plan", "-", "--exit-code", "--prune")
        assert back.code == 0, back.out + back.err
        assert back.out.startswith("Nothing to do: ")
    tagged = server.rota("export", "--tag", "x", "--json").json
    assert tagged == [{"owner": "exported", "schedules": [{**entries[0], "tags": ["x", "y"]}]}]


def test_many_are_made_in_chunks_with_a_bar_and_a_second_time_nothing(server: Server) -> None:
    entries = [task(f"many-{n}", payload={"n": n}) for n in range(1_500)]
    file = write(server, "many.json", {"schedules": entries})
    assert "Applying" in _on_a_terminal(server.home, "apply", file)
    assert len(owned(server, "many")) == 1_500
    assert server.rota("apply", file).out == "Nothing to do: 1,500 schedules as declared.\n"


@pytest.mark.parametrize("count", [1, 30])
def test_what_only_the_server_refuses_is_reported_and_nothing_is_removed(
    server: Server, count: int
) -> None:
    file = write(server, f"policy{count}.json", {"schedules": [task(f"old{count}")]})
    server.rota("apply", file)
    plain = {"key": f"plain{count}", "interval": "5m", "target_url": "http://acme.example/x"}
    fine = [task(f"fine{count}-{n}") for n in range(count)]
    write(server, file, {"schedules": [*fine, plain]})
    shown = server.rota("apply", file, "--prune")
    assert shown.code == 1
    assert f"Refused: {file}: schedules[{count}] (plain{count}): Invalid target_url" in shown.err
    assert f"{count} created, 0 changed, 0 deleted, 0 unchanged, 1 refused." in shown.out
    assert f"old{count}" in owned(server, f"policy{count}")


def test_pruning_needs_an_owner(server: Server) -> None:
    document = json.dumps({"schedules": [task("stdin")]})
    shown = with_input(server.home, document, "apply", "-", "--prune")
    assert shown.code == 2
    assert "expected files with an owner" in shown.err
    assert with_input(server.home, document, "apply", "-", "--prune", "--owner", "me").code == 0
    assert set(owned(server, "me")) == {"stdin"}


def test_a_number_in_a_payload_takes_the_place_of_true(server: Server) -> None:
    """Equal to Python, and not to whoever gets it."""
    for value in (True, 1):
        file = write(server, "kinds.json", {"schedules": [task("kinds", payload={"on": value})]})
        assert server.rota("apply", file).code == 0
        assert owned(server, "kinds")["kinds"]["payload"]["on"] is value
        assert server.rota("plan", file, "--exit-code").code == 0


def test_a_tenant_that_may_not_create_so_fast_is_waited_for(server: Server) -> None:
    """TN2."""
    assert server.rota("tenant", "add", "slow", "--create-rate", "2").code == 0
    key = server.rota("key", "new", "--tenant", "slow").out.strip()
    file = write(server, "slow.json", {"schedules": [task(f"slow-{n}") for n in range(5)]})
    applied = server.rota("apply", file, ROTA_API_KEY=key)
    assert applied.out == "5 created, 0 changed, 0 deleted, 0 unchanged.\n"
    assert "The server asks to wait 1 s." in applied.err


CRONTAB = """\
MAILTO=ops@example.com
CRON_TZ=Europe/Madrid
# Nightly backup
0 2 * * * /srv/backup.sh %yes
@reboot /srv/start
*/10 * * * * curl -fsS -d 'a=1' https://acme.example/ten >/dev/null 2>&1
"""


def test_a_crontab_is_imported_and_each_line_that_is_not_is_reported(server: Server) -> None:
    file = write(server, "web1.crontab", CRONTAB)
    dry = server.rota("import", "crontab", file, "--task", "run-command")
    assert dry.code == 1
    assert "web1.crontab:5: not taken: @reboot is not a time" in dry.err
    assert "2 taken, 1 not taken." in dry.err
    assert owned(server, "web1") == {}

    taken = with_input(server.home, dry.out, "apply", "-")
    assert taken.out == "2 created, 0 changed, 0 deleted, 0 unchanged.\n"
    made = {each["name"]: each for each in owned(server, "web1").values()}
    backup, ten = made["Nightly backup"], made["acme.example/ten"]
    assert backup["timezone"] == "Europe/Madrid"
    assert backup["payload"] == {
        "command": "/srv/backup.sh",
        "stdin": "yes\n",
        "environment": {"MAILTO": "ops@example.com"},
    }
    assert (ten["target_url"], ten["method"], ten["body"]) == (
        "https://acme.example/ten",
        "POST",
        "a=1",
    )
    again = server.rota("import", "crontab", file, "--task", "run-command", "--apply")
    assert again.code == 1  # One line is still not taken.
    assert again.out == "Nothing to do: 2 schedules as declared.\n"

    write(server, file, CRONTAB.replace("0 2 * * *", "30 3 * * *").replace("@reboot", "# @reboot"))
    moved = server.rota("import", "crontab", file, "--task", "run-command", "--apply", "--json")
    assert moved.code == 0
    assert (moved.json["changed"], moved.json["created"]) == (1, 0)


def test_a_crontab_needs_no_server_to_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "tab").write_text("@daily wget -q https://acme.example/x\n")
    shown = run(tmp_path, "import", "crontab", "tab", "--json")
    assert shown.code == 0
    assert shown.json["schedules"][0]["target_url"] == "https://acme.example/x"
    assert "times are taken as UTC" in shown.err


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    for command in (("apply", "none.yaml"), ("plan", "none.yaml"), ("import", "crontab", "none")):
        shown = run(tmp_path, *command, ROTA_URL="http://127.0.0.1:9", ROTA_API_KEY="rota_x_y")
        assert shown.code == 1
        assert "no such file" in shown.err
        assert "Traceback" not in shown.err


def _on_a_terminal(home: Path, *arguments: str) -> str:
    """All that the program shows on a terminal, its messages too."""
    ours, theirs = pty.openpty()
    environment = _environment(home, {"TERM": "xterm-256color", "COLUMNS": "200"})
    command = [sys.executable, "-m", "rota", *arguments]
    with subprocess.Popen(command, env=environment, cwd=home, stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return shown.decode()
