"""S3: a redirect is an answer like any other, and nobody goes where it points."""

from __future__ import annotations

import pytest
from tests.hostile.calling import call, canary
from tests.hostile.raw import answering, serving


@pytest.mark.parametrize("code", [300, 301, 302, 303, 305, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.1:{port}/", "//127.0.0.1:{port}/", "http://[::1]:{port}/", "/again"),
        *("file:///etc/passwd", "https://other.example/", "gopher://127.0.0.1:{port}/_x", ""),
    ],
)
async def test_it_is_recorded_and_not_followed(code: int, location: str) -> None:
    with canary() as bird:
        to = location.format(port=bird.port)
        answer = f"HTTP/1.1 {code} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
        with serving(answering(answer.encode())) as server:
            reply = await call(f"{server.url}/hook")
        assert (reply.code, reply.error) == (code, None)
        assert ("Location", to) in reply.headers
        assert (len(server.requests), server.connections, bird.connections) == (1, 1, 0)
