"""What an exception says about a run: a line for people, and the traceback. Pure."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rota.workers.caller import Reply
from rota.workers.tasks.arguments import WrongArguments
from rota.workers.tasks.exceptions import Cancelled, Discard, Retry

if TYPE_CHECKING:
    from types import TracebackType

MAX_FRAMES: Final = 50
MAX_TRACEBACK: Final = 64 * 1024
MAX_LINE: Final = 500

_HERE = str(Path(__file__).parent)


def reply_to(error: BaseException) -> Reply:
    """What came of a run that ended with this exception."""
    match error:
        case Retry():
            return Reply(error=_cut(f"Retry: {error.reason}"), retry_in=error.after)
        case Discard():
            return Reply(error=_cut(error.reason), discarded=True)
        case WrongArguments():
            return Reply(error=_cut(str(error)), permanent=True)
        case Cancelled():
            # It looked, and ended itself; nothing is wrong with it.
            return Reply(error=_cut(f"Cancelled: {error}"))
        case _:
            return Reply(error=described(error), body=traceback_of(error).encode(errors="replace"))


def described(error: BaseException) -> str:
    """The exception in a line: `ValueError: no such team`."""
    kind = type(error)
    module = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - the user's own __str__
        text = "<it has no text>"
    return _cut(f"{module}{kind.__qualname__}: {text}" if text else f"{module}{kind.__qualname__}")


def traceback_of(error: BaseException) -> str:
    """The traceback, of the last frames, without Rota's own and without any values."""
    try:
        told = traceback.TracebackException(
            type(error), error, _users(error.__traceback__), limit=-MAX_FRAMES, capture_locals=False
        )
        text = "".join(told.format())
    except Exception as failed:  # noqa: BLE001 - the user's own __str__, or code without source
        text = f"{type(error).__qualname__}, whose traceback cannot be written: {failed!r}"
    if len(text) <= MAX_TRACEBACK:
        return text
    return f"…\n{text[-MAX_TRACEBACK:]}"


def _users(trace: TracebackType | None) -> TracebackType | None:
    """From the first frame that is not this package's on."""
    first = trace
    while first is not None and first.tb_frame.f_code.co_filename.startswith(_HERE):
        first = first.tb_next
    return first or trace


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 1]}…"
