"""A `rota.toml` that somebody else put into the folder we work in: no key of ours follows it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from tests.process.test_cli_program import run

import rota
from rota.config import load
from rota.config.server import KEY_FILE, URL_FILE, Server, find
from rota.errors import InvalidConfig, RotaError
from rota.runtime import files

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

OURS = "https://rota.example"
THEIRS = "http://127.0.0.1:9"


@contextmanager
def _listener(status: int = 200, location: str = "") -> Generator[tuple[str, list[str | None]]]:
    """A server of a stranger's, and the Authorization headers that it was sent."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", seen
        finally:
            server.shutdown()


def _found(
    toml: str, *, folder: Path, url: str | None = None, api_key: str | None = None, **environ: str
) -> Server:
    config = load({"url": url}, {"XDG_DATA_HOME": str(folder), **environ}, toml)
    return find(config, api_key=api_key)


def _refused(toml: str, *, folder: Path, url: str | None = None, **environ: str) -> str:
    with pytest.raises(InvalidConfig) as refused:
        _found(toml, folder=folder, url=url, **environ)
    (problem,) = refused.value.problems
    assert "CANARY" not in problem
    return problem


def _served(folder: Path, url: str = OURS) -> Path:
    folder.mkdir(parents=True)
    files.write(folder, files.URL, url)
    files.write(folder, files.KEY, "rota_of_the_folder")
    return folder


def test_a_command_does_not_send_the_key_of_the_environment_to_the_url_of_a_file(
    tmp_path: Path,
) -> None:
    with _listener() as (url, seen):
        (tmp_path / "rota.toml").write_text(f'url = "{url}"')
        refused = run(tmp_path, "list", ROTA_API_KEY="rota_CANARY_x")
        assert refused.code == 1
        assert "The key was not sent" in refused.err
        assert f"set ROTA_URL={url}" in refused.err
        assert "CANARY" not in refused.err
        assert seen == []
        # The user's own word for it.
        run(tmp_path, "list", "--url", url, ROTA_API_KEY="rota_CANARY_x")
        assert seen == ["Bearer rota_CANARY_x"]


def test_a_client_does_not_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROTA_URL", raising=False)
    monkeypatch.setenv("ROTA_API_KEY", "rota_CANARY_x")
    (tmp_path / "rota.toml").write_text(f'url = "{THEIRS}"')
    for kind in (rota.Client, rota.AsyncClient):
        with pytest.raises(InvalidConfig, match="The key was not sent"):
            kind()
        with pytest.raises(InvalidConfig, match="The key was not sent"):
            kind(api_key="rota_CANARY_x")
        assert kind(THEIRS).url == THEIRS


def test_a_key_and_a_url_of_one_place_go_together(tmp_path: Path) -> None:
    environ = {"ROTA_URL": OURS, "ROTA_API_KEY": "rota_e"}
    assert _found("", folder=tmp_path, **environ) == Server(OURS, "rota_e")
    assert _found("", folder=tmp_path, url=OURS, ROTA_API_KEY="rota_e") == Server(OURS, "rota_e")
    toml = f'url = "{OURS}"\napi_key = "rota_f"'
    assert _found(toml, folder=tmp_path) == Server(OURS, "rota_f")
    # Both of the environment win over both of the file.
    both = _found(f'url = "{THEIRS}"\napi_key = "rota_f"', folder=tmp_path, **environ)
    assert both == Server(OURS, "rota_e")


def test_the_key_of_a_file_goes_to_no_url_but_that_of_the_file(tmp_path: Path) -> None:
    toml = 'api_key = "rota_CANARY"'
    assert "name the server in the same file" in _refused(toml, folder=tmp_path, ROTA_URL=OURS)
    assert "rota.toml" in _refused(toml, folder=tmp_path, url=OURS)
    _served(tmp_path / "rota")
    assert "rota.toml" in _refused(toml, folder=tmp_path)


def test_a_data_folder_that_a_file_names_is_no_better_than_a_url_in_it(tmp_path: Path) -> None:
    theirs = _served(tmp_path / "theirs", THEIRS)
    toml = f'data_dir = "{theirs}"'
    assert THEIRS in _refused(toml, folder=tmp_path, ROTA_API_KEY="rota_CANARY")
    # What is in it goes together.
    assert _found(toml, folder=tmp_path) == Server(THEIRS, "rota_of_the_folder")
    # And our own folder is ours, whatever key we have to its server.
    _served(tmp_path / "rota")
    assert _found("", folder=tmp_path, ROTA_API_KEY="rota_e") == Server(OURS, "rota_e")


def test_a_link_to_the_key_of_our_folder_is_not_followed(tmp_path: Path) -> None:
    ours = _served(tmp_path / "rota")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / URL_FILE).write_text(THEIRS)
    (theirs / KEY_FILE).symlink_to(ours / KEY_FILE)
    found = _found(f'data_dir = "{theirs}"', folder=tmp_path)
    assert found == Server(THEIRS, None)


def test_a_redirect_takes_the_key_nowhere(tmp_path: Path) -> None:
    with _listener() as (elsewhere, seen), _listener(307, elsewhere + "/v1/schedules") as (url, _):
        shown = run(tmp_path, "list", "--url", url, ROTA_API_KEY="rota_CANARY_x")
        assert shown.code != 0
        with rota.Client(url, "rota_CANARY_x", retries=0) as client, pytest.raises(RotaError):
            list(client.list_schedules())
        assert seen == []


def test_a_proxy_of_the_environment_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _listener() as (proxy, seen):
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        run(tmp_path, "list", "--url", THEIRS, ROTA_API_KEY="rota_x_y", http_proxy=proxy)
        with rota.Client(THEIRS, "rota_x_y", retries=0) as client, pytest.raises(RotaError):
            list(client.list_schedules())
        assert seen == []
