"""`rota doctor`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import tzdata
from tests.process.test_cli_program import Result, run

from rota.db import embedded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def data_dir(tmp_path: Path) -> AsyncIterator[Path]:
    folder = tmp_path / "data"
    yield folder
    # As root the cluster may live outside of the folder, where nobody else would sweep it away.
    await embedded.remove(folder)


def _checks(shown: Result) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in shown.json["checks"]}


def test_a_machine_without_a_database_yet_is_well_and_stays_untouched(tmp_path: Path) -> None:
    shown = run(tmp_path, "doctor", "--json")
    assert shown.code == 0
    assert shown.json["ok"] is True
    checks = _checks(shown)
    assert checks["tzdata"]["found"] == tzdata.IANA_VERSION
    assert checks["data folder"]["found"].endswith("(not made yet)")
    assert "not made yet" in checks["database"]["found"]
    assert list(tmp_path.iterdir()) == []


def test_an_embedded_database_is_looked_at(tmp_path: Path, data_dir: Path) -> None:
    there = ("--data-dir", str(data_dir))
    assert run(tmp_path, "migrate", *there).code == 0
    shown = run(tmp_path, "doctor", *there)
    assert shown.code == 0
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert lines[0].split() == ["check", "found", "advice"]
    # Nobody serves: worth knowing, and no fault.
    warned = {line.split()[1] for line in lines[1:] if line.startswith("warn ")}
    assert warned == {"nodes", "leases"}
    assert all(line.startswith(("ok ", "warn ")) for line in lines[1:])
    for words in ("PostgreSQL 18", "clock offset", "migrations", "data folder", "disk"):
        assert words in shown.out


def test_what_is_unwell_fails_with_advice(tmp_path: Path, empty_dsn: str) -> None:
    shown = run(tmp_path, "doctor", "--json", ROTA_DSN=empty_dsn)
    assert shown.code == 1
    assert shown.json["ok"] is False
    migrations = _checks(shown)["migrations"]
    assert migrations["ok"] is False
    assert migrations["advice"] == "run rota migrate"
    assert "data folder" not in _checks(shown), "with a server, the data folder is not used"


def test_no_database_is_a_failed_check_without_the_password(tmp_path: Path) -> None:
    shown = run(tmp_path, "doctor", "--json", "--dsn", "postgresql://ana:CANARY@127.0.0.1:1/rota")
    assert shown.code == 1
    assert _checks(shown)["database"]["ok"] is False
    assert "CANARY" not in shown.out + shown.err


def test_every_problem_of_the_configuration_is_a_failed_check(tmp_path: Path) -> None:
    shown = run(tmp_path, "doctor", ROTA_LEAD="soon", ROTA_PROT="1")
    assert shown.code == 1
    failed = [line for line in shown.out.splitlines() if line.startswith("FAIL")]
    assert len(failed) == 2
    assert "did you mean ROTA_PORT?" in shown.out


def test_a_data_folder_that_others_can_read_is_unwell(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o755)
    check = _checks(run(tmp_path, "doctor", "--json", "--data-dir", str(folder)))["data folder"]
    assert check["ok"] is False
    assert check["advice"] == f"chmod go-rw {folder}"


def test_a_data_folder_that_is_a_file_is_unwell(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.touch(mode=0o700)
    check = _checks(run(tmp_path, "doctor", "--json", "--data-dir", str(file)))["data folder"]
    assert check["ok"] is False
    assert check["found"] == f"{file} is not a folder"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_data_folder_that_is_not_ours_is_unwell(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    shown = run(tmp_path, "doctor", "--json", "--data-dir", str(locked / "data"))
    assert _checks(shown)["data folder"]["ok"] is False
