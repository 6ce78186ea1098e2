"""The embedded server lets nobody in without the password, and only its owner can read that."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.db.child import ask

from rota.db import Session, driver, embedded
from rota.db.embedded import binaries, layout, password, postmaster, process
from rota.errors import EmbeddedError, InvalidConfig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

FAST = {"fsync": "off"}
TRUST = "local all all trust\n"


@pytest.fixture
async def data_dir(tmp_path: Path) -> AsyncGenerator[Path]:
    folder = tmp_path / "data"
    yield folder
    await embedded.remove(folder)


def home_of(data_dir: Path) -> layout.Home:
    home = layout.find(data_dir)
    assert home is not None
    return home


def passfile_of(server: embedded.Embedded) -> Path:
    return Path(parse_qs(urlsplit(server.dsn).query)["passfile"][0])


def secret_of(server: embedded.Embedded) -> str:
    return passfile_of(server).read_text("ascii").strip().rpartition(":")[2]


def without_password(server: embedded.Embedded) -> str:
    return server.dsn.partition("&passfile=")[0]


async def is_refused(server: embedded.Embedded, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the socket alone is not enough."""
    with monkeypatch.context() as patch:
        patch.delenv("PGPASSWORD", raising=False)
        patch.setenv("PGPASSFILE", "/nonexistent")
        try:
            await ask(without_password(server), "SELECT 1")
        except InvalidConfig:
            return True
        return False


async def order(server: embedded.Embedded, statement: str) -> None:
    connection = await driver.connect(server.dsn, Session(application_name="rota tests"))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def files_with(secret: str, folder: Path) -> list[Path]:
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert len(files) > 100
    return [each for each in files if secret.encode() in each.read_bytes()]


def undo_settling(home: layout.Home) -> None:
    home.pgpass.rename(home.pgpass_draft)


def trust_everyone(home: layout.Home) -> None:
    """As clusters were made before there was a password."""
    (home.pgdata / "pg_hba.conf").write_text(TRUST)


async def test_the_socket_alone_lets_nobody_in(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        assert await is_refused(server, monkeypatch)
        wrong = without_password(server).replace("rota@", "rota:guess@")
        with pytest.raises(InvalidConfig, match="password authentication failed"):
            await ask(wrong, "SELECT 1")
        rules = await ask(
            server.dsn, "SELECT string_agg(DISTINCT auth_method, ' ') FROM pg_hba_file_rules"
        )
        assert rules == "reject scram-sha-256"


async def test_the_password_is_in_a_file_of_its_owner_and_nowhere_else(data_dir: Path) -> None:
    loud = {**FAST, "log_statement": "all", "log_min_messages": "debug1"}
    async with await embedded.start(data_dir, extra_settings=loud) as server:
        path, secret = passfile_of(server), secret_of(server)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_uid == os.geteuid()
        assert secret not in server.dsn
        assert len(secret) >= 43
    assert files_with(secret, home_of(data_dir).control) == [path]


async def test_a_password_in_the_environment_is_for_another_server(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "of another server")
    monkeypatch.setenv("PGPASSFILE", "/nonexistent")
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT 1") == 1


@pytest.mark.parametrize("runs", [False, True], ids=["stopped", "running"])
async def test_a_cluster_that_trusted_everyone_asks_for_a_password_from_its_next_start_on(
    data_dir: Path, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await embedded.start(data_dir, extra_settings=FAST)
    home = home_of(data_dir)
    await order(first, "CREATE TABLE public.kept ()")
    trust_everyone(home)
    if runs:
        await order(first, "SELECT pg_reload_conf()")
        while await is_refused(first, monkeypatch):
            pass
    else:
        await first.stop()
    home.pgpass.unlink()
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT to_regclass('public.kept') IS NOT NULL")
        assert await is_refused(server, monkeypatch)
    await first.stop()


@pytest.mark.parametrize("died", ["before the role", "before the reload", "before the end"])
async def test_a_change_to_passwords_that_was_cut_short_is_finished_by_the_next_start(
    data_dir: Path, died: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await embedded.start(data_dir, extra_settings=FAST)
    home = home_of(data_dir)
    secret = secret_of(first)
    if died != "before the end":
        hba = (home.pgdata / "pg_hba.conf").read_text()
        trust_everyone(home)
        await order(first, "SELECT pg_reload_conf()")
        while await is_refused(first, monkeypatch):
            pass
        if died == "before the role":
            await order(first, "ALTER ROLE rota PASSWORD NULL")
        else:
            (home.pgdata / "pg_hba.conf").write_text(hba)
    undo_settling(home)
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert secret_of(server) == secret
        assert passfile_of(server) == home.pgpass
        assert await ask(server.dsn, "SELECT 1") == 1
        assert await is_refused(server, monkeypatch)
    assert password.is_settled(home)
    await first.stop()


async def test_without_the_password_the_message_says_what_to_do_and_it_works(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await embedded.start(data_dir, extra_settings=FAST):
        home = home_of(data_dir)
    home.pgpass.unlink()
    with pytest.raises(EmbeddedError, match="back from a backup") as raised:
        await embedded.start(data_dir, extra_settings=FAST)
    assert "local all all trust" in str(raised.value)
    home.pgpass.unlink(missing_ok=True)
    trust_everyone(home)
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        assert await is_refused(server, monkeypatch)


async def test_a_person_connects_with_the_programs_of_postgresql(data_dir: Path) -> None:
    """As the guide says: PGPASSFILE names the file, and the folder of the socket is the host."""
    async with await embedded.start(data_dir, extra_settings=FAST):
        found = postmaster.read_pid_file(home_of(data_dir))
        assert found is not None
        done = await process.run(
            [binaries.find().program("pg_dump"), "-h", str(found.socket_dir), "-U", "rota", "rota"],
            account=process.own_account(),
            environment={"PGPASSFILE": str(home_of(data_dir).pgpass)},
        )
    assert done.returncode == 0, done.stderr
    assert "PostgreSQL database dump complete" in done.stdout
