"""What is sent is written by format strings: it is what the plain way of writing it gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.workers import made

from rota.queue.claim import AtStep, Claim
from rota.queue.external_claims import Tokens
from rota.receiver import verify_call
from rota.tenants.signing.secret import SigningSecret
from rota.workers.delivery import signing
from rota.workers.delivery.call_facts import CallFacts, facts_of, instant_text
from rota.workers.delivery.callback import Callback
from rota.workers.delivery.http import origin, wire
from rota.workers.delivery.http.caller import _signed, _Template
from rota.workers.delivery.request import Request, RequestTemplate

if TYPE_CHECKING:
    from rota.schedules.definition import Definition

HOST = "x.example"
VISIBLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
TOKENS = Tokens(b"t" * 32)
_MICROSECOND = timedelta(microseconds=1)
FIXED = datetime(2026, 5, 1, tzinfo=UTC)
SECRETS = [
    SigningSecret(version=number, key=bytes([number]) * 32, created_at=FIXED) for number in (2, 1)
]


def _definition(fields: dict[str, Any]) -> Definition:
    return made.schedule(**fields).definition


def _instants(first: int, last: int) -> st.SearchStrategy[datetime]:
    start, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last, 1, 1, tzinfo=UTC)
    return st.integers(0, (end - start) // _MICROSECOND).map(lambda n: start + n * _MICROSECOND)


claims = st.builds(
    made.claim,
    id=st.uuids(),
    slot=_instants(1971, 2999),
    attempt=st.integers(1, 9_999),
    catch_up=st.booleans(),
    fence=st.none() | st.integers(0, 2**63 - 1),
    payload=st.none() | st.sampled_from(["{}", '{"a":"ä\\u0000"}', "[1, 2]"]),
    step=st.none()
    | st.builds(
        AtStep, name=st.from_regex(r"[A-Za-z0-9_-]{1,9}", fullmatch=True), compensating=...
    ),
)
definitions = st.fixed_dictionaries(
    {"method": st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])},
    optional={
        "idempotency_key": st.text(VISIBLE, min_size=1, max_size=20),
        "body": st.text(max_size=20),
        "headers": st.dictionaries(
            st.sampled_from(["X-Own", "user-agent", "content-type", "Rota-Token", "Rota-Fence"]),
            st.text(VISIBLE, max_size=10),
        ),
    },
).map(_definition)
facts_at = st.none() | _instants(2020, 2100)


def facts(claim: Claim, definition: Definition, at: datetime | None, url: str | None) -> CallFacts:
    callback = Callback(TOKENS, url)
    return facts_of(
        claim,
        definition,
        token=callback.token(claim),
        callback=callback.url(claim),
        sent_at=None if at is None else int(at.timestamp()),
    )


def plainly(template: RequestTemplate, said: CallFacts) -> Request:
    """The request by way of a mapping of headers, as notifications are signed and sent."""
    request = replace(template.request, headers={**template.request.headers, **said.headers()})
    if said.sent_at is None:
        return request
    keys = [each.key_for(HOST) for each in SECRETS]
    signed = signing.signed_headers(keys, request.method, request.headers, request.body)
    return replace(request, headers={**request.headers, **signed})


@given(claims, definitions, facts_at, st.none() | st.just("https://rota.example/base"))
def test_the_bytes_are_those_of_the_plain_way(
    claim: Claim, definition: Definition, at: datetime | None, url: str | None
) -> None:
    template = RequestTemplate.of(definition, claim.payload)
    said = facts(claim, definition, at, url)
    request = plainly(template, said)
    sent = _signed(_Template(template).filled(()), said, SECRETS)
    assert sent.data == wire.encode(request, *origin.split(request.url))
    own = [request.headers.get(name, "") for name in ("Rota-Token", *signing_headers(said))]
    assert sent.own.split() == " ".join(own).split()


def signing_headers(said: CallFacts) -> tuple[str, ...]:
    return () if said.sent_at is None else (signing.SIGNATURE, signing.CALL_SIGNATURE)


@given(claims, definitions, facts_at, st.none() | st.just("https://rota.example"))
def test_what_is_shown_is_the_plain_way_without_what_is_hidden(
    claim: Claim, definition: Definition, at: datetime | None, url: str | None
) -> None:
    template = RequestTemplate.of(definition, claim.payload)
    said = facts(claim, definition, at, url)
    shown = template.shown(said)
    assert shown == plainly(template, said).shown
    for value in (TOKENS.token(claim.id, claim.attempt), "v1,"):
        assert value not in "".join(msgspec.json.decode(shown)["headers"].values())


@given(claims, definitions, st.none() | st.just("https://rota.example"))
def test_the_receiver_verifies_what_is_sent(
    claim: Claim, definition: Definition, url: str | None
) -> None:
    template = RequestTemplate.of(definition, claim.payload)
    said = facts(claim, definition, FIXED, url)
    head, _, body = _signed(_Template(template).filled(()), said, SECRETS).data.partition(
        b"\r\n\r\n"
    )
    lines = (line.partition(": ") for line in head.decode().split("\r\n")[1:])
    headers = {name: value for name, _, value in lines}
    call = verify_call(definition.method, headers, body, [SECRETS[1].text_for(HOST)], FIXED)
    assert (call.attempt, call.fence, call.firing_id) == (
        claim.attempt,
        claim.fence,
        said.firing_id,
    )
    assert call.scheduled_for == claim.scheduled_for


@given(_instants(1971, 2999), st.integers(-12, 12))
def test_an_instant_is_written_in_utc(instant: datetime, hours: int) -> None:
    elsewhere = instant.astimezone(timezone(timedelta(hours=hours)))
    plain = instant.isoformat().replace("+00:00", "Z")
    assert instant_text(elsewhere) == instant_text(instant) == plain


def test_nothing_hidden_is_in_a_repr() -> None:
    said = facts(made.claim(), made.schedule().definition, FIXED, None)
    sent = _signed(_Template(RequestTemplate.of(made.schedule().definition)).filled(()), said, ())
    for each in (said, sent, sent.filled, sent.filled.frame):
        assert str(said.token) not in repr(each)
