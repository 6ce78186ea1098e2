"""What the documents show is run, so that it stays true."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.deadlines import patience

import rota

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|`]+) \|$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:]+)\)")


def _blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, text)
        for page in PAGES
        for found, text in _BLOCK.findall(page.read_text("utf-8"))
        if found == language
    ]


@pytest.mark.parametrize(("page", "code"), _blocks("python"))
def test_python_on_a_page_runs(page: str, code: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=patience(60))


def _rota_lines() -> list[str]:
    lines = [line for _, text in _blocks("sh") for line in text.splitlines()]
    return [line for line in lines if line.startswith(".venv/bin/rota ")]


@pytest.mark.parametrize("line", _rota_lines())
def test_a_command_on_a_page_succeeds(line: str) -> None:
    _, *arguments = shlex.split(line, comments=True)
    program = [sys.executable, "-m", "rota", *arguments]
    done = subprocess.run(
        program, check=False, capture_output=True, text=True, timeout=patience(60)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


_SAID = _ROW.findall((ROOT / "docs/guides/say-when.md").read_text("utf-8"))


@pytest.mark.parametrize(("text", "meaning"), _SAID)
def test_a_text_in_the_guide_means_what_stands_beside_it(text: str, meaning: str) -> None:
    assert rota.explain(text) == meaning


def test_the_pages_have_code_commands_and_examples_to_run() -> None:
    assert _blocks("python")
    assert len(_rota_lines()) >= 3
    assert len(_SAID) >= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
