"""Credentials are shown on a terminal, or left in files of their owner; they are in no log."""

from __future__ import annotations

import os
import pty
import re
import secrets
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx
from tests.announced import first_admin_key, sign_in_link
from tests.deadlines import patience
from tests.process.serving import eventually, serving, target
from tests.process.test_cli_program import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Postgres


_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
_PROGRAM = "import rota; rota.Rota().run(roles=(), api=True, port=0, verbose=True)"


def _signed_in(link: str) -> str:
    """Open a link and press its button; the session's secret."""
    page = httpx.get(link)
    found = _CSRF.search(page.text)
    assert found is not None
    # By hand: the jar keeps back cookies that browsers do send to loopback.
    door = page.headers["set-cookie"].partition(";")[0]
    form = {"csrf": found[1], "token": _token(link)}
    answer = httpx.post(link.partition("?")[0], data=form, headers={"Cookie": door})
    assert answer.status_code == 303, answer.text
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert httpx.get(_root(link), headers={"Cookie": cookie}).status_code == 200
    return cookie.partition("=")[2]


def _token(link: str) -> str:
    return parse_qs(urlsplit(link).query)["token"][0]


def _root(link: str) -> str:
    return urlsplit(link)._replace(path="/", query="").geturl()


def _require_none(said: str, **credentials: str) -> None:
    assert said
    assert [name for name, text in credentials.items() if text in said] == []


async def test_no_credential_is_in_any_output_of_a_server_with_a_database_of_its_own(
    tmp_path: Path, dsn: str, postgres: Postgres
) -> None:
    """Key, link, session and the database's password; verbose, while all of them are used, and with
    requests that are refused."""
    role, password = f"r_{secrets.token_hex(4)}", secrets.token_urlsafe(16)
    await postgres.order(f"CREATE ROLE {role} SUPERUSER LOGIN PASSWORD '{password}'")
    own = dsn.partition("&passfile")[0].replace("rota@", f"{role}:{password}@")
    try:
        with target() as sink, serving(tmp_path, "--dsn", own, "--verbose") as server:
            key = eventually(lambda: first_admin_key(server.lines))
            link = eventually(lambda: sign_in_link(server.lines))
            session = _signed_in(link)
            beside = {"ROTA_URL": server.url, "ROTA_API_KEY": key}
            assert run(tmp_path, "add", "s", "every minute", sink.url, **beside).code == 0
            assert run(tmp_path, "trigger", "s", **beside).code == 0
            sink.next_call()
            another = run(tmp_path, "sign-in", "--json", **beside).json["url"]
            for wrong in (f"{key}x", session, _token(link)):
                assert server.get("/v1/schedules", wrong)[0] == 401
            assert server.get(f"/v1/nothing?token={_token(link)}")[0] == 404
            assert server.stop() == 0
            said = "".join(server.lines) + (tmp_path / "serve.log").read_text("utf-8")
        refused = run(tmp_path, "serve", "--dsn", own.replace(role, "nobody"), "--port", "0")
        assert refused.code == 1
    finally:
        await replace(postgres, dsn=dsn).order(
            f"REASSIGN OWNED BY {role} TO CURRENT_USER",
            f"DROP OWNED BY {role}",
            f"DROP ROLE {role}",
        )
    assert "firing" in said
    _require_none(
        said + refused.out + refused.err,
        key=key.rpartition("_")[2],
        link=_token(link),
        another=_token(another),
        session=session,
        password=password,
    )


def test_no_credential_is_in_any_output_of_a_server_on_an_embedded_database(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with serving(tmp_path, "--data-dir", str(data), "--verbose") as server:
        link = eventually(lambda: sign_in_link(server.lines))
        session = _signed_in(link)
        made = run(tmp_path, "sign-in", "--data-dir", str(data))
        assert made.code == 0, made.err
        _signed_in(made.out.strip())
        assert run(tmp_path, "doctor", "--data-dir", str(data)).err == ""
        key = (data / "key").read_text().strip()
        control = data / "cluster-location"
        home = type(data)(control.read_text().strip()) if control.exists() else data
        password = (home / "pgpass").read_text().strip().rpartition(":")[2]
        processes = subprocess.run(
            ["ps", "axeww", "-o", "args"], capture_output=True, text=True, check=True
        ).stdout
        assert server.stop() == 0
        said = "".join(server.lines) + (tmp_path / "serve.log").read_text("utf-8")
    assert not (data / "sign-in-link").exists()
    _require_none(
        said + processes,
        key=key.rpartition("_")[2],
        link=_token(link),
        another=_token(made.out.strip()),
        session=session,
        password=password,
    )


def test_a_program_that_serves_the_api_prints_paths_and_no_credential(
    tmp_path: Path, dsn: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _PROGRAM],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "ROTA_DSN": dsn},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout or []))
    reader.start()
    try:
        key = eventually(lambda: first_admin_key(lines), within=60)
        link = eventually(lambda: sign_in_link(lines))
        session = _signed_in(link)
    finally:
        process.terminate()
        process.wait(timeout=patience(60))
        reader.join()
        if process.stdout is not None:
            process.stdout.close()
    said = "".join(lines)
    _require_none(said, key=key.rpartition("_")[2], link=_token(link), session=session)


def test_on_a_terminal_they_are_shown_and_left_in_no_file(tmp_path: Path, dsn: str) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "rota", "serve", "--port", "0", "--dsn", dsn],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "60"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    said = ""

    def read() -> None:
        nonlocal said
        while chunk := _read(ours):
            said += chunk

    reader = threading.Thread(target=read)
    reader.start()
    try:
        key = eventually(lambda: re.search(r"only this once: (rota_\w+)", said), within=60)
        link = eventually(lambda: re.search(r"in once: (http://\S+token=[\w-]{43})", said))
        assert _signed_in(link[1])
        url = _root(link[1])
        asked = httpx.get(f"{url}v1/keys", headers={"Authorization": f"Bearer {key[1]}"})
        assert asked.status_code == 200
        assert list(tmp_path.glob(".local/share/rota/*")) == []
    finally:
        process.terminate()
        process.wait(timeout=patience(60))
        reader.join()
        os.close(ours)


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 4096).decode()
    except OSError:  # the other side is closed
        return ""


def test_files_are_made_anew_and_never_written_through_a_link(tmp_path: Path, dsn: str) -> None:
    """Nobody who can make links in the folder gets a credential written elsewhere."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (data / "sign-in-link").symlink_to(victim)
    (data / "first-admin-key").symlink_to(victim)
    with serving(tmp_path, "--dsn", dsn, "--data-dir", str(data)) as server:
        assert eventually(lambda: first_admin_key(server.lines))
        assert not (data / "sign-in-link").is_symlink()
    assert victim.read_text() == "mine"
