"""Where a channel leads: an https:// webhook, or a URL of apprise. Pure; never repeats a secret."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from rota.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.targets import TargetPolicy

MAX_LENGTH: Final = 2_000
WEBHOOKS: Final = frozenset({"http", "https"})
# Apprise has generic ones of its own: as webhooks they pass by the wall that ours stand behind.
_BYPASSES: Final = frozenset({"json", "jsons", "xml", "xmls", "form", "forms"})

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,39})://\S", re.ASCII)
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that can be called, with what was before its @ as a header."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


def scheme_of(url: str) -> str:
    """The scheme, in lower case; InvalidInput for what is no URL of a channel."""
    found = _SCHEME.match(url)
    if found is None or len(url) > MAX_LENGTH or not (url.isascii() and url.isprintable()):
        raise _refused(
            "expected an address such as https://hooks.example.com/… or slack://…, of visible "
            f"ASCII and at most {MAX_LENGTH} characters"
        )
    return found[1].lower()


def check(url: str, *, policy: TargetPolicy, others: bool) -> str:
    """The URL's scheme, when it may be a channel; `others` says whether apprise may be used.

    A courtesy to whoever makes a mistake: at each sending the wall is asked again (S1, S2).
    """
    scheme = scheme_of(url)
    if scheme in WEBHOOKS:
        wrong = policy.wrong_with_url(webhook(url).url)
        if wrong is not None:
            raise _refused(wrong)
    elif scheme in _BYPASSES:
        raise _refused(f"expected https:// in place of {scheme}://: Rota calls webhooks itself")
    elif not others:
        raise _refused(
            f"expected https://, got {scheme}://: other services are off here, as they are called "
            "past the guard of targets; the operator turns them on with ROTA_APPRISE=1"
        )
    return scheme


def webhook(url: str) -> Webhook:
    """What to call, and with which credentials; InvalidInput when there is no telling."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refused("expected a host, and a port from 1 to 65535 if any") from None
    before, at, place = parts.netloc.rpartition("@")
    is_address = place.startswith("[")
    if port == 0 or not host or "\\" in url or not (is_address or _HOST.fullmatch(host)):
        raise _refused("expected a host such as hooks.example.com, and a port from 1 to 65535")
    plain = parts._replace(netloc=place, fragment="").geturl()
    if not at:
        return Webhook(plain, {})
    user, _, password = before.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    return Webhook(plain, {"Authorization": f"Basic {base64.b64encode(pair).decode()}"})


def shown(url: str) -> str:
    """What may be seen of it: a webhook's host; of others not even that, for it may be a token."""
    scheme = scheme_of(url)
    if scheme not in WEBHOOKS:
        return f"{scheme}://…"
    return f"{scheme}://{urlsplit(url).netloc.rpartition('@')[2].lower()}/…"


def scrubbed(text: str, url: str) -> str:
    """The text without any part of the URL that may be secret."""
    parts = urlsplit(url)
    before = parts.netloc.rpartition("@")[0]
    # A host that may be shown is not among them.
    own = [url, before, *before.split(":"), parts.path, *parts.path.split("/"), parts.query]
    if scheme_of(url) not in WEBHOOKS:
        own.append(parts.netloc)
    hidden = {form for each in own for form in (each, unquote(each)) if len(form) > 3}
    for each in sorted(hidden, key=len, reverse=True):
        text = text.replace(each, "…")
    return text


def _refused(wrong: str) -> InvalidInput:
    return InvalidInput(f"Invalid url: {wrong}", field="url")
