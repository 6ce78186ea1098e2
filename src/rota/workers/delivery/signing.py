"""Signing a request: the headers that say who calls and when, then the signatures over it. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rota import signatures
from rota.signatures import CALL_SIGNATURE, ID, SIGNATURE, TIMESTAMP
from rota.workers.delivery.call_facts import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.signatures import HmacKey
    from rota.workers.delivery.call_facts import CallFacts


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


def call_signatures(
    keys: Sequence[HmacKey], method: str, facts: CallFacts, body: bytes, digest: str
) -> tuple[str, str]:
    """The values of both headers for a call with these facts, as `signed_headers` has them.

    `digest` is the body's SHA-256. The lines of the facts are those of a request, which hold no
    other line break (`wire.header_lines`).
    """
    id_, timestamp = facts.message_id, facts.sent_at
    webhook = f"{id_}.{timestamp}.".encode("ascii") + body
    head = f"{signatures.CALL_VERSION}\n{id_}\n{timestamp}\n{method}\n{digest}\n"
    call = f"{head}{facts.signed_lines()}".encode("ascii")
    if len(keys) == 1:
        (key,) = keys
        return key.signature(webhook), key.signature(call)
    return (
        " ".join([key.signature(webhook) for key in keys]),
        " ".join([key.signature(call) for key in keys]),
    )


# A few names, over and over: Rota's own, and those that owners write.
@lru_cache(maxsize=1_000)
def _fact(name: str) -> str | None:
    """The name in lower case, when the call's signature covers it."""
    lower = name.lower()
    return lower if signatures.is_fact(lower) else None
