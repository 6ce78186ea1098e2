"""Whether an application's answer means that it handled the firing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def succeeded(status: int, headers: Iterable[tuple[str, str]]) -> bool:
    """2xx does, except a 202 with `Rota-Async: true`.

    There the work goes on, and when nobody completes it Rota tries again: that attempt must reach
    the application, and not be told that all is well.
    """
    if status == 202:
        return not any(_says_async(name, value) for name, value in headers)
    return 200 <= status < 300


def _says_async(name: str, value: str) -> bool:
    return name.lower() == "rota-async" and value.strip().lower() == "true"
