"""The examples of the guides are taken as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.declared import NOW

from rota.cli.declare import documents, wanted
from rota.library.importers.crontab import entries
from rota.library.importers.crontab.entries import Target

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "guides"


def _blocks(page: str, language: str) -> list[str]:
    text = (GUIDES / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", _blocks("declare-schedules.md", "yaml"))
def test_a_file_of_the_guide_can_be_applied(text: str) -> None:
    problems: list[Any] = []
    found = documents.of_text(text, "guide", "guide", problems)
    read = documents.Read(tuple(each for each, _ in found), tuple(problems))
    morning, cleanup = wanted.read(read, now=NOW)
    assert morning.definition.headers == {"X-Team": "ops"}
    assert (cleanup.definition.timezone, cleanup.enabled) == ("America/New_York", False)


@pytest.mark.parametrize("text", _blocks("from-crontab.md", "crontab"))
def test_the_crontab_of_the_guide_is_taken_whole(text: str) -> None:
    read = entries.read(text, owner="guide", target=Target(), now=NOW)
    assert (read.refused, read.notes) == ([], [])
    assert [each["name"] for each in read.entries] == ["Nightly sync", "acme.example/tick"]
