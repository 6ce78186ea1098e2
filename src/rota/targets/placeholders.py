"""`${secrets.NAME}`: where a secret goes in what is sent. Pure.

What begins like a placeholder must be one: a misspelt one would be sent as it stands, and the
target would be the first to find out.
"""

from __future__ import annotations

import re
from typing import Final

BEGINNING: Final = "${secrets"
PLACEHOLDER: Final = re.compile(r"\$\{secrets\.([A-Za-z_][A-Za-z0-9_]{0,63})\}", re.ASCII)

_EXPECTED = (
    "expected placeholders such as ${secrets.API_KEY}: letters, digits and _, not beginning with a "
    "digit, at most 64 characters"
)


def wrong_with(text: str) -> str | None:
    """What is wrong with the placeholders in a text; None when nothing is."""
    if BEGINNING not in text:
        return None
    return _EXPECTED if BEGINNING in PLACEHOLDER.sub("", text) else None


def wrong_in_url(url: str) -> str | None:
    """The same for a URL, whose scheme, host and port must be known when it is written."""
    if BEGINNING not in url:
        return None
    _, _, after = url.partition("://")
    authority = re.split(r"[/?#]", after, maxsplit=1)[0]
    if "${" in authority or BEGINNING not in after:
        return "expected secrets in the path or the query only: whom it calls must be plain to see"
    if BEGINNING in url.partition("#")[2]:
        return "expected no secret after the #, as that part is never sent"
    return wrong_with(url)
