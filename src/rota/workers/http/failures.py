"""What goes wrong with a call, and how it is told: one line, for people."""

from __future__ import annotations

import os
import ssl

from rota.targets import TargetRefused


class CallFailed(Exception):
    """No answer could be had; the text says why in a line."""


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
