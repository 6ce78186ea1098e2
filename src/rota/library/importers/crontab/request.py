"""The request that a `curl` or `wget` makes, as the fields of a schedule. Pure."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from rota.library.importers.crontab.shell import NotSimple

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


@dataclass(slots=True)
class Request:
    """What the options have said so far; each method is what one of them means."""

    stdin: str | None = None
    urls: list[str] = field(default_factory=list[str])
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    data: list[str] = field(default_factory=list[str])
    in_query: bool = False
    user: str | None = None
    timeout: float | None = None
    attempts: int | None = None
    notes: list[str] = field(default_factory=list[str])

    def add_url(self, text: str) -> None:
        self.urls.append(text)

    def set_method(self, text: str) -> None:
        self.method = text

    def add_header(self, text: str) -> None:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or text.startswith("@"):
            raise NotSimple(f"a header that is not NAME: VALUE, {text[:60]!r}")
        self.headers[name.strip()] = value.strip()

    def set_header(self, name: str, value: str) -> None:
        """A header that another option, or an own one of the same name, takes the place of."""
        if name.lower() not in {each.lower() for each in self.headers}:
            self.headers[name] = value

    def add_data(self, text: str) -> None:
        """curl's -d: text, or standard input without its line ends for `@-`."""
        self.data.append(self._given(text).replace("\n", "") if text == "@-" else self._given(text))

    def add_binary(self, text: str) -> None:
        self.data.append(self._given(text))

    def add_raw(self, text: str) -> None:
        self.data.append(text)

    def add_encoded(self, text: str) -> None:
        """curl's --data-urlencode: `content`, `=content` or `name=content`."""
        name, equals, content = text.partition("=")
        if "@" in (name if equals else text):
            raise NotSimple("data from a file")
        encoded = quote(content if equals else text, safe="")
        self.data.append(f"{name}={encoded}" if equals and name else encoded)

    def add_json(self, text: str) -> None:
        self.data.append(self._given(text))
        self.set_header("Content-Type", JSON)
        self.set_header("Accept", JSON)

    def set_cookie(self, text: str) -> None:
        if "=" not in text:
            raise NotSimple("cookies from a file")
        self.set_header("Cookie", text)

    def set_user(self, text: str) -> None:
        if ":" not in text:
            raise NotSimple("a user without a password")
        self.user = text

    def set_timeout(self, text: str) -> None:
        self.timeout = _number(text)

    def set_retries(self, text: str) -> None:
        self.attempts = int(_number(text)) + 1

    def set_tries(self, text: str) -> None:
        self.attempts = int(_number(text))

    def put_data_in_query(self) -> None:
        self.in_query = True

    def note_redirects(self) -> None:
        self.notes.append("it follows redirects (-L), which Rota never does")

    def _given(self, text: str) -> str:
        if not text.startswith("@"):
            return text
        if text != "@-" or self.stdin is None:
            raise NotSimple("data from a file")
        return self.stdin


def fields(request: Request) -> dict[str, Any]:
    """The fields of a schedule that makes this request."""
    if len(request.urls) != 1:
        raise NotSimple(f"{len(request.urls)} URLs instead of one")
    url = _url(request.urls[0])
    body = "&".join(request.data) if request.data else None
    if request.in_query and body is not None:
        url, body = f"{url}{'&' if '?' in url else '?'}{body}", None
    if body is not None:
        request.set_header("Content-Type", FORM)
    if request.user is not None:
        pair = base64.b64encode(request.user.encode()).decode()
        request.set_header("Authorization", f"Basic {pair}")
    made: dict[str, Any] = {
        "target_url": url,
        "method": request.method or ("GET" if body is None else "POST"),
        "headers": request.headers or None,
        "body": body,
        "timeout_seconds": request.timeout,
        "max_attempts": request.attempts,
    }
    return {name: value for name, value in made.items() if value is not None}


def _url(text: str) -> str:
    url = text if "://" in text else f"http://{text}"
    if not url.startswith(("http://", "https://")):
        raise NotSimple(f"a URL of {url.partition(':')[0]}, not http or https")
    if any(char in url.partition("://")[2].partition("/")[2] for char in "{}[]"):
        raise NotSimple("a URL that stands for several")
    return url


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1_000_000:
        raise NotSimple(f"{text[:20]!r} where a number above 0 was expected")
    return int(number) if number.is_integer() else number
