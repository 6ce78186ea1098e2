"""A command that only calls a URL becomes that call, or is told apart."""

from __future__ import annotations

import contextlib
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cli.test_crontab import imported, one

from rota.library.importers.crontab import calls, shell
from rota.library.importers.crontab.entries import Target

URL = "https://acme.example/hook"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"curl {URL}", {"method": "GET"}),
        (f"/usr/bin/curl -fsS {URL} > /dev/null 2>&1", {"method": "GET"}),
        (f"curl -s -o /dev/null -w '%{{http_code}}' {URL}", {"method": "GET"}),
        (f"curl -sSo/dev/null {URL} >>/var/log/x 2>>/var/log/y", {"method": "GET"}),
        (f"curl -XPUT {URL} &>/dev/null", {"method": "PUT"}),
        (f"curl -X DELETE --url {URL}", {"method": "DELETE"}),
        (f"curl -I {URL} # is it up?", {"method": "HEAD"}),
        (f"curl -d a=1 -d b=2 {URL}", {"method": "POST", "headers": FORM, "body": "a=1&b=2"}),
        (f"curl -G -d a=1 {URL}", {"method": "GET", "target_url": f"{URL}?a=1"}),
        (
            f"curl -H 'Content-Type: application/json' -H \"X-A: b c\" -d '{{\"a\": 1}}' {URL}",
            {
                "method": "POST",
                "headers": {"Content-Type": "application/json", "X-A": "b c"},
                "body": '{"a": 1}',
            },
        ),
        (
            f"curl --json '[1]' {URL}",
            {
                "method": "POST",
                "headers": {"Content-Type": "application/json", "Accept": "application/json"},
                "body": "[1]",
            },
        ),
        (
            f"curl --data-urlencode 'a=x y&z' --data-raw @b {URL}",
            {"method": "POST", "headers": FORM, "body": "a=x%20y%26z&@b"},
        ),
        (
            f"curl -u ana:pw -A me -m 20 --retry 4 {URL}",
            {
                "method": "GET",
                "headers": {"User-Agent": "me", "Authorization": "Basic YW5hOnB3"},
                "timeout_seconds": 20,
                "max_attempts": 5,
            },
        ),
        (f"wget -qO- {URL}", {"method": "GET"}),
        (f"wget -q -O /dev/null {URL}?a=1", {"method": "GET", "target_url": f"{URL}?a=1"}),
        (
            f"wget --spider -nv --tries=2 -T 9 {URL}",
            {"method": "HEAD", "max_attempts": 2, "timeout_seconds": 9},
        ),
        (
            f"wget --quiet --header='X-A: b' --post-data 'a=1' {URL}",
            {"method": "POST", "headers": {"X-A": "b", **FORM}, "body": "a=1"},
        ),
        ("curl acme.example/x", {"method": "GET", "target_url": "http://acme.example/x"}),
    ],
)
def test_a_call_becomes_the_same_request(command: str, expected: dict[str, Any]) -> None:
    fields, notes = calls.read(command)
    assert notes == []
    assert fields == {"target_url": URL} | expected


def test_the_input_of_a_line_can_be_the_body() -> None:
    entry = one(f"@daily curl --data-binary @- {URL}%one%two")
    assert entry["body"] == "one\ntwo\n"
    assert "payload" not in entry


def test_redirects_are_not_followed_and_that_is_said() -> None:
    read = imported(f"@daily curl -fsSL {URL}", target=Target())
    assert read.entries[0]["target_url"] == URL
    assert read.notes == [(1, "it follows redirects (-L), which Rota never does")]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (f"curl {URL} | mail ana", "|, so it is more than one command"),
        (f"curl {URL} && echo ok", "&, so it is more than one command"),
        (f"curl {URL}?a=1&b=2", "&, so it is more than one command"),
        (f"curl {URL}; date", ";, so it is more than one command"),
        ('curl "$HOOK"', "$, which only a shell fills in"),
        (f"curl {URL}/`hostname`", "`, which only a shell fills in"),
        (f"curl -d @/etc/motd {URL}", "data from a file"),
        (f"curl -F a=b {URL}", "the option -F"),
        (f"curl --proxy x {URL}", "the option --proxy"),
        (f"curl -k {URL}", "-k, which asks not to check the certificate"),
        (f"wget --no-check-certificate {URL}", "which asks not to check the certificate"),
        (f"curl {URL} {URL}", "2 URLs instead of one"),
        ("curl -s", "0 URLs instead of one"),
        ("curl ftp://acme.example/x", "a URL of ftp"),
        ("curl https://acme.example/[1-3]", "a URL that stands for several"),
        (f"curl '{URL}", "a quote that is not closed"),
        (f"curl {URL} -X", "-X without its value"),
        (f"curl -m soon {URL}", "'soon' where a number above 0 was expected"),
        (f"curl -b jar.txt {URL}", "cookies from a file"),
        (f"curl {URL} < /etc/motd", "<, so it is more than one command"),
    ],
)
def test_what_is_not_only_a_call_is_told_with_the_reason(command: str, reason: str) -> None:
    with pytest.raises(shell.NotSimple) as caught:
        calls.read(command)
    assert reason in str(caught.value)
    line = f"@daily {command}"
    (problem,) = imported(line, target=Target()).refused
    assert f"its call is not understood: it has {caught.value}" in problem.reason
    # With somebody to run it, it goes on as the command it was, and that is said.
    read = imported(line)
    assert read.entries[0]["payload"] == {"command": command}
    assert "so it goes as a command" in read.notes[0][1]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_words_are_split_as_a_shell_does(words: list[str]) -> None:
    assert shell.words(shlex.join(words)) == words


@given(st.text(max_size=30))
def test_any_text_is_words_or_told_apart(text: str) -> None:
    with contextlib.suppress(shell.NotSimple):
        assert all(isinstance(word, str) for word in shell.words(text))
