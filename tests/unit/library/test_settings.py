"""What `Rota(…)` is told, and what is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota import config as configuration
from rota.errors import InvalidConfig
from rota.library.settings import Given, read_queues, read_roles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ROTA_DSN", "ROTA_ROLES", "ROTA_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_a_program_fires_and_works_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Given().read({}).roles == ("scheduler", "worker")
    assert Given(roles=()).read({}).roles == ()
    monkeypatch.setenv("ROTA_ROLES", "worker")
    assert Given().read({}).roles == ("worker",)
    assert Given(roles=("scheduler",)).read({}).roles == ("scheduler",)


def test_what_the_program_says_goes_before_the_environment_and_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "here.toml"
    file.write_text('dsn = "postgresql://file/x"\nlead = "3s"\n')
    given = Given(config=str(file))
    assert given.read({}).dsn == "postgresql://file/x"
    monkeypatch.setenv("ROTA_DSN", "postgresql://environment/x")
    assert given.read({}).dsn == "postgresql://environment/x"
    ours = Given(config=file, settings={"dsn": "postgresql://program/x"}).read({"port": 1234})
    assert (ours.dsn, ours.port) == ("postgresql://program/x", 1234)
    assert ours.lead.total_seconds() == 3


def test_a_config_is_taken_as_it_is() -> None:
    config = configuration.load({"dsn": "postgresql://made/x", "roles": "worker"}, {"HOME": "/x"})
    assert Given(config=config).read({}) == config
    with pytest.raises(InvalidConfig, match="expected it alone, got lead beside it"):
        Given(config=config, settings={"lead": "1s"}).check()
    with pytest.raises(InvalidConfig, match=r"port: .*\(argument port\)"):
        Given(config=config).read({"port": 99_999})


def test_roles_and_queues_are_texts_or_lists() -> None:
    assert read_roles("worker,api") == ("api", "worker")
    assert read_roles(()) == ()
    assert read_roles(None) is None
    assert read_queues(["a", "b", "a"]) == ("a", "b")
    assert read_queues("a, b") == ("a", "b")
    with pytest.raises(InvalidConfig, match="queues: expected the names"):
        read_queues([])
