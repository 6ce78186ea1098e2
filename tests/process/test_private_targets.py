"""A server on a database of its own calls nothing private unless it is told to (S1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.process.serving import Server, eventually, serving, target
from tests.process.test_cli_program import run

from rota.tenants import keys

if TYPE_CHECKING:
    from pathlib import Path


ADMIN = keys.new().text
CLOSED = {"ROTA_ADMIN_KEY": ADMIN, "ROTA_ALLOW_PRIVATE_TARGETS": ""}


def _beside(server: Server) -> dict[str, str]:
    return {"ROTA_URL": server.url, "ROTA_API_KEY": ADMIN}


def test_a_private_target_is_refused_when_it_is_written(tmp_path: Path, dsn: str) -> None:
    with target() as sink, serving(tmp_path, "--dsn", dsn, **CLOSED) as server:
        added = run(tmp_path, "add", "s", "0 0 1 1 *", sink.url, **_beside(server))
        assert added.code != 0
        assert "the address 127.0.0.1 is loopback; ROTA_ALLOW_PRIVATE_TARGETS=1" in added.err
        assert sink.all_calls() == []


def test_a_worker_that_is_not_told_calls_nothing_private(tmp_path: Path, dsn: str) -> None:
    """The API's machine may be told something else than the worker's."""
    api, rest = tmp_path / "api", tmp_path / "rest"
    api.mkdir()
    rest.mkdir()
    with target() as sink, serving(api, "--dsn", dsn, "--role", "api", ROTA_ADMIN_KEY=ADMIN) as web:
        url = sink.url.replace("127.0.0.1", "localhost")
        made = run(
            *(api, "add", "s", "0 0 1 1 *", url, "--attempts", "1", "--json"), **_beside(web)
        )
        assert made.code == 0, made.err
        run(api, "trigger", "s", **_beside(web))
        with serving(rest, "--dsn", dsn, **CLOSED):
            path = f"/v1/schedules/{made.json['id']}/firings"

            def dead() -> dict[str, Any] | None:
                items: list[dict[str, Any]] = web.get(path, ADMIN)[1]["items"]
                return next((each for each in items if each["status"] == "dead"), None)

            firing = eventually(dead)
        assert sink.all_calls() == []
    assert "localhost is this machine" in firing["result_excerpt"]


def test_on_an_embedded_server_private_targets_are_for_the_operators_tenant(tmp_path: Path) -> None:
    with target() as sink, serving(tmp_path) as server:
        ours = server.rota("add", "ours", "0 0 1 1 *", sink.url)
        assert ours.code == 0, ours.err
        assert server.rota("tenant", "add", "beta").code == 0
        key = server.rota("key", "new", "--tenant", "beta", "--scope", "write").out.strip()
        for url in (sink.url, "http://localhost:1/", "http://[::1]:1/"):
            theirs = server.rota("add", "theirs", "0 0 1 1 *", url, ROTA_API_KEY=key)
            assert theirs.code != 0
            assert "was not found, or may not be called here" in theirs.err
            assert "loopback" not in theirs.err
        # A name is judged when it is called: nobody can tell what it leads to from what is said.
        made = server.rota(
            *("add", "named", "0 0 1 1 *", "http://no-such-host.invalid/", "--attempts", "1"),
            ROTA_API_KEY=key,
        )
        assert made.code == 0, made.err
        server.rota("trigger", "named", ROTA_API_KEY=key)

        def dead() -> list[dict[str, Any]] | None:
            runs = server.rota("runs", "named", "--status", "dead", "--json", ROTA_API_KEY=key)
            return runs.json or None

        (run_,) = eventually(dead)
        assert run_["result_excerpt"] == "the target was not found, or may not be called here"
        assert sink.all_calls() == []
