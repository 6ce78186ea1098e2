"""How commands reach a server: through its API, by the address and key that the configuration or
the data folder names.

Plain `http.client`, so that a command starts quickly: no redirect is followed (the key would go
along) and no proxy is asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import quote, urlencode, urlsplit

import typer

from rota import config as configuration
from rota.cli.line import Line
from rota.config import server
from rota.errors import CallerError, InvalidConfig, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MAX_REPLY = 64 * 1024 * 1024
#: What may be sent twice when the first time got no answer.
_REPEATABLE = frozenset(("GET", "PUT", "DELETE"))

Url = Annotated[str | None, typer.Option("--url", help="The server to talk to. (ROTA_URL)")]


class RequestRefused(CallerError):
    """The server said no; its own sentence says why."""

    def __init__(self, status: int, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after = retry_after
        """After how many seconds it may be asked again, if the server said so."""


class ServerAway(TemporaryError):
    """No server answered, or not as one."""


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """A server and the key to it."""

    url: str
    key: str
    line: Line = field(default_factory=Line)

    def get(self, path: str, **query: object) -> Any:
        """The JSON at a path; parameters that are None are left out."""
        given = {name: str(value) for name, value in query.items() if value is not None}
        return self._request("GET", f"{path}?{urlencode(given)}" if given else path)

    def post(self, path: str, body: object = None) -> Any:
        return self._request("POST", path, body)

    def put(self, path: str, body: object) -> Any:
        return self._request("PUT", path, body)

    def patch(self, path: str, body: object) -> Any:
        return self._request("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self._request("DELETE", path)

    def items(self, path: str, **query: object) -> Iterator[dict[str, Any]]:
        """Every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self.get(path, cursor=cursor, **query)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _request(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Accept": "application/json"}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        status, reply, later = self._exchange(method, path, content, headers)
        value = _decoded(reply)
        if status >= 400:
            raise RequestRefused(status, _sentence(status, value), retry_after=_seconds(later))
        if value is None and reply:
            raise ServerAway(f"expected Rota at {self.url}, got an answer that is not JSON")
        return value

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, str | None]:
        import http.client  # noqa: PLC0415 - slow to import, see app.py

        again = self.line.is_open and method in _REPEATABLE
        while True:
            connection = self.line.connection(self.url)
            try:
                connection.request(method, self._path(path), body=content, headers=dict(headers))
                response = connection.getresponse()
                later = response.headers.get("Retry-After")
                reply = response.read(_MAX_REPLY)
            except (OSError, http.client.HTTPException) as error:
                self.line.close()
                if again:
                    # The server may have hung up on a connection that it had kept for long enough.
                    again = False
                    continue
                reason = str(error) or type(error).__name__
                raise ServerAway(
                    f"expected a server at {self.url}, got none: {reason}. `rota serve` starts one"
                ) from error
            except BaseException:
                self.line.close()  # an answer half read would be taken for the next one's
                raise
            if response.will_close or not response.isclosed():
                self.line.close()
            return response.status, reply, later

    def _path(self, path: str) -> str:
        return urlsplit(self.url).path + path


def connect(
    *,
    url: str | None = None,
    data_dir: str | None = None,
    file: Path | None = None,
    line: Line | None = None,
) -> Client:
    """The server that flags, environment or `rota.toml` name; else the one of the data folder."""
    config = configuration.read({"url": url, "data_dir": data_dir}, file=file)
    found = server.find(config)
    if found.key is None:
        wrong = f"api_key: expected a key to {found.url}, found none in {config.data_dir}"
        raise InvalidConfig((f"{wrong}: set ROTA_API_KEY",))
    return Client(url=found.url, key=found.key, line=line or Line())


def segment(text: str) -> str:
    """Text as one segment of a path."""
    return quote(text, safe="")


def _seconds(text: str | None) -> float | None:
    """A Retry-After in seconds, as Rota sends it; a date is another's."""
    return float(text) if text and text.isdecimal() else None


def _decoded(reply: bytes) -> Any:
    try:
        return json.loads(reply) if reply else None
    except (ValueError, RecursionError):
        return None


def _sentence(status: int, value: Any) -> str:
    """What the server said, with each field at fault when there are several."""
    problem = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if "detail" not in problem:
        return f"expected Rota to answer, got status {status}"
    errors = cast("list[dict[str, str]]", problem.get("errors") or [])
    if len(errors) < 2:
        return str(problem["detail"])
    lines = [f"  {error.get('field')}: {error.get('message')}" for error in errors]
    return "\n".join([f"{len(errors)} fields are wrong:", *lines])
