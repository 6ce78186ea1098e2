"""Engine and web process of a server: whatever becomes of one, the other does what it should."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from tests.deadlines import patience
from tests.hostile import site as on
from tests.process.serving import Server, eventually, is_alive, target

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.process.serving import Target


@pytest.fixture
def sink() -> Generator[Target]:
    with target() as found:
        yield found


@pytest.fixture
async def place(dsn: str) -> str:
    await on.allow_every_second(dsn)
    return dsn


def _log(home: Path) -> str:
    return (home / "serve.log").read_text("utf-8")


def _port(server: Server) -> int:
    return int(server.url.rpartition(":")[2])


def _can_be_bound(port: int) -> bool:
    with socket.socket() as mine:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            mine.bind(("127.0.0.1", port))
            mine.listen()
        except OSError:
            return False
        return True


def test_a_web_process_that_is_killed_comes_back_and_firing_goes_on(
    tmp_path: Path, place: str, sink: Target
) -> None:
    with on.site(tmp_path, place) as server:
        on.every_second(server, sink)
        first = server.web_pid()
        os.kill(first, signal.SIGKILL)
        on.goes_on(sink)
        eventually(lambda: server.web_pid() != first, within=on.WITHIN)
        second = server.web_pid()
        eventually(lambda: server.get("/readyz")[0] == 200, within=on.WITHIN)
        # By the same address, and so by the same socket.
        assert server.get("/v1/schedules", on.ADMIN)[0] == 200
        assert "web_process_ended how=SIGKILL" in _log(tmp_path)
        assert "web_process_back" in _log(tmp_path)
        assert server.stop() == 0
        assert not is_alive(second)
    assert "Traceback" not in _log(tmp_path)
    assert sum("Rota is at" in each for each in server.lines) == 1


def test_when_the_engine_is_killed_its_web_process_is_gone_and_the_port_free(
    tmp_path: Path, place: str
) -> None:
    with on.site(tmp_path, place) as server:
        web = server.web_pid()
        # Even one that stands still.
        os.kill(web, signal.SIGSTOP)
        server.process.kill()
        server.process.wait()
        eventually(lambda: not is_alive(web), within=on.WITHIN)
        eventually(lambda: _can_be_bound(_port(server)), within=on.WITHIN)


def test_a_stop_answers_those_who_wait_then_finishes_what_runs_then_ends_both(
    tmp_path: Path, place: str, sink: Target
) -> None:
    sink.answer_after = 4.0
    with on.site(tmp_path, place) as server:
        web = server.web_pid()
        made = on.post(
            server,
            "/v1/schedules",
            {"name": "slow", "cron_expr": "0 0 1 1 *", "target_url": sink.url},
        )
        on.post(server, f"/v1/schedules/{made['id']}/trigger", {})
        sink.next_call(within=on.WITHIN)
        with on.in_background(on.post, server, "/v1/queues/mine/claim", {"wait": 30}) as answers:
            eventually(lambda: "rota_web_connections 2" in _metrics(server), within=on.WITHIN)
            server.process.send_signal(signal.SIGTERM)
            detail = eventually(lambda: _not_ready(server), within=on.WITHIN)
            assert detail == "stopping"
            assert is_alive(server.process.pid)
        assert answers == [{"items": []}]
        assert server.process.wait(timeout=patience(60)) == 0
        assert not is_alive(web)
        assert _can_be_bound(_port(server))
    assert "Traceback" not in _log(tmp_path)


def _metrics(server: Server) -> str:
    with urlopen(server.url + "/metrics", timeout=patience(30)) as answer:
        return answer.read().decode()


def _not_ready(server: Server) -> Any:
    try:
        with urlopen(server.url + "/readyz", timeout=patience(10)):
            return None
    except OSError as error:
        body = getattr(error, "read", lambda: b"")().decode()
        return "stopping" if "stopping" in body else body


def test_ctrl_c_in_a_terminal_is_one_order_and_no_traceback(tmp_path: Path, place: str) -> None:
    with on.site(tmp_path, place) as server:
        web = server.web_pid()
        os.killpg(server.process.pid, signal.SIGINT)
        assert server.process.wait(timeout=patience(60)) == 0
        assert not is_alive(web)
    assert "Traceback" not in _log(tmp_path)
    assert _log(tmp_path).count("leases_resigned") == 1


def test_a_web_process_that_stands_still_does_not_hold_up_a_stop(
    tmp_path: Path, place: str, sink: Target
) -> None:
    with on.site(tmp_path, place) as server:
        on.every_second(server, sink)
        web = server.web_pid()
        os.kill(web, signal.SIGSTOP)
        on.goes_on(sink)
        assert server.stop() == 0
        assert not is_alive(web)


def test_figures_are_the_engines_and_without_it_the_web_process_has_its_own(
    tmp_path: Path, place: str, sink: Target
) -> None:
    with on.site(tmp_path, place) as server:
        on.every_second(server, sink)
        figures = eventually(lambda: _figures(server, without="rota_slots_fired_total 0.0"))
        assert "rota_engine_up 1.0" in figures
        assert 'rota_database_connections{pool="api",state="most"} 4.0' in figures
        assert 'rota_database_connections{pool="engine",state="most"} 4.0' in figures
        assert 'rota_database_connections{pool="scheduling",state="most"} 2.0' in figures
        families = [line for line in figures.splitlines() if line.startswith("# TYPE ")]
        assert len(families) == len(set(families))
        server.process.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: _figures(server, without="rota_engine_up 1.0"))
        finally:
            server.process.send_signal(signal.SIGCONT)
        eventually(lambda: _figures(server, without="rota_engine_up 0.0"))


def _figures(server: Server, *, without: str) -> str | None:
    found = _metrics(server)
    return None if without in found else found


def test_no_secret_is_in_the_arguments_of_a_process(tmp_path: Path, place: str) -> None:
    with on.site(tmp_path, place) as server:
        arguments = Path(f"/proc/{server.web_pid()}/cmdline").read_bytes()
        assert place.encode() not in arguments
        assert on.ADMIN.encode() not in arguments


def test_what_lies_in_the_current_folder_is_not_imported(tmp_path: Path, place: str) -> None:
    for name in ("litestar", "uvicorn", "rota"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the folder')")
    # `python -m` itself looks there; the program `rota`, as it is installed, does not.
    with on.site(tmp_path, place, PYTHONSAFEPATH="1") as server:
        assert server.get("/readyz")[0] == 200


PROGRAM = """
import sys
from rota import Rota

print("imported", flush=True)
rota = Rota(sys.argv[1], admin_key=sys.argv[2])
rota.run(api=True, port=0)
"""


def test_a_program_with_an_api_has_a_web_process_that_does_not_import_it(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-u", "program.py", place, on.ADMIN]
    variables = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        command,
        env=variables,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while "Rota is at " not in "".join(lines):
            line = process.stdout.readline()
            assert line, lines
            lines.append(line)
        url = lines[-1].split("Rota is at ")[1].split()[0]
        server = Server(process, tmp_path, url, lines)
        assert server.get("/v1/schedules", on.ADMIN)[0] == 200
        web = server.web_pid()
        assert server.stop() == 0
        assert not is_alive(web)
        lines += process.stdout.readlines()
    assert [line for line in lines if "imported" in line] == ["imported\n"]
    assert "Traceback" not in "".join(lines)
