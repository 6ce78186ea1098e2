"""The API's socket."""

from __future__ import annotations

import pytest

from rota.errors import InvalidConfig
from rota.runtime import listening


def test_a_port_that_is_taken_is_a_problem_of_the_configuration() -> None:
    taken = listening.listen("127.0.0.1", 0)
    try:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidConfig, match=f"port {port} to be free"):
            listening.listen("127.0.0.1", port)
    finally:
        taken.close()


def test_a_host_that_is_nowhere_is_one_too() -> None:
    with pytest.raises(InvalidConfig, match=r"host\.invalid"):
        listening.listen("host.invalid", 0)


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:")],
)
def test_the_address_is_one_that_works_from_here(host: str, shown: str) -> None:
    listener = listening.listen(host, 0)
    try:
        port = listener.getsockname()[1]
        assert listening.url_of(listener, host) == f"{shown}{port}"
    finally:
        listener.close()
