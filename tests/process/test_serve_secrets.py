"""`rota serve` with a key ring, without one, and with one that does not fit (S7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.db.secrets_kit import KEYS, ring_text
from tests.process.serving import serving, target
from tests.process.test_cli_program import run

from rota.tenants import keys

if TYPE_CHECKING:
    from pathlib import Path


ADMIN = keys.new().text


def test_a_server_without_a_ring_runs_and_says_what_secrets_need(tmp_path: Path, dsn: str) -> None:
    with (
        target() as sink,
        serving(tmp_path, "--dsn", dsn, ROTA_ADMIN_KEY=ADMIN) as server,
    ):
        beside = {"ROTA_URL": server.url, "ROTA_API_KEY": ADMIN}
        refused = run(tmp_path, "secret", "set", "A", "--value", "CANARY-1", **beside)
        assert refused.code == 1
        assert "ROTA_SECRET_KEYS" in refused.err
        assert "CANARY-1" not in refused.err
        added = run(tmp_path, "add", "plain", "2090-01-01", sink.url, **beside)
        assert added.code == 0, added.err
        assert run(tmp_path, "trigger", "plain", **beside).code == 0
        assert "webhook-signature" not in sink.next_call().headers
        assert server.stop() == 0
    ring = {"ROTA_SECRET_KEYS": ring_text("k1")}
    with serving(tmp_path, "--dsn", dsn, **ring) as server:
        beside = {"ROTA_URL": server.url, "ROTA_API_KEY": ADMIN}
        made = run(tmp_path, "secret", "set", "A", "--value", "v", "--json", **beside)
        assert made.json["version"] == 1
        assert server.stop() == 0
    _refused(tmp_path, dsn, "this database has secrets, and there is no key ring")
    _refused(tmp_path, dsn, 'the key ring has no key "k1"', ROTA_SECRET_KEYS=ring_text("k2"))
    _moved(tmp_path, dsn)


def _moved(home: Path, dsn: str) -> None:
    """`rota secret rotate`, with the ring in the environment."""
    both = {"ROTA_SECRET_KEYS": ring_text("k2", "k1"), "ROTA_DSN": dsn}
    wrong = run(home, "secret", "rotate", "--new-key", **both)
    assert wrong.code == 1
    assert "expected a ring in a file" in wrong.err
    shown = run(home, "secret", "rotate", **both)
    assert shown.code == 0, shown.err
    assert "The key k1 seals nothing any more" in shown.out
    with serving(home, "--dsn", dsn, ROTA_SECRET_KEYS=ring_text("k2")) as server:
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("ring", "sentence"),
    [
        ("k1:" + "A" * 22 + "==", 'secret_keys: expected 32 bytes in base64 for "k1", got 16'),
        ("nonsense", "secret_keys: expected id:base64key"),
        (f"{KEYS['k1']},{KEYS['k1']}", 'secret_keys: expected each id once, got "k1" twice'),
    ],
    ids=["short", "nonsense", "twice"],
)
def test_a_ring_that_is_none_is_refused_at_the_start(
    tmp_path: Path, dsn: str, ring: str, sentence: str
) -> None:
    _refused(tmp_path, dsn, sentence, ROTA_SECRET_KEYS=ring)


def test_a_file_that_others_can_read_is_refused_at_the_start(tmp_path: Path, dsn: str) -> None:
    path = tmp_path / "ring"
    path.write_text(KEYS["k1"])
    path.chmod(0o644)
    _refused(tmp_path, dsn, "got mode 0644; run chmod 600", ROTA_SECRET_KEYS_FILE=str(path))
    path.unlink()
    _refused(tmp_path, dsn, "got no such file", ROTA_SECRET_KEYS_FILE=str(path))


def test_a_new_key_can_be_printed_and_used(tmp_path: Path, dsn: str) -> None:
    printed = run(tmp_path, "secret", "new-key", "--id", "mine")
    assert printed.out.startswith("mine:")
    with serving(tmp_path, "--dsn", dsn, ROTA_SECRET_KEYS=printed.out.strip()) as server:
        assert server.stop() == 0
    shown = run(tmp_path, "config", "check", ROTA_SECRET_KEYS=printed.out.strip())
    assert printed.out.strip() not in shown.out


def _refused(home: Path, dsn: str, sentence: str, **variables: str) -> None:
    shown = run(home, "serve", "--port", "0", "--dsn", dsn, **variables)
    assert shown.code == 1
    assert sentence in " ".join(shown.err.split())
    assert KEYS["k1"].partition(":")[2] not in shown.err
