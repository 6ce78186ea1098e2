"""A request as a command that can be pasted into a shell. Pure.

What was recorded is shown: secrets stand as `${secrets.NAME}`, in single quotes, so a shell leaves
them alone too. Every word is quoted: a header's value is somebody else's text.
"""

import shlex
from typing import Any, Final

# What curl sets itself, or what would be wrong when the body is edited.
_OWN: Final = frozenset({"host", "content-length", "connection", "accept-encoding"})


def command(request: dict[str, Any]) -> str:
    """The request as `curl`, one option to a line."""
    words = [f"curl -X {shlex.quote(str(request.get('method', 'POST')))}"]
    headers: dict[str, str] = request.get("headers") or {}
    words += [
        f"-H {shlex.quote(f'{name}: {value}')}"
        for name, value in headers.items()
        if name.lower() not in _OWN
    ]
    body = request.get("body")
    if body:
        words.append(f"--data-raw {shlex.quote(str(body))}")
    words.append(shlex.quote(str(request.get("url", ""))))
    return " \\\n  ".join(words)
