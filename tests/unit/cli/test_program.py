"""What all commands have in common: JSON, exit codes, hints and completion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from rota.cli.app import app
from rota.errors import RotaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: They run until they are stopped, and what they print is a log.
ENDLESS = {"serve", "demo", "worker"}


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from commands(each, *path, name)


ALL = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_every_command_has_help_and_json(path: tuple[str, ...], command: Any) -> None:
    """AP: `--json` everywhere but on what never ends."""
    options = {option for parameter in command.params for option in parameter.opts}
    assert ("--json" in options) != (path[-1] in ENDLESS)
    assert (command.help or "").strip().endswith((".", ")"))


def run(*arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code and all that was printed, as `rota` would have it."""
    result = CliRunner().invoke(app, arguments, prog_name="rota", env=environment)
    if isinstance(result.exception, RotaError):
        # What `main` makes of it.
        return 1, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, "rota "),
        (["explain", "every 5 minutes"], 0, "5 minutes"),
        (["next", "0 9 * * *", "--json"], 0, "["),
        (["lst"], 2, "Did you mean 'list'"),
        (["dead", "lst"], 2, "Did you mean 'list'"),
        (["list", "--tga", "x"], 2, "--tag"),
        (["show"], 2, "NAME"),
        (["pause"], 2, "expected a NAME, or --all"),
        (["runs", "x", "-n", "0"], 2, "-n"),
        (["explain", "not a time at all"], 1, ""),
        (["list"], 1, "none runs on"),
        (["plan", "/no/such/file.yaml"], 1, ""),
    ],
)
def test_the_exit_code_says_whose_fault_it_is(
    arguments: list[str], code: int, words: str, tmp_path: Path
) -> None:
    """0 for done, 1 for what failed, 2 for what was typed wrongly."""
    try:
        found, printed = run(*arguments, ROTA_DATA_DIR=str(tmp_path))
    except OSError as error:
        found, printed = 1, str(error)  # as `main` has it
    assert found == code, printed
    assert words in printed


def test_completion_is_offered_for_bash(monkeypatch: pytest.MonkeyPatch) -> None:
    # Which shell it is, is otherwise seen from the processes around: in a test there may be none.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    code, script = run("--show-completion", "bash")
    assert code == 0
    assert "complete -o default -F _rota_completion rota" in script


def test_completion_knows_commands_and_says_nothing_when_no_server_is_there(
    tmp_path: Path,
) -> None:
    def completed(words: str) -> list[str]:
        code, printed = run(
            ROTA_DATA_DIR=str(tmp_path),
            _ROTA_COMPLETE="complete_bash",
            COMP_WORDS=f"rota {words}",
            COMP_CWORD=str(len(words.split(" "))),
        )
        assert code == 0
        return printed.split()

    assert "resume" in completed("res")
    assert completed("show inv") == []
    assert completed("list --tag t") == []


def test_json_is_json() -> None:
    code, printed = run("next", "@daily", "--json")
    assert code == 0
    assert json.loads(printed)
