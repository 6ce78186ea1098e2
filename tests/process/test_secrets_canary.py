"""S8: one secret through everything, and then everything searched for it."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from standardwebhooks import Webhook
from tests.deadlines import crowding, patience
from tests.process.echoing import Echo, echoing
from tests.process.serving import Server, eventually, serving

from rota.db import embedded
from rota.db.embedded import binaries

if TYPE_CHECKING:
    from pathlib import Path


MARK = "CANARY-7d1f4be2"
VALUE = MARK + '/"+&=<x>\\y'
FORM = "application/x-www-form-urlencoded"
ENDED = {"succeeded", "dead", "cancelled"}
TIMEOUT = math.ceil(crowding())
"""Seconds; one of the targets is slower than that on any machine."""
EVERYWHERE: dict[str, Any] = {
    "headers": {"Authorization": "Bearer ${secrets.LEAK}", "X-Twice": "${secrets.LEAK},1"},
    "timeout_seconds": TIMEOUT,
    "max_attempts": 2,
    "backoff": "fixed",
    "backoff_delay": "1s",
}


def test_a_secret_shows_nowhere_but_on_the_wire(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with echoing() as echo:
        with serving(tmp_path, "--verbose", "--data-dir", str(data_dir)) as server:
            answers = _use_it_everywhere(server, echo, data_dir)
            assert server.stop() == 0
        said = "".join(server.lines) + (tmp_path / "serve.log").read_text()
        calls = [echo.next_call() for _ in range(echo.calls.qsize())]
    told = [call for call in calls if "/told/" in call.path]
    _assert_it_was_sent([call for call in calls if call not in told])
    assert {json.loads(call.body)["type"] for call in told} >= {"channel.test", "alert.opened"}
    assert "succeeded" in said
    dump = asyncio.run(_dump(data_dir))
    assert b"${secrets.LEAK}" in dump
    searched = {
        "the log and the output": said.encode(),
        "the database": dump,
        **{f"the answer of {path}": answer for path, answer in answers.items()},
        **{str(path): path.read_bytes() for path in data_dir.rglob("*") if path.is_file()},
    }
    assert len(searched) > 100
    found = [where for where, content in searched.items() if _shows(content)]
    assert found == []


def _use_it_everywhere(server: Server, echo: Echo, data_dir: Path) -> dict[str, bytes]:
    """Schedules of every kind and end; returns what every address answers afterwards."""
    key = (data_dir / "key").read_text().strip()

    def ask(method: str, path: str, body: object = None) -> bytes:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = Request(server.url + path, content, headers, method=method)
        try:
            with urlopen(request, timeout=patience(30)) as answer:
                return answer.read()
        except HTTPError as error:
            return error.read()

    told = {"put": ask("PUT", "/v1/secrets/LEAK", {"value": VALUE})}
    told["put wrong"] = ask("PUT", "/v1/secrets/LEAK", {"valu": VALUE})
    told["put elsewhere"] = ask("PUT", "/v1/secrets/9", {"value": VALUE})
    told["put not json"] = ask("PUT", "/v1/secrets/LEAK", VALUE)
    channels = _channels(ask, echo, told)
    contents: list[dict[str, Any]] = [
        {"payload": {"deep": ["${secrets.LEAK}"]}},
        {"body": "<k>${secrets.LEAK}</k>"},
        {"body": "k=${secrets.LEAK}", "headers": {"Content-Type": FORM}},
    ]
    ids: list[str] = []
    for kind in ("200", "500", "400", "301", "slow"):
        for number, content in enumerate(contents):
            fields = EVERYWHERE | {
                "name": f"{kind}-{number}",
                "run_at": "2090-01-01T00:00:00Z",
                "target_url": f"{echo.url}/{kind}/${{secrets.LEAK}}?q=${{secrets.LEAK}}",
            }
            merged = content | {"headers": fields["headers"] | content.get("headers", {})}
            made = json.loads(ask("POST", "/v1/schedules", fields | merged))
            told[f"made {kind} {number}"] = json.dumps(made).encode()
            run = {"payload": {"given": "${secrets.LEAK}"}} if number == 0 else {}
            told[f"run {kind} {number}"] = ask("POST", f"/v1/schedules/{made['id']}/trigger", run)
            ids.append(made["id"])
    unknown = EVERYWHERE | {
        "name": "unknown",
        "run_at": "2090-01-01T00:00:00Z",
        "target_url": f"{echo.url}/200/${{secrets.LEAK}}?x=${{secrets.NOBODY}}",
    }
    made = json.loads(ask("POST", "/v1/schedules", unknown))
    ask("POST", f"/v1/schedules/{made['id']}/trigger", {})
    ids.append(made["id"])
    paths = ["/v1/schedules?limit=1000", "/v1/dead", "/v1/secrets", "/v1/cluster", "/v1/stats"]
    paths += ["/openapi.json", "/docs", "/healthz", "/readyz", "/metrics", "/", "/v1/circuits"]
    paths += ["/v1/channels", "/v1/alerts", *channels]
    for id_ in ids:
        for firing in _ended(ask, id_):
            told[firing["id"]] = json.dumps(firing).encode()
            paths += [f"/v1/firings/{firing['id']}", f"/v1/firings/{firing['id']}/attempts"]
        paths += [f"/v1/schedules/{id_}", f"/v1/schedules/{id_}/firings"]
        paths += [f"/v1/schedules/{id_}/why?at=2090-01-01", f"/v1/schedules/{id_}/next"]
    _tried(ask, channels)
    told |= {path: ask("GET", path) for path in paths}
    for command in (["list"], ["secret", "list"], ["runs", ids[0]], ["config", "check"]):
        shown = server.rota(*command, ROTA_DATA_DIR=str(data_dir))
        told[" ".join(command)] = (shown.out + shown.err).encode()
    _assert_ends(told, ids)
    return told


def _channels(ask: Any, echo: Echo, told: dict[str, bytes]) -> list[str]:
    """Channels with the mark in all of their URLs, one of which never works; their addresses."""
    paths: list[str] = []
    for kind in ("200", "500"):
        place = echo.url.removeprefix("http://")
        url = f"http://user:{MARK}@{place}/{kind}/told/{MARK}?token={MARK}"
        made = json.loads(ask("POST", "/v1/channels", {"name": f"c{kind}", "url": url}))
        told[f"channel {kind}"] = json.dumps(made).encode()
        path = f"/v1/channels/{made['id']}"
        told[f"moved {kind}"] = ask("PATCH", path, {"url": url, "tags": []})
        told[f"test {kind}"] = ask("POST", f"{path}/test")
        paths += [path, f"{path}/notifications"]
    for wrong in ({"url": MARK}, {"url": f"nonsense://{MARK}"}, {"pass": MARK}):
        told[f"wrong {wrong}"] = ask("POST", "/v1/channels", {"name": "w", **wrong})
    return paths


def _tried(ask: Any, channels: list[str]) -> None:
    """Return when each channel has been told, or could not be."""

    def look() -> bool:
        shown = [json.loads(ask("GET", path)) for path in channels[::2]]
        return bool(shown[0]["last_sent_at"]) and shown[1]["last_error"] == "HTTP 500"

    eventually(look)


def _ended(ask: Any, id_: str) -> list[dict[str, Any]]:
    def look() -> list[dict[str, Any]]:
        firings = json.loads(ask("GET", f"/v1/schedules/{id_}/firings"))["items"]
        return firings if firings and all(each["status"] in ENDED for each in firings) else []

    return eventually(look, within=90)


def _assert_ends(told: dict[str, bytes], ids: list[str]) -> None:
    """They ended in all the ways there are, or nothing was shown."""
    firings = [json.loads(each) for name, each in told.items() if name.startswith("fir_")]
    assert len(firings) == len(ids)
    reasons = {(each["status"], each["reason"]) for each in firings}
    assert {status for status, _ in reasons} == {"succeeded", "dead"}
    text = str(reasons)
    for part in (
        "HTTP 500, after 2 attempts",
        "HTTP 400",
        "redirects",
        f"timed out after {TIMEOUT} s",
    ):
        assert part in text
    assert "unknown secret NOBODY" in text


def _assert_it_was_sent(calls: list[Any]) -> None:
    """The target did get the secret, everywhere: the search would find it if it were kept."""
    assert len(calls) >= 15
    assert all(f"Bearer {VALUE}" == call.headers["authorization"] for call in calls)
    assert all("q=" + MARK + "%2F%22%2B%26%3D" in call.path for call in calls)
    bodies = {call.body for call in calls}
    assert f"<k>{VALUE}</k>".encode() in bodies
    assert any(json.loads(body) == {"given": VALUE} for body in bodies if body.startswith(b"{"))


def _shows(content: bytes) -> bool:
    mark = MARK.encode()
    forms = [mark, mark.hex().encode(), mark.hex().upper().encode()]
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + mark)
        forms.append(encoded[(before * 8 + 5) // 6 : (before + len(mark)) * 8 // 6])
    return any(form in content for form in forms)


async def _dump(data_dir: Path) -> bytes:
    async with await embedded.start(data_dir) as server:
        process = await asyncio.create_subprocess_exec(
            *(binaries.find().program("pg_dump"), "--dbname", server.dsn),
            stdout=asyncio.subprocess.PIPE,
        )
        dump, _ = await process.communicate()
    assert process.returncode == 0
    return dump


def test_what_arrives_is_verified_with_the_secret_that_the_command_shows(tmp_path: Path) -> None:
    """S13, and rotation of the ring's key under a running server (SC2)."""
    data_dir = tmp_path / "data"
    variables = {"ROTA_DATA_DIR": str(data_dir)}
    keys = data_dir / "secret_keys"
    with echoing() as echo, serving(tmp_path, **variables) as server:
        assert keys.stat().st_mode & 0o777 == 0o600
        given = _set(tmp_path, "A", "value of A\n", variables)
        assert given.returncode == 0, given.stderr
        added = server.rota(
            *("add", "signed", "2090-01-01", f"{echo.url}/200/"),
            *("--payload", '{"k": "${secrets.A}é"}'),
            **variables,
        )
        assert added.code == 0, added.err
        first = _signed(server, echo, variables)
        key = ("--host", echo.url)
        rotated = server.rota("signing", *key, "--rotate", "--json", **variables)
        assert rotated.json["retiring"][0]["version"] == 1
        host = rotated.json["host"]
        moved = server.rota("secret", "rotate", "--new-key", "--json", **variables)
        # The tenant's data key, and the installation's key for tokens.
        assert moved.json == {"current": "k2", "moved": 2, "removable": ["k1"]}, moved.err
        assert [line.partition(":")[0] for line in keys.read_text().split()] == ["k2", "k1"]
        assert keys.stat().st_mode & 0o777 == 0o600

        def both() -> bool:
            call = _run(server, echo, variables)
            return len(call.headers["webhook-signature"].split()) == 2

        assert eventually(both)
        call = _run(server, echo, variables)
        for secret in (first, rotated.json["secret"]):
            Webhook(secret).verify(call.body, call.headers)
        assert json.loads(call.body) == {"k": "value of Aé"}
        assert server.rota("secret", "list", "--json", **variables).json[0]["name"] == "A"
        assert server.stop() == 0
    keys.write_text(keys.read_text().splitlines()[0])
    with echoing() as echo, serving(tmp_path, **variables) as server:
        shown = server.rota("secret", "signing", "--host", host, **variables)
        assert shown.out.strip() == rotated.json["secret"]
        refused = server.rota("signing", **variables)
        assert refused.code == 1
        assert "--host: expected the host of a receiver" in refused.err
        assert server.rota("secret", "delete", "A", **variables).code == 0
        assert server.rota("secret", "delete", "A", **variables).code == 1
        assert server.stop() == 0
    keys.unlink()
    refused = server.rota("serve", "--port", "0", **variables)
    assert refused.code == 1
    assert "the file of the keys that open them is gone" in refused.err


def _signed(server: Server, echo: Echo, variables: dict[str, str]) -> str:
    call = _run(server, echo, variables)
    shown = server.rota("signing", "--host", echo.url, "--json", **variables)
    secret = shown.json["secret"]
    Webhook(secret).verify(call.body, call.headers)
    return secret


def _run(server: Server, echo: Echo, variables: dict[str, str]) -> Any:
    ran = server.rota("trigger", "signed", **variables)
    assert ran.code == 0, ran.err
    return echo.next_call()


def _set(
    home: Path, name: str, text: str, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rota", "secret", "set", name],
        input=text,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables},
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        timeout=patience(100),
        check=False,
    )
