"""Signing a request: the headers that say who calls and when, then the signatures over it. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rota import signatures
from rota.signatures import CALL_SIGNATURE, ID, SIGNATURE, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

HIDDEN: Final = "…"
"""In place of a value that is not to be seen."""


def unsigned_headers(id_: str, at: datetime) -> dict[str, str]:
    """The headers of a request that is yet to be signed: the id is the same for every attempt, the
    time is the attempt's."""
    return {
        ID: id_,
        TIMESTAMP: str(int(at.timestamp())),
        SIGNATURE: HIDDEN,
        CALL_SIGNATURE: HIDDEN,
    }


def signed_headers(
    keys: Sequence[bytes], method: str, headers: Mapping[str, str], body: bytes
) -> dict[str, str]:
    """The signatures by each key: a receiver accepts any that it can verify."""
    id_, timestamp = headers[ID], headers[TIMESTAMP]
    facts = {fact: value for name, value in headers.items() if (fact := _fact(name)) is not None}
    webhook = signatures.webhook_message(id_, timestamp, body)
    call = signatures.call_message(method, id_, timestamp, facts, body)
    return {
        SIGNATURE: signatures.signature(keys, webhook),
        CALL_SIGNATURE: signatures.signature(keys, call),
    }


# A few names, over and over: Rota's own, and those that owners write.
@lru_cache(maxsize=1_000)
def _fact(name: str) -> str | None:
    """The name in lower case, when the call's signature covers it."""
    lower = name.lower()
    return lower if signatures.is_fact(lower) else None
