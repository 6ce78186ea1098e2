"""Processes that share an embedded server, and are killed."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.child import Child, ask, tell, until

from rota.db import embedded
from rota.db.embedded import layout, postmaster
from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

SHORT = timedelta(milliseconds=2)


@pytest.fixture
async def data_dir(tmp_path: Path) -> AsyncGenerator[Path]:
    folder = tmp_path / "data"
    yield folder
    await embedded.remove(folder)


def running_pid(data_dir: Path) -> int | None:
    """The running postmaster's number."""
    home = layout.find(data_dir)
    if home is None:
        return None
    found = postmaster.read_pid_file(home)
    return found.pid if found is not None and postmaster.is_postmaster(found.pid, home) else None


async def test_a_server_whose_owner_was_killed_is_adopted(data_dir: Path) -> None:
    owner = Child.begin(data_dir)
    await ask(owner.ready(), "CREATE TABLE public.kept ()")
    pid = running_pid(data_dir)
    assert pid is not None
    owner.kill()
    assert running_pid(data_dir) == pid

    heir = Child.begin(data_dir)
    assert await ask(heir.ready(), "SELECT to_regclass('public.kept') IS NOT NULL")
    assert running_pid(data_dir) == pid
    heir.leave()
    assert running_pid(data_dir) is None


async def test_the_last_one_out_stops_the_server(data_dir: Path) -> None:
    first = Child.begin(data_dir)
    first.ready()
    second = Child.begin(data_dir)
    dsn = second.ready()
    pid = running_pid(data_dir)
    first.leave()
    assert running_pid(data_dir) == pid
    assert await ask(dsn, "SELECT 1") == 1
    second.leave()
    assert running_pid(data_dir) is None


async def test_a_killed_user_does_not_count(data_dir: Path) -> None:
    killed = Child.begin(data_dir)
    killed.ready()
    other = Child.begin(data_dir)
    other.ready()
    killed.kill()
    other.leave()
    assert running_pid(data_dir) is None


async def test_processes_that_start_at_once_get_one_server(data_dir: Path) -> None:
    children = [Child.begin(data_dir) for _ in range(4)]
    assert len({child.ready() for child in children}) == 1
    for child in children[1:]:
        child.leave()
    assert running_pid(data_dir) is not None
    children[0].leave()
    assert running_pid(data_dir) is None


async def test_a_kill_while_the_cluster_is_made_is_harmless(data_dir: Path) -> None:
    def is_made() -> bool:
        home = layout.find(data_dir)
        return home is not None and any(home.server.glob("pgdata.new-*/global"))

    for _ in range(2):
        child = Child.begin(data_dir)
        await until(is_made, pause=SHORT)
        child.kill()
        home = layout.find(data_dir)
        assert home is not None
        assert not home.pgdata.exists()
    assert await tell(data_dir, "SELECT 1") == 1
    assert running_pid(data_dir) is None


async def test_a_kill_while_the_server_starts_is_harmless(data_dir: Path) -> None:
    assert await tell(data_dir, "SELECT 1") == 1
    child = Child.begin(data_dir)
    await until(lambda: running_pid(data_dir) is not None, pause=SHORT)
    child.kill()
    assert await tell(data_dir, "SELECT 1") == 1
    assert running_pid(data_dir) is None


async def test_what_reaches_the_terminal_of_the_owner_does_not_reach_the_server(
    data_dir: Path,
) -> None:
    """Ctrl-C must leave the server to an owner that wants to finish its work."""
    owner = Child.begin(data_dir)
    dsn = owner.ready()
    pid = running_pid(data_dir)
    assert pid is not None
    assert os.getsid(pid) != os.getsid(owner.process.pid)
    owner.kill_group()
    assert running_pid(data_dir) == pid
    assert await ask(dsn, "SELECT 1") == 1


async def test_a_cluster_is_not_removed_while_another_process_uses_it(data_dir: Path) -> None:
    user = Child.begin(data_dir)
    dsn = user.ready()
    with pytest.raises(EmbeddedError, match="expected nobody to use"):
        await embedded.remove(data_dir)
    assert await ask(dsn, "SELECT 1") == 1
    user.leave()
