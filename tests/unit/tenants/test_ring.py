"""The key ring: what is taken, and the sentence for what is not (S7)."""

from __future__ import annotations

import base64
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.config import load
from rota.errors import InvalidConfig
from rota.tenants.secrets import ring, rings
from rota.tenants.secrets.ring import NoSecretKeys, RingKeyMissing
from rota.tenants.secrets.rings import Rings

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = bytes(range(32)), bytes(range(32, 64))


def entry(id_: str, key: bytes) -> str:
    return f"{id_}:{base64.b64encode(key).decode()}"


def test_the_first_key_is_the_current_one() -> None:
    parsed = ring.parse(f"{entry('new', TWO)},{entry('old', ONE)}", where="x")
    assert parsed.current == "new"
    assert parsed.ids == ("new", "old")
    assert parsed.key("old") == ONE


def test_lines_comments_and_blanks_are_fine() -> None:
    text = f"# ours\n\n  {entry('k2', TWO)}  # since May\n{entry('k1', ONE)}\n"
    assert ring.parse(text, where="x").ids == ("k2", "k1")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected at least one id:base64key, got none"),
        ("abc", "expected id:base64key, got something else as key 1"),
        ("k1:", "expected id:base64key, got something else as key 1"),
        (":" + "A" * 43 + "=", "expected id:base64key, got something else as key 1"),
        ("k1:???", 'expected 32 bytes in base64 for "k1", got something that is not base64'),
        (entry("k1", ONE[:16]), 'expected 32 bytes in base64 for "k1", got 16;'),
        (entry("k1", ONE + b"!"), 'expected 32 bytes in base64 for "k1", got 33;'),
        (f"{entry('k1', ONE)},{entry('k1', TWO)}", 'expected each id once, got "k1" twice'),
    ],
)
def test_what_cannot_be_a_ring_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        ring.parse(text, where="secret_keys")
    assert f"secret_keys: {sentence}" in str(caught.value)


@given(st.text(max_size=200))
def test_whatever_the_text_it_is_a_ring_or_a_sentence_without_the_text(text: str) -> None:
    said = ""
    try:
        parsed = ring.parse(text, where="x")
    except InvalidConfig as error:
        said = str(error)
    else:
        assert parsed.current in parsed.ids
    assert len(text) < 40 or text not in said


def test_a_ring_shows_no_key() -> None:
    parsed = ring.parse(entry("k1", b"K" * 32), where="x")
    assert "KKKK" not in repr(parsed)
    assert repr(parsed) == "Ring(k1)"


def test_a_key_that_is_missing_is_named() -> None:
    with pytest.raises(RingKeyMissing, match='no key "k9"'):
        ring.parse(entry("k1", ONE), where="x").key("k9")


def test_a_new_key_is_one_that_is_taken() -> None:
    assert ring.parse(ring.new_entry("k7"), where="x").ids == ("k7",)
    assert ring.next_id(("k1",)) == "k2"
    assert ring.next_id(("k2",)) == "k3"


def test_without_a_ring_the_error_says_what_to_set() -> None:
    with pytest.raises(NoSecretKeys, match="ROTA_SECRET_KEYS"):
        Rings(None).now()


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(entry("k1", ONE))
    for mode in (0o644, 0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(InvalidConfig, match=f"got mode {mode:04o}; run chmod 600"):
            rings.read_file(path)
    path.chmod(0o600)
    assert rings.read_file(path).ids == ("k1",)
    path.chmod(0o400)
    assert rings.read_file(path).ids == ("k1",)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"x" * 100_000, b""])
def test_a_file_of_something_else_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InvalidConfig, match="id:base64key"):
        rings.read_file(path)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="expected a file of secret keys, got no such file"):
        rings.read_file(tmp_path / "keys")


def test_a_made_file_is_its_owners_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    rings.make_file(path)
    made = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rings.make_file(path)
    assert path.read_text() == made
    assert [each.name for each in tmp_path.iterdir()] == ["keys"]


def test_a_file_that_grows_is_read_again(tmp_path: Path) -> None:
    """A server that runs takes the new key without a restart."""
    path = tmp_path / "keys"
    rings.make_file(path)
    found = Rings.in_file(path)
    assert found.now().current == "k1"
    assert rings.add_key(path) == "k2"
    assert found.now().ids == ("k2", "k1")
    path.unlink()
    assert found.now().ids == ("k2", "k1")


def test_the_ring_comes_from_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(entry("f", ONE))
    path.chmod(0o600)
    dsn = "postgresql://localhost/x"
    given_text = load({"dsn": dsn}, {"ROTA_SECRET_KEYS": entry("e", ONE)})
    given_file = load({"dsn": dsn}, {"ROTA_SECRET_KEYS_FILE": str(path)})
    assert Rings.of(given_text).now().ids == ("e",)
    assert Rings.of(given_file).now().ids == ("f",)
    assert not Rings.of(load({"dsn": dsn}, {})).is_there
    assert rings.file_of(load({"data_dir": str(tmp_path)}, {})) == tmp_path / "secret_keys"
    both = load({"dsn": dsn, "secret_keys_file": str(path), "secret_keys": entry("e", ONE)}, {})
    with pytest.raises(InvalidConfig, match="got both"):
        Rings.of(both)


def test_the_configuration_shows_no_key() -> None:
    config = load({}, {"ROTA_SECRET_KEYS": entry("e", ONE), "HOME": "/h"})
    assert config.redacted()["secret_keys"] == "***"
    assert base64.b64encode(ONE).decode() not in repr(config)
