"""What comes back is recorded without the secrets that were sent (S8)."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.clock import SystemClock
from rota.workers import disguise
from rota.workers.calls import Reply
from rota.workers.disguise import unescaped
from rota.workers.scrub import MASK, Hidden, scrub, without

CANARY = 'CANARY/5d+2?"é\\<&>\n'
# Without the mask's own character: a secret made of it cannot be told from it.
SECRETS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="…"), min_size=4, max_size=40
)
AROUND = st.binary(max_size=30)

ECHOES = {
    "plain": CANARY,
    "quoted": quote(CANARY, safe=""),
    "quoted as a path": quote(CANARY),
    "quoted as a form": quote_plus(CANARY),
    "quoted in mixed case": quote(CANARY, safe="").replace("%2F", "%2f").replace("%C3", "%c3"),
    "json of go": json.dumps(CANARY)[1:-1].replace("<", "\\u003c").replace("&", "\\u0026"),
    "json": json.dumps(CANARY)[1:-1],
    "json in utf-8": json.dumps(CANARY, ensure_ascii=False)[1:-1],
    "json of php": json.dumps(CANARY)[1:-1].replace("/", "\\/"),
    "html": html.escape(CANARY),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64 for urls": base64.urlsafe_b64encode(CANARY.encode()).decode(),
    "hex": CANARY.encode().hex(),
    "basic authentication": base64.b64encode(b"user:" + CANARY.encode()).decode(),
    "basic authentication, shorter": base64.b64encode(b"usr:" + CANARY.encode() + b"!").decode(),
    "basic authentication, aligned": base64.b64encode(b"users:" + CANARY.encode()).decode(),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
def test_an_echo_is_taken_out_of_body_headers_and_error(echo: str) -> None:
    reply = Reply(
        code=200,
        headers=(("X-Echo", f"<{echo}>"), (f"X-{echo}", "1")),
        body=f"you sent {echo}!".encode(),
        error=f"bad: {echo}",
    )
    seen = scrub(reply, Hidden.of(CANARY))
    text = repr(seen) + seen.body.decode()
    assert echo not in text
    assert echo[8:-4] not in text
    assert seen.body.startswith(b"you sent ")
    assert seen.code == 200


def test_a_reply_without_any_is_left_as_it_is() -> None:
    reply = Reply(code=200, headers=(("A", "b"),), body=b"\xff\x00 fine")
    assert scrub(reply, Hidden.of(CANARY)) is reply
    assert scrub(reply, Hidden()) is reply


def test_header_bytes_that_were_read_as_latin_1_are_seen_through() -> None:
    secret = "pässwörd-é"
    echoed = f"got {secret}".encode().decode("latin-1")
    seen = scrub(Reply(code=200, headers=(("X", echoed),)), Hidden.of(secret))
    assert seen.headers == (("X", f"got {MASK}"),)


@pytest.mark.parametrize("cut", range(4, len(CANARY.encode())))
def test_a_value_that_is_cut_off_at_the_end_goes_too(cut: int) -> None:
    """The capture ends somewhere: the beginning of a secret must not be left there."""
    for echo in (CANARY.encode(), quote(CANARY, safe="").encode()):
        body = b"x" * 100 + echo[:cut]
        assert (
            scrub(Reply(code=200, body=body), Hidden.of(CANARY)).body == b"x" * 100 + MASK.encode()
        )


@given(SECRETS, AROUND, AROUND)
def test_no_form_of_a_secret_is_left(secret: str, before: bytes, after: bytes) -> None:
    hidden = Hidden.of(secret)
    for form in hidden.forms:
        clean = without(before + form + after, hidden)
        assert not any(each in clean for each in hidden.forms)


@given(SECRETS, st.binary(max_size=20), st.binary(max_size=20))
def test_no_base64_of_it_with_anything_around_is_left(
    secret: str, before: bytes, after: bytes
) -> None:
    data = secret.encode()
    encoded = base64.b64encode(before + data + after)
    clean = without(encoded, Hidden.of(secret))
    # Whole groups of the secret's own bytes: what may be left at its two ends is less than one.
    first = (-len(before)) % 3
    own = base64.b64encode(data[first : first + (len(data) - first) // 3 * 3])
    if len(own) >= 4 and len(data) >= 6:
        assert own not in clean


@given(st.lists(SECRETS, min_size=2, max_size=4), AROUND)
def test_secrets_that_hold_one_another_are_all_taken_out(secrets: list[str], around: bytes) -> None:
    secrets = [*secrets, secrets[0] + secrets[1]]
    hidden = Hidden.all(map(Hidden.of, secrets))
    clean = without(around.join(each.encode() for each in secrets), hidden)
    assert not any(each.encode() in clean for each in secrets)


def test_short_secrets_do_not_make_a_body_longer() -> None:
    seen = scrub(Reply(code=200, body=b"a" * 1_000), Hidden.of("a"))
    assert len(seen.body) <= 1_000
    assert b"a" not in seen.body


def test_what_is_derived_from_a_short_secret_is_not_looked_for() -> None:
    assert set(Hidden.of("ab").forms) == {b"ab", b"6162", b"YWI="}


def _escape(char: str, way: int) -> str:
    """One of the ways to write a character."""
    ways = (
        "".join(f"%{byte:02X}" for byte in char.encode()),
        "".join(f"%{byte:02x}" for byte in char.encode()),
        json.dumps(char)[1:-1],
        f"\\u{ord(char):04X}" if ord(char) < 65_536 else json.dumps(char)[1:-1],
        html.escape(char),
        f"&#{ord(char)};",
        f"&#x{ord(char):X};",
    )
    return ways[way]


@given(
    st.text(
        # Those with which an escape begins have to be escaped themselves: then it is no mixture.
        st.characters(exclude_categories=("Cs",), exclude_characters="…\\%&"),
        min_size=4,
        max_size=40,
    ),
    st.data(),
)
def test_no_mixture_of_escapes_gets_through(secret: str, data: st.DataObject) -> None:
    """Every program has its own idea of what needs an escape."""
    written = "".join(
        c if c.isascii() and c.isalnum() else _escape(c, data.draw(st.integers(0, 6)))
        for c in secret
    )
    hidden = Hidden.of(secret)
    assert written.encode() not in without(b"<" + written.encode() + b">", hidden)
    again = json.dumps(written)[1:-1].encode()
    assert again not in without(b"<" + again + b">", hidden)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_they_can_be_read(data: bytes) -> None:
    read = unescaped(data)
    assert read.data == disguise.read(data)
    assert len(read.data) <= 2 * len(data)
    for at in range(len(read.data)):
        start, end = read.origin(at, at + 1)
        assert 0 <= start < end <= len(data)


def test_a_hostile_body_takes_no_more_than_a_moment() -> None:
    """A megabyte of escapes, and of almost the secret: linear in both."""
    clock = SystemClock()
    hidden = Hidden.of("%25" * 200 + "!")
    for body in (b"%25" * 350_000, b"%2525" * 200_000, b"\\" * 1_000_000, b"&#37;" * 200_000):
        began = clock.monotonic()
        scrub(Reply(code=200, body=body), hidden)
        assert clock.monotonic() - began < 5
