"""`rota config check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process.test_cli_program import run

if TYPE_CHECKING:
    from pathlib import Path


def test_config_check_shows_each_setting_and_its_source(tmp_path: Path) -> None:
    (tmp_path / "rota.toml").write_text('lead = "1s"\nport = 1')
    shown = run(tmp_path, "config", "check", "--host", "0.0.0.0", ROTA_PORT="8000")
    assert shown.code == 0
    assert shown.err == ""
    rows = {line.split()[0]: line.split() for line in shown.out.splitlines()}
    assert rows["port"][1:4] == ["8000", "environment", "ROTA_PORT"]
    assert rows["host"][1:4] == ["0.0.0.0", "flag", "--host"]
    assert rows["lead"][1:3] == ["1s", "rota.toml"]
    assert rows["data_dir"][1:3] == [str(tmp_path / ".local/share/rota"), "default"]


def test_config_check_in_a_pipe_is_plain_and_never_cut(tmp_path: Path) -> None:
    dsn = f"postgresql://ana@{'db.example,' * 30}db.example/rota"
    shown = run(tmp_path, "config", "check", "--dsn", dsn)
    assert dsn in shown.out
    assert "\x1b" not in shown.out
    assert all(line == line.rstrip() for line in shown.out.splitlines())


def test_config_check_as_json_has_the_same(tmp_path: Path) -> None:
    shown = run(tmp_path, "config", "check", "--json", "--role", "worker").json
    assert shown["ok"] is True
    settings = {setting["name"]: setting for setting in shown["settings"]}
    assert settings["roles"]["value"] == ["worker"]
    assert settings["roles"]["source"] == "flag --role"
    assert settings["port"]["value"] == 7682
    assert settings["dsn"]["value"] is None


def test_config_check_lists_all_problems_and_exits_with_1(tmp_path: Path) -> None:
    (tmp_path / "rota.toml").write_text("prot = 1")
    shown = run(tmp_path, "config", "check", "--port", "x", ROTA_LEAD="soon")
    assert shown.code == 1
    assert shown.out == ""
    heading, *problems = shown.err.splitlines()
    assert heading == "The configuration has 3 problems:"
    assert "(flag --port)" in problems[0]
    assert "(environment ROTA_LEAD)" in problems[1]
    assert "did you mean port?" in problems[2]


def test_config_check_as_json_lists_the_problems_too(tmp_path: Path) -> None:
    shown = run(tmp_path, "config", "check", "--json", "--port", "x")
    assert shown.code == 1
    assert shown.json["ok"] is False
    assert len(shown.json["problems"]) == 1


def test_a_config_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    shown = run(tmp_path, "config", "check", "--config", "none.toml")
    assert shown.code == 1
    assert "none.toml: expected a TOML file, got no such file" in shown.err
    assert "Traceback" not in shown.err


def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    dsn = "postgresql://ana:CANARY@db/rota"
    for arguments in (("config", "check"), ("config", "check", "--json")):
        shown = run(
            tmp_path, *arguments, ROTA_DSN=dsn, ROTA_API_KEY="CANARY", ROTA_ADMIN_KEY="CANARY"
        )
        assert shown.code == 0
        assert "postgresql://ana:***@db/rota" in shown.out
        assert "CANARY" not in shown.out + shown.err
