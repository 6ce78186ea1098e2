"""What comes back is recorded without the secrets that were sent (S8)."""

from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.workers.caller import Reply
from rota.workers.delivery import secret_forms
from rota.workers.delivery.redaction import MASK, Hidden, Watch, scrub, without
from rota.workers.delivery.secret_forms import unescaped

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


_PIECES = st.sampled_from(
    [
        *ECHOES.values(),
        *(echo[:-3] for echo in ECHOES.values()),
        "ok",
        "%2",
        "\n",
        "\\u00",
        "é",
        "v1,",
    ]
)
_TEXTS = st.lists(_PIECES | st.text(max_size=5), max_size=3).map("".join)


@given(
    st.lists(st.tuples(_TEXTS, _TEXTS), max_size=3),
    _TEXTS.map(str.encode) | st.binary(max_size=20),
    st.none() | _TEXTS,
    st.sampled_from([CANARY, "a", "v1,abcdef", "%41%42%43", "pässwörd-é"]),
)
def test_what_the_watch_lets_pass_is_left_as_it_is(
    headers: list[tuple[str, str]], body: bytes, error: str | None, secret: str
) -> None:
    """A reply that is not looked at any further has nothing in it that would be taken out."""
    hidden = Hidden.all([Hidden.of(secret), Hidden((b"v1,signature", b"rft_token"))])
    reply = Reply(code=200, headers=tuple(headers), body=body, error=error)
    if not Watch(hidden).may_show(reply):
        assert scrub(reply, hidden) is reply


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
def test_the_watch_sees_every_echo(echo: str) -> None:
    watch = Watch(Hidden.of(CANARY))
    assert watch.may_show(Reply(code=200, body=echo.encode()))
    assert watch.may_show(Reply(code=200, headers=(("X-Echo", echo),)))
    assert watch.may_show(Reply(error=echo))
    assert not watch.may_show(Reply(code=200, headers=(("A", "b"),), body=b"ok"))
    assert not Watch(Hidden()).may_show(Reply(code=200, body=echo.encode()))


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


@pytest.mark.parametrize("width", [4, 60, 64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\\r\\n", "\n ", "&#10;", "%0A"])
def test_base64_and_hexadecimal_in_lines_are_recognised(width: int, end: str) -> None:
    secret = "s3cret-" + "0123456789abcdef" * 8
    for data in (f"user:{secret}", secret, f"x{secret}y"):
        for text in (
            base64.b64encode(data.encode()).decode(),
            base64.urlsafe_b64encode(data.encode()).decode(),
            data.encode().hex(),
        ):
            lines = end.join(text[at : at + width] for at in range(0, len(text), width))
            clean = without(f"-----BEGIN-----\n{lines}\n".encode(), Hidden.of(secret))
            assert clean.startswith(b"-----BEGIN-----")
            left = clean.decode().replace(end, "").removeprefix("-----BEGIN-----")
            # What shares its bits with what stands before or behind may be left, and no more.
            assert len(left) <= 16


def _escape(char: str, way: int) -> str:
    """One of the ways to write a character."""
    units = char.encode("utf-16-be").hex()
    pair = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    ways = (
        "".join(f"%{byte:02X}" for byte in char.encode()),
        "".join(f"%{byte:02x}" for byte in char.encode()),
        pair,
        pair.upper().replace("\\U", "\\u"),
        f"\\u{{{ord(char):x}}}",
        html.escape(char),
        f"&#{ord(char)};",
        f"&#{ord(char):07d};",
        f"&#x{ord(char):X};",
        f"&#X{ord(char):06x};",
        char,
    )
    return ways[way % len(ways)]


PLAIN_SECRETS = st.text(
    # Those with which an escape begins have to be escaped themselves: then it is no mixture. And
    # what html.escape leaves as it is may not be followed by what would make an escape of it.
    st.characters(exclude_categories=("Cs",), exclude_characters="…\\%&"),
    min_size=4,
    max_size=40,
)


@given(PLAIN_SECRETS, st.lists(st.integers(0, 10), min_size=40, max_size=40), AROUND, AROUND)
def test_no_mixture_of_escapes_gets_through(
    secret: str, ways: list[int], before: bytes, after: bytes
) -> None:
    """Any character may be escaped, ordinary ones too, and each in another way."""
    written = "".join(_escape(c, way) for c, way in zip(secret, ways, strict=False)).encode()
    hidden = Hidden.of(secret)
    # A blank stands between: a stranger's half of an escape would make another of ours.
    for data in (written, json.dumps(written.decode())[1:-1].encode(), quote(written).encode()):
        clean = without(before + b" " + data + b" " + after, hidden)
        assert data not in clean
        for read in (clean, secret_forms.read(clean), secret_forms.read(secret_forms.read(clean))):
            assert secret.encode() not in read


@pytest.mark.parametrize("secret", ["a%41b-cd", "x\\u0041y\\n", "&#65;&amp;&", "100%&\\/z"])
@pytest.mark.parametrize("ways", [(0, 1), (2, 3), (6, 7, 8, 9)], ids=["urls", "strings", "html"])
def test_a_secret_that_looks_like_an_escape_is_found_in_every_spelling(
    secret: str, ways: tuple[int, ...]
) -> None:
    every = "".join(_escape(c, ways[at % len(ways)]) for at, c in enumerate(secret))
    some = "".join(
        _escape(c, ways[0]) if c in "%\\&" or at % 2 else c for at, c in enumerate(secret)
    )
    for written in (secret, every, some):
        clean = without(f"<{written}>".encode(), Hidden.of(secret))
        assert clean == f"<{MASK}>".encode()


@pytest.mark.parametrize("way", [0, 2, 7, 9])
def test_an_escaped_secret_that_is_cut_off_goes_too(way: int) -> None:
    secret = "sk_live_51H8x9"
    written = "".join(_escape(c, way) for c in secret).encode()
    longest = len(_escape("x", way)) * 5
    for cut in range(longest, len(written)):
        clean = without(b"got: " + written[:cut], Hidden.of(secret))
        assert clean == f"got: {MASK}".encode(), written[:cut]


@given(st.binary(max_size=300), st.lists(SECRETS, min_size=1, max_size=3))
def test_data_without_any_secret_is_left_as_it_is(data: bytes, secrets: list[str]) -> None:
    hidden = Hidden.all(map(Hidden.of, secrets))
    readings = [data, secret_forms.read(data), secret_forms.read(secret_forms.read(data))]
    readings += [secret_forms.read(each, secret_forms.WRAPPED) for each in readings]
    readings += [secret_forms.read(data, each) for (each,) in secret_forms.STRICT_VIEWS]
    shown = [form[:4] for form in (*hidden.forms, *hidden.values, *hidden.encodings)]
    if not any(each in reading for each in shown for reading in readings):
        assert without(data, hidden) == data


@given(st.binary(max_size=200))
def test_whatever_the_bytes_they_can_be_read(data: bytes) -> None:
    read = unescaped(data)
    assert read.data == secret_forms.read(data)
    assert len(read.data) <= 2 * len(data)
    for at in range(len(read.data)):
        start, end = read.origin(at, at + 1)
        assert 0 <= start < end <= len(data)


def test_a_hostile_body_takes_no_more_than_a_moment() -> None:
    """A megabyte of escapes, and of almost the secret: linear in both."""
    hidden = Hidden.all([Hidden.of("%25" * 200 + "!"), *(Hidden.of(f"key-{n}") for n in range(20))])
    for body in (
        b"%25" * 350_000,
        b"%2525" * 200_000,
        b"\\" * 1_000_000,
        b"&#37;" * 200_000,
        b"&#" * 500_000,
        b"&" + b"a" * 1_000_000,
        b"\\u0025" * 160_000,
        b"\\ud83d" * 160_000,
        b"\n" * 1_000_000,
        b"\n " * 500_000,
        b" " * 1_000_000,
    ):
        began = time.thread_time()
        scrub(Reply(code=200, body=body), hidden)
        assert time.thread_time() - began < 60
