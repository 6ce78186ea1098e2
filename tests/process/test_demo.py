"""`rota demo`: it starts by itself, shows firings, and leaves nothing behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.process.test_cli_program import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(180)


def test_it_shows_firings_and_ends_by_itself(tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    shown = run(tmp_path, "demo", "--seconds", "8", "--port", "0", TMPDIR=str(scratch))
    assert shown.code == 0, shown.err
    assert re.search(r"Rota is at http://127\.0\.0\.1:\d+", shown.out)
    assert re.search(r"signs you in once is in this file: /\S+/sign-in-link", shown.out)
    assert "token=" not in shown.out
    assert len(re.findall(r"heartbeat +succeeded +HTTP 200", shown.out)) >= 2
    assert re.search(r"flaky +retrying +HTTP 503", shown.out)
    assert "Traceback" not in shown.err
    assert list(scratch.iterdir()) == []
    # Nothing of it in the user's own folder either.
    assert not (tmp_path / ".local").exists()


def test_a_database_of_a_real_server_is_never_touched(tmp_path: Path) -> None:
    shown = run(
        tmp_path, "demo", "--seconds", "1", "--port", "0", ROTA_DSN="postgresql://x@127.0.0.1:9/x"
    )
    assert shown.code == 0, shown.err
