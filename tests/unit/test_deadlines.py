"""How long tests wait: at least a while, longer on a busy machine; and how strained it was."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import deadlines

if TYPE_CHECKING:
    from pathlib import Path

LOADS = st.floats(0, 200)
SECONDS = st.floats(0.01, 1_000)


@given(LOADS, SECONDS)
def test_patience_grows_with_the_load_and_is_never_short(load: float, seconds: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
        waited = deadlines.patience(seconds)
        assert waited >= max(seconds, deadlines.LEAST)
        assert waited >= seconds * load / (os.cpu_count() or 1)


def test_the_strain_is_what_the_kernel_says_programs_have_waited_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "_PRESSURE", tmp_path)
    _account(tmp_path, cpu=5_000_000, io=0, memory=0)
    strain = deadlines.Strain()
    assert strain.seconds == pytest.approx(0, abs=0.5)
    _account(tmp_path, cpu=7_000_000, io=1_000_000, memory=500_000)
    assert strain.seconds == pytest.approx(3.5, abs=0.5)


@pytest.mark.parametrize(("load", "all_of_it"), [(0.0, False), (1_000.0, True)])
def test_without_the_kernels_account_a_crowded_machine_was_short_all_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: float, all_of_it: bool
) -> None:
    monkeypatch.setattr(deadlines, "_PRESSURE", tmp_path / "none")
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    began = time.perf_counter()
    strain = deadlines.Strain()
    while time.perf_counter() - began < 0.01:
        pass
    assert (strain.seconds > 0) is all_of_it


def _account(folder: Path, **totals: int) -> None:
    for name, total in totals.items():
        line = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"
        (folder / name).write_text(line + line.replace("some", "full"), "ascii")
