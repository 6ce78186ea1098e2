"""S5: a target whose certificate is bad is not told anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.hostile import certificates
from tests.hostile.calling import call_with
from tests.hostile.raw import OK, answering, serving

from rota.targets import OPEN
from rota.workers.delivery.http import HttpCaller

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from tests.hostile.certificates import Signed
    from tests.hostile.raw import Visit

    from rota.workers.caller import Reply


@pytest.fixture(scope="module")
def authority() -> Signed:
    return certificates.sign("Test Authority", authority=True)


async def _local(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def _call(port: int, tls: ssl.SSLContext, host: str = "good.example", **fields: Any) -> Reply:
    async with HttpCaller(OPEN, lookup=_local, tls=tls) as caller:
        return await call_with(caller, f"https://{host}:{port}/", **fields)


def _answer_in_plain(visit: Visit) -> None:
    """Whatever comes first, as web servers do; then read what else is said."""
    visit.socket.recv(65_536)
    visit.send(OK)
    visit.read()


async def test_a_good_one_is_called_by_its_name(authority: Signed, tmp_path: Path) -> None:
    shown = certificates.sign("good.example", authority).write(tmp_path / "pem")
    async with certificates.serving_tls(shown) as (port, asked):
        reply = await _call(port, certificates.trusting(authority))
        assert (reply.code, reply.body, reply.error) == (200, b"ok", None)
        assert (await _call(port, certificates.trusting(authority), "Good.Example.")).code == 200
        assert asked == ["good.example", "good.example"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("self-signed", "self-signed certificate"),
        ("unknown authority", "unable to get local issuer certificate"),
        ("expired", "certificate has expired"),
        ("wrong host", "Hostname mismatch"),
    ],
)
async def test_a_bad_one_is_an_error_that_says_why(
    authority: Signed, tmp_path: Path, kind: str, reason: str
) -> None:
    made = {
        "self-signed": lambda: certificates.sign("good.example"),
        "unknown authority": lambda: certificates.sign(
            "good.example", certificates.sign("Another", authority=True)
        ),
        "expired": lambda: certificates.sign("good.example", authority, days=-1),
        "wrong host": lambda: certificates.sign("other.example", authority),
    }[kind]()
    async with certificates.serving_tls(made.write(tmp_path / "pem")) as (port, _):
        reply = await _call(port, certificates.trusting(authority))
    assert reply.code is None
    assert reply.error is not None
    assert reply.error.startswith("the certificate was not accepted: ")
    assert reason in reply.error


async def test_one_that_speaks_no_tls_is_told_nothing(authority: Signed) -> None:
    with serving(_answer_in_plain) as server:
        reply = await _call(server.port, certificates.trusting(authority))
        assert reply.code is None
        assert not reply.timed_out
        assert server.requests == []


async def test_one_that_waits_for_a_request_in_plain_is_told_nothing(authority: Signed) -> None:
    with serving(answering(OK)) as server:
        reply = await _call(server.port, certificates.trusting(authority), timeout_seconds=0.5)
        assert reply.code is None
        assert reply.timed_out
        assert server.requests == []


async def test_one_that_never_shakes_hands_is_given_up_in_time(authority: Signed) -> None:
    with serving(lambda visit: visit.wait()) as server:
        async with HttpCaller(OPEN, lookup=_local, tls=certificates.trusting(authority)) as caller:
            url = f"https://good.example:{server.port}/"
            reply = await call_with(caller, url, timeout_seconds=0.5)
    assert reply.timed_out
