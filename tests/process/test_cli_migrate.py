"""`rota migrate`, with the embedded server and with one that it is told of."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.process.test_cli_program import Result, run

from rota.db import embedded, migrate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ALL = [str(migration) for migration in migrate.known()]
UP_TO_DATE = "The database is up to date.\n"


@pytest.fixture
async def data_dir(tmp_path: Path) -> AsyncIterator[Path]:
    folder = tmp_path / "data"
    yield folder
    # As root the cluster may live outside of the folder, where nobody else would sweep it away.
    await embedded.remove(folder)


def test_the_embedded_database_is_made_and_brought_up_to_date(
    tmp_path: Path, data_dir: Path
) -> None:
    there = ("--data-dir", str(data_dir))
    pending = run(tmp_path, "migrate", "--check", *there)
    assert pending == Result(1, "".join(f"pending  {name}\n" for name in ALL), "")
    assert not data_dir.exists(), "looking must not make a database"

    applied = run(tmp_path, "migrate", *there)
    assert applied == Result(0, "".join(f"applied  {name}\n" for name in ALL), "")

    assert run(tmp_path, "migrate", *there) == Result(0, UP_TO_DATE, "")
    assert run(tmp_path, "migrate", "--check", *there) == Result(0, UP_TO_DATE, "")


def test_a_server_is_migrated_once_and_says_so_in_json(tmp_path: Path, empty_dsn: str) -> None:
    pending = run(tmp_path, "migrate", "--check", "--json", ROTA_DSN=empty_dsn)
    assert (pending.code, pending.json) == (1, {"pending": ALL})
    applied = run(tmp_path, "migrate", "--json", ROTA_DSN=empty_dsn)
    assert (applied.code, applied.json) == (0, {"applied": ALL})
    again = run(tmp_path, "migrate", "--json", "--dsn", empty_dsn)
    assert (again.code, again.json) == (0, {"applied": []})


async def test_many_at_once_apply_each_migration_once(tmp_path: Path, empty_dsn: str) -> None:
    results = await asyncio.gather(
        *(
            asyncio.to_thread(run, tmp_path, "migrate", "--json", ROTA_DSN=empty_dsn)
            for _ in range(3)
        )
    )
    assert [result.code for result in results] == [0, 0, 0]
    assert sorted(name for result in results for name in result.json["applied"]) == ALL


def test_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    shown = run(tmp_path, "migrate", "--dsn", "postgresql://ana:CANARY@127.0.0.1:1/rota")
    assert shown.code == 1
    assert shown.out == ""
    assert shown.err.startswith("Error: ")
    assert "Traceback" not in shown.err
    assert "CANARY" not in shown.err


def test_a_wrong_setting_is_found_before_anything_is_done(tmp_path: Path) -> None:
    shown = run(tmp_path, "migrate", ROTA_LEAD="soon")
    assert shown.code == 1
    assert "lead: expected a length of time" in shown.err
    assert not (tmp_path / ".local").exists()
