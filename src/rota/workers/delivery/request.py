"""The HTTP request of a firing. Pure: the same claim always makes the same request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from rota.targets.http import FORBIDDEN_PREFIXES
from rota.version import __version__
from rota.workers.delivery import secret_injection
from rota.workers.delivery.call_facts import facts_of
from rota.workers.delivery.capture import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.queue.claim import Claim
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule
    from rota.workers.delivery.call_facts import CallFacts

USER_AGENT = f"Rota/{__version__}"

HIDDEN_HEADERS: Final = ("Rota-Token", "webhook-signature", "Rota-Signature")
"""Shown without their values: who has them can speak for the target, or for Rota. Only Rota can set
them, so they are always spelt so."""

_JSON = "application/json"
_MARK = "rota-facts"
"""No header of anybody else: the prefix is Rota's."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Request:
    """What is sent: a template, with `${secrets.NAME}` in it, until the last moment."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    is_payload: bool = False
    """Whether the body is the payload, which is JSON whatever the headers say."""

    @property
    def shown(self) -> str:
        """As it is remembered (HX3). Only ever asked of the template (S8)."""
        seen = {
            "method": self.method,
            "url": self.url,
            "headers": self._shown_headers(),
            "body": clean(self.body.decode(errors="replace")),
        }
        return msgspec.json.encode(seen).decode()

    def _shown_headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        for name in HIDDEN_HEADERS:
            if name in headers:
                headers[name] = "…"
        return headers

    def __repr__(self) -> str:
        # Once it is filled in, every part of it may hold a secret.
        return f"Request({self.method} …)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTemplate:
    """What all requests of a schedule's version have in common, made once."""

    request: Request
    """Without what Rota says about a call (`call_facts`)."""
    definition: Definition
    secrets: tuple[str, ...]
    """The names of those that it wants, in order."""
    _shown: tuple[str, str]

    @staticmethod
    def of(definition: Definition, payload: str | None = None) -> RequestTemplate:
        """The schedule's own request, or the one with this JSON in place of its payload."""
        body, kind = _body(definition) if payload is None else (payload.encode(), _JSON)
        assert definition.target_url is not None
        request = Request(
            method=definition.method,
            url=definition.target_url,
            headers=_headers(definition, kind),
            body=body,
            is_payload=payload is not None or definition.body is None,
        )
        return RequestTemplate(
            request=request,
            definition=definition,
            secrets=tuple(sorted(secret_injection.names_in(request))),
            _shown=_around_facts(request),
        )

    def shown(self, facts: CallFacts) -> str:
        """A request of the schedule as it is remembered."""
        before, after = self._shown
        return f"{before}{msgspec.json.encode(facts.shown()).decode()[1:-1]}{after}"


def request_of(claim: Claim, schedule: Schedule) -> Request:
    """The schedule's target, with what this firing has to say."""
    definition = schedule.definition
    request = RequestTemplate.of(definition, claim.payload).request
    headers = {**request.headers, **facts_of(claim, definition).headers()}
    return replace(request, headers=headers)


def _around_facts(request: Request) -> tuple[str, str]:
    """`Request.shown` before and after the place of Rota's headers, which come last."""
    marked = replace(request, headers={**request.headers, _MARK: ""})
    before, _, after = marked.shown.partition(f'"{_MARK}":""')
    return before, after


def _body(definition: Definition) -> tuple[bytes, str | None]:
    """The content and its type."""
    if definition.body is not None:
        return definition.body.encode(), "text/plain; charset=utf-8"
    if definition.payload is not None:
        return msgspec.json.encode(definition.payload), _JSON
    return b"", None


def _headers(definition: Definition, kind: str | None) -> dict[str, str]:
    """Ours, the owner's in their place, and what nobody may change."""
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*"}
    if kind is not None:
        headers["Content-Type"] = kind
    # Refused when it is made; whatever is stored, Rota's own names are Rota's.
    theirs = {name: value for name, value in definition.headers.items() if not _is_ours(name)}
    # Compressed answers are refused: a kilobyte can unpack to a gigabyte (S5).
    return _over(_over(headers, theirs), {"Accept-Encoding": "identity"})


def _is_ours(name: str) -> bool:
    return name.lower() == "idempotency-key" or name.lower().startswith(FORBIDDEN_PREFIXES)


def _over(headers: dict[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """`more` in place of headers of the same name, in whatever case."""
    replaced = {name.lower() for name in more}
    return {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(
        more
    )
