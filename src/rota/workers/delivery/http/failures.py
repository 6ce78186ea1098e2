"""What goes wrong with a call, and how it is told: one line, for people."""

from __future__ import annotations

import errno
import os
import ssl
from typing import Final

from rota.targets import TargetRefused
from rota.workers.caller import Reply

_REFUSALS: Final = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
_OUR_LACK: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}
)


class CallFailed(Exception):
    """No answer could be had; the text says why in a line."""


class NotConnected(CallFailed):
    """None of the host's addresses could be connected to."""

    def __init__(self, text: str, errors: list[OSError | None]) -> None:
        super().__init__(text)
        codes = {None if error is None else error.errno for error in errors}
        self.refused = bool(codes) and codes <= _REFUSALS
        """All of them said no, which has nothing to do with who asks."""
        self.ours = bool(codes) and codes <= _OUR_LACK
        """This machine is short of something, such as open files: no host's fault."""


def reply_to(error: Exception) -> Reply:
    """The reply that a failure of the network is."""
    if isinstance(error, NotConnected):
        return Reply(error=described(error), sent=not error.ours, refused=error.refused)
    return Reply(error=described(error), sent=not isinstance(error, TargetRefused))


def described(error: Exception) -> str:
    """One line about a failure of the network, for people."""
    if isinstance(error, CallFailed | TargetRefused):
        return str(error)[:500]
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate was not accepted: {error.verify_message or error}"[:500]
    text = " ".join(str(error).split())
    if isinstance(error, ssl.SSLError):
        return f"TLS could not be agreed on: {text}"[:500]
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def reason_of(error: OSError) -> str:
    """What the operating system says, in lower case and without its number."""
    text = error.strerror or str(error) or type(error).__name__
    # asyncio puts its own sentence, with the address, where the system's words should be.
    if "Connect call failed" in text or "Multiple exceptions" in text:
        text = type(error).__name__ if error.errno is None else os.strerror(error.errno)
    return text[:1].lower() + text[1:]
