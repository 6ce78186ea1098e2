"""What a receiver answers when it does not call the application. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

from rota.receiver.store import Begun

RETRY_AFTER = 5
"""Seconds until Rota may ask about a firing that is being handled right now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole response."""

    status: HTTPStatus
    headers: tuple[tuple[str, str], ...]
    body: bytes


def problem(status: HTTPStatus, detail: str, *headers: tuple[str, str]) -> Answer:
    """A refusal with a sentence (RFC 9457)."""
    told = {"type": "about:blank", "title": status.phrase, "status": status, "detail": detail}
    body = json.dumps(told, ensure_ascii=False).encode()
    kind = ("Content-Type", "application/problem+json")
    return Answer(status=status, headers=(kind, _length(body), *headers), body=body)


def too_large(most: int) -> Answer:
    return problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected a body of at most {most} bytes, got more"
    )


def of(begun: Begun) -> Answer:
    """The answer to a delivery that is not handled."""
    match begun:
        case Begun.DUPLICATE:
            # Rota must hear of success: the first delivery's answer may be what was lost.
            headers = (("Rota-Duplicate", "true"), _length(b""))
            return Answer(status=HTTPStatus.OK, headers=headers, body=b"")
        case Begun.BUSY:
            return problem(
                HTTPStatus.CONFLICT,
                "this firing is being handled right now: ask again later",
                ("Retry-After", str(RETRY_AFTER)),
            )
        case _:
            return problem(
                HTTPStatus.CONFLICT,
                "expected a Rota-Fence at least as high as those seen for this schedule, got an "
                "older one: another scheduler has taken over since",
            )


def _length(body: bytes) -> tuple[str, str]:
    return ("Content-Length", str(len(body)))
