"""How commands reach a server: through its API, by the address and key that the configuration or
the data folder names.

Plain `http.client`, so that a command starts quickly: no redirect is followed (the key would go
along) and no proxy is asked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast
from urllib.parse import quote, urlencode, urlsplit

import typer

from rota import config as configuration
from rota.cli.line import Line
from rota.config import server
from rota.errors import CallerError, InvalidConfig, TemporaryError
from rota.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http.client import HTTPMessage
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


class Answer(dict[str, Any]):
    """An object that the server sent; a field it lacks is an error that says which."""

    def __missing__(self, name: str) -> NoReturn:
        raise ServerAway(
            f"expected Rota's answer to have the field {name!r}, got one without it: is the "
            "address (ROTA_URL) that of a Rota server of this version?"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """A server and the key to it."""

    url: str
    key: str
    line: Line = field(default_factory=Line)
    agent: str = f"rota-cli/{__version__}"
    """What the audit trail knows a command by (`rota.api.access`)."""

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
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json",
            "User-Agent": self.agent,
        }
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        status, reply, said = self._exchange(method, path, content, headers)
        if status == HTTPStatus.NO_CONTENT:
            return None
        value = _decoded(reply)
        if status >= HTTPStatus.BAD_REQUEST:
            sentence = _sentence(value) or self._not_rota(f"status {status} without Rota's reason")
            raise RequestRefused(status, sentence, retry_after=_seconds(said.get("Retry-After")))
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            raise ServerAway(self._not_rota(f"a redirect to {said.get('Location', 'nowhere')}"))
        if value is None:
            raise ServerAway(self._not_rota("an answer that is not one of Rota's"))
        return value

    def _not_rota(self, got: str) -> str:
        return f"expected Rota at {self.url}, got {got[:200]}: check the address (ROTA_URL)"

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, HTTPMessage]:
        import http.client  # noqa: PLC0415 - slow to import, see app.py

        again = self.line.is_open and method in _REPEATABLE
        while True:
            connection = self.line.connection(self.url)
            try:
                connection.request(method, self._path(path), body=content, headers=dict(headers))
                response = connection.getresponse()
                reply = response.read(_MAX_REPLY)
            except (OSError, ValueError, http.client.HTTPException) as error:
                # ValueError: what came is not HTTP, or the address cannot be one.
                self.line.close()
                if again:
                    # The server may have hung up on a connection that it had kept for long enough.
                    again = False
                    continue
                reason = (str(error) or type(error).__name__)[:200]
                raise ServerAway(
                    f"expected a server at {self.url}, got none: {reason}. `rota serve` starts one"
                ) from error
            except BaseException:
                self.line.close()  # an answer half read would be taken for the next one's
                raise
            if response.will_close or not response.isclosed():
                self.line.close()
            return response.status, reply, response.headers

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


def _decoded(reply: bytes) -> Answer | None:
    """The object that was sent; None for anything else. Rota sends no other JSON, and in a list
    of `items` nothing but objects and ids."""
    try:
        value: object = json.loads(reply)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    answer = Answer(cast("dict[str, Any]", value))
    if "items" in answer:
        items: object = answer["items"]
        if not isinstance(items, list):
            return None
        listed = cast("list[object]", items)
        if not all(isinstance(each, dict | str) for each in listed):
            return None
        answer["items"] = [
            Answer(cast("dict[str, Any]", each)) if isinstance(each, dict) else each
            for each in listed
        ]
    return answer


def _sentence(problem: Answer | None) -> str | None:
    """What Rota said, with each field at fault when there are several; None if it is not Rota's."""
    if problem is None or not {"detail", "errors", "status"} <= problem.keys():
        return None
    errors: list[object] = problem["errors"] if isinstance(problem["errors"], list) else []
    fields = [cast("dict[str, str]", each) for each in errors if isinstance(each, dict)]
    if len(fields) < 2:
        return str(problem["detail"])
    lines = [f"  {error.get('field')}: {error.get('message')}" for error in fields]
    return "\n".join([f"{len(fields)} fields are wrong:", *lines])
