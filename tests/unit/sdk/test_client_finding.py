"""Which server, and with which key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rota
from rota.config.server import Server
from rota.errors import InvalidConfig, InvalidInput
from rota.runtime import files
from rota.sdk.client.finding import find

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://127.0.0.1:7682"


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ROTA_URL", "ROTA_API_KEY", "ROTA_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def _served(folder: Path) -> Path:
    files.write(folder, files.URL, URL)
    files.write(folder, files.KEY, "rota_found_here")
    return folder


def test_beside_a_server_both_are_found(tmp_path: Path) -> None:
    assert find(None, None, _served(tmp_path)) == Server(URL, "rota_found_here")


def test_the_environment_comes_before_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_URL", "https://rota.example/")
    monkeypatch.setenv("ROTA_API_KEY", "rota_from_env")
    assert find(None, None, _served(tmp_path)) == Server("https://rota.example", "rota_from_env")
    assert find(URL, None, tmp_path) == Server(URL, "rota_from_env")


def test_what_is_given_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTA_URL", "https://rota.example")
    monkeypatch.setenv("ROTA_API_KEY", "rota_from_env")
    assert find(URL, "rota_given") == Server(URL, "rota_given")
    assert find(None, "rota_given") == Server("https://rota.example", "rota_given")


def test_the_key_in_the_folder_goes_to_no_other_server(tmp_path: Path) -> None:
    """It is an admin key of the server on this machine."""
    folder = _served(tmp_path)
    assert find("https://elsewhere.example", None, folder).key is None
    assert find(f"{URL}/", None, folder).key == "rota_found_here"


def test_without_any_server_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="rota serve"):
        find(None, None, tmp_path)


def test_without_a_key_only_what_needs_one_is_refused(tmp_path: Path) -> None:
    with (
        rota.Client(URL, data_dir=tmp_path) as client,
        pytest.raises(InvalidConfig, match="API_KEY"),
    ):
        client.get_schedule("sch_1")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "rota.example",
        "ftp://x",
        "http://",
        "http://a:b@x",
        "http://x?y",
        "http://x:0",
        "http://x:99999",
        "http://xn--.example",
        "http://[::1",
        "http://x/?",
        "http://x y",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="url: expected an address"):
        find(url or "x", "rota_k")


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidInput, match="api_key") as refused:
        find(URL, "rota_hush\nrota")
    assert "hush" not in str(refused.value)
    assert find(URL, " rota_a_b\n").key == "rota_a_b"


@pytest.mark.parametrize("kind", [rota.Client, rota.AsyncClient])
def test_the_key_shows_nowhere(kind: type[rota.Client | rota.AsyncClient]) -> None:
    client = kind(URL, "rota_hush")
    assert repr(client) == f"<rota.{kind.__name__} {URL}>"
    assert "hush" not in f"{client} {vars(client)}"
    assert client.url == URL


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        rota.Client(URL, "k", timeout=0)
    with pytest.raises(InvalidInput, match="from 0 on"):
        rota.Client(URL, "k", retries=-1)
