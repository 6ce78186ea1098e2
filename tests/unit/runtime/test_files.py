"""What a server leaves in its data folder."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from rota.runtime import files

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_the_owners_alone_and_read_back(tmp_path: Path) -> None:
    assert files.read(tmp_path, files.KEY) is None
    files.write(tmp_path, files.KEY, "rota_a_b")
    files.write(tmp_path, files.KEY, "rota_c_d")
    assert files.read(tmp_path, files.KEY) == "rota_c_d"
    assert stat.S_IMODE((tmp_path / files.KEY).stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [files.KEY]


def test_only_what_is_still_ours_is_forgotten(tmp_path: Path) -> None:
    files.write(tmp_path, files.URL, "http://one")
    files.forget(tmp_path, files.URL, "http://two")
    assert files.read(tmp_path, files.URL) == "http://one"
    files.forget(tmp_path, files.URL, "http://one")
    assert files.read(tmp_path, files.URL) is None
    files.forget(tmp_path, files.URL, "http://one")
