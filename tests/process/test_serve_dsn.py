"""`rota serve` on a database that it is told of: keys, roles, sharing, outages."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.announced import first_admin_key, sign_in_link
from tests.process.serving import Server, eventually, serving, target
from tests.process.test_cli_program import run

from rota.tenants import keys
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Postgres

    from rota.db import Database


ADMIN = keys.new().text


def _folder(path: Path, name: str) -> Path:
    folder = path / name
    folder.mkdir()
    return folder


def _beside(server: Server) -> dict[str, str]:
    return {"ROTA_URL": server.url, "ROTA_API_KEY": ADMIN}


def test_the_first_key_is_in_a_file_and_works(tmp_path: Path, dsn: str) -> None:
    with serving(tmp_path, "--dsn", dsn) as server:
        key = eventually(lambda: first_admin_key(server.lines))
        assert server.get("/v1/schedules")[0] == 401
        assert server.get("/v1/schedules", key) == (200, {"items": [], "next_cursor": None})
        eventually(lambda: sign_in_link(server.lines))
        left = {each.name for each in tmp_path.glob(".local/share/rota/*")}
        assert left == {"first-admin-key", "sign-in-link"}
    # The link is no more when the server is; the key stays until its owner removes it.
    assert [each.name for each in tmp_path.glob(".local/share/rota/*")] == ["first-admin-key"]
    with serving(tmp_path, "--dsn", dsn) as server:
        assert server.get("/v1/schedules", key)[0] == 200
        server.stop()
        assert not [each for each in server.lines if "admin key" in each]


def test_without_a_folder_for_the_first_key_the_message_says_what_to_do(
    tmp_path: Path, dsn: str
) -> None:
    (tmp_path / "file").touch()
    with serving(tmp_path, "--dsn", dsn, "--data-dir", str(tmp_path / "file")) as server:
        line = eventually(lambda: next((each for each in server.lines if "admin key" in each), ""))
        assert "ROTA_ADMIN_KEY" in line
        assert "rota_" not in line
    with serving(tmp_path, "--dsn", dsn, ROTA_ADMIN_KEY=ADMIN) as server:
        assert server.get("/v1/schedules", ADMIN)[0] == 200


async def test_two_servers_share_the_work_and_fire_nothing_twice(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    async with db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))
    one, two = _folder(tmp_path, "one"), _folder(tmp_path, "two")
    with (
        target() as sink,
        serving(one, "--dsn", dsn, ROTA_ADMIN_KEY=ADMIN) as first,
        serving(two, "--dsn", dsn, ROTA_ADMIN_KEY=ADMIN) as second,
    ):
        for number in range(8):
            added = run(one, "add", f"s{number}", "every 1 second", sink.url, **_beside(first))
            assert added.code == 0, added.err
        calls = [sink.next_call() for _ in range(40)]
        assert first.stop() == 0
        calls += [sink.next_call() for _ in range(24)]
        assert second.stop() == 0
        calls += sink.all_calls()
    counts = Counter(call.headers["rota-firing-id"] for call in calls)
    assert [each for each, count in counts.items() if count > 1] == []
    async with db.transaction() as tx:
        rows = await tx.fetch("SELECT status, count(*) FROM firings GROUP BY status")
        shards = await tx.fetch_value("SELECT max(fence) FROM leases")
    done = {row["status"]: row["count"] for row in rows}
    assert done.get("succeeded") == len(counts)
    # While shards and claims change hands a slot may find the one before it still waiting.
    assert set(done) <= {"succeeded", "skipped"}
    # Shards went from the first to the second: it took its share, and the rest at the end.
    assert shards >= 2


async def test_roles_can_be_split_over_processes(tmp_path: Path, dsn: str) -> None:
    api, rest = _folder(tmp_path, "api"), _folder(tmp_path, "rest")
    with target() as sink, serving(api, "--dsn", dsn, "--role", "api", ROTA_ADMIN_KEY=ADMIN) as web:
        added = run(api, "add", "s", "0 0 1 1 *", sink.url, "--json", **_beside(web))
        assert added.code == 0, added.err
        run(api, "trigger", "s", **_beside(web))
        assert sink.all_calls() == []
        with serving(rest, "--dsn", dsn, ROTA_ADMIN_KEY=ADMIN):
            assert sink.next_call().headers["rota-schedule-id"] == added.json["id"]


async def test_an_outage_of_the_database_ends_nothing_and_passes(
    tmp_path: Path, dsn: str, postgres: Postgres
) -> None:
    name = dsn.partition("?")[0].rpartition("/")[2]
    with target() as sink, serving(tmp_path, "--dsn", dsn, ROTA_ADMIN_KEY=ADMIN) as server:
        run(tmp_path, "add", "s", "0 0 1 1 *", sink.url, **_beside(server))
        assert server.get("/readyz")[0] == 200
        await postgres.order(
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
        )
        eventually(lambda: server.get("/readyz")[0] == 503)
        assert server.get("/healthz")[0] == 200
        assert run(tmp_path, "list", **_beside(server)).code == 1
        await postgres.order(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        eventually(lambda: server.get("/readyz")[0] == 200)
        eventually(lambda: run(tmp_path, "trigger", "s", **_beside(server)).code == 0)
        sink.next_call()
        assert server.stop() == 0


def test_a_database_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    shown = run(tmp_path, "serve", "--dsn", "postgresql://nobody@127.0.0.1:9/none", "--port", "0")
    assert shown.code == 1
    assert "Traceback" not in shown.err
    assert "no session with the database" in shown.err
