"""Zones hold exactly what the tzdata package's files say, and go by IANA names only (TZ3, TZ4)."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.clock import clock, digest, epoch, tzdata_names

from rota.errors import InvalidTimezone
from rota.triggers.zones import names, zone

FIRST, LAST = epoch(datetime(1970, 1, 1, tzinfo=UTC)), epoch(datetime(2100, 1, 1, tzinfo=UTC))
CHUNKS = 8


def kinds() -> list[list[str]]:
    """Accepted names, grouped by files that are byte for byte the same."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names()):
        groups.setdefault(digest(name), []).append(name)
    return list(groups.values())


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_zone_has_the_offsets_of_zoneinfo_at_and_around_every_change(chunk: int) -> None:
    for group in kinds()[chunk::CHUNKS]:
        reference = clock(group[0])
        ours = zone(group[0])
        random = Random(group[0])
        looks = {FIRST, LAST, *(random.randrange(FIRST, LAST) for _ in range(100))}
        for change in reference.changes(FIRST, LAST):
            looks |= {change.at - 86_400, change.at - 1, change.at, change.at + 1}
        wrong = [at for at in looks if ours.offset_at(at) != reference.offset(at)]
        assert not wrong, (group[0], sorted(wrong)[:5])


def test_every_accepted_name_resolves_to_its_own_file() -> None:
    for group in kinds():
        reference = clock(group[0])
        looks = [change.at for change in reference.changes(FIRST, LAST)] or [FIRST]
        expected = [reference.offset(at) for at in looks]
        for name in group:
            found = zone(name)
            assert found.name == name
            assert [found.offset_at(at) for at in looks] == expected, name


@given(
    st.sampled_from(sorted(names())), st.integers(FIRST, epoch(datetime(2299, 1, 1, tzinfo=UTC)))
)
def test_a_zone_has_the_offset_of_zoneinfo_at_any_instant(name: str, at: int) -> None:
    assert zone(name).offset_at(at) == clock(name).offset(at)


def test_all_names_with_a_region_are_accepted_and_all_accepted_names_are_known() -> None:
    known = set(tzdata_names())
    accepted = set(names())
    assert {name for name in known if "/" in name} <= accepted
    assert accepted <= known
    assert "UTC" in accepted
    for name in accepted:
        assert zone(name).name == name


ABBREVIATIONS = (
    "EST",
    "CST",
    "MST",
    "PST",
    "HST",
    "EDT",
    "EST5EDT",
    "CST6CDT",
    "MST7MDT",
    "PST8PDT",
    "GMT",
    "CET",
    "MET",
    "EET",
    "WET",
    "IST",
    "BST",
)


@pytest.mark.parametrize("name", ABBREVIATIONS)
def test_an_abbreviation_is_refused_even_where_tzdata_lists_it(name: str) -> None:
    with pytest.raises(InvalidTimezone) as caught:
        zone(name)
    sentence = f"Invalid timezone: {name}. Use IANA format (e.g., America/New_York)"
    assert str(caught.value) == sentence
    assert name not in names()


JUNK = (
    "",
    " ",
    "junk",
    "Mars/Olympus_Mons",
    "America",
    "America/",
    "America/Argentina",
    "/America/New_York",
    "America//New_York",
    "America/New_York/",
    " America/New_York",
    "America/New_York ",
    "America/New_York\n",
    "America/New_York\0",
    "America\\New_York",
    "../../etc/passwd",
    "../zones",
    "America/../UTC",
    "./UTC",
    "/etc/localtime",
    "C:/Windows",
    "zone.tab",
    "zone1970.tab",
    "tzdata.zi",
    "leapseconds",
    "__init__.py",
    "posixrules",
    "localtime",
    "Europe/M\N{LATIN SMALL LETTER A WITH ACUTE}laga",
    "A" * 10_000,
    "America/" * 1_000,
    # Offsets are written in full, with a sign, and end at fourteen hours.
    "+5:30",
    "05:30",
    "+0530",
    "+05",
    "+5",
    "+05:60",
    "+24:00",
    "+15:00",
    "-15:00",
    "+14:01",
    "-14:01",
    "+05:30:00",
    "++05:30",
    "+-05:30",
    "+05:3a",
    "\N{MINUS SIGN}08:00",
    "+\N{ARABIC-INDIC DIGIT ZERO}5:30",
    "UTC+5",
    "UTC+05:30",
    "GMT+5",
    "GMT-08:00",
)


@pytest.mark.parametrize("name", JUNK)
def test_what_is_not_a_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidTimezone, match=r"^Invalid timezone: "):
        zone(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("america/new_york", "America/New_York"),
        ("EUROPE/MADRID", "Europe/Madrid"),
        ("America/New York", "America/New_York"),
    ],
)
def test_a_near_miss_is_refused_and_told_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(InvalidTimezone) as caught:
        zone(name)
    # The example in the sentence is New York itself, so look after it.
    _, _, hint = str(caught.value).partition("(e.g., America/New_York)")
    assert meant in hint


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("UTC", 0),
        ("Z", 0),
        ("Etc/UTC", 0),
        ("+00:00", 0),
        ("-00:00", 0),
        ("+05:30", 19_800),
        ("-08:00", -28_800),
        ("+14:00", 50_400),
        ("-14:00", -50_400),
        ("-09:30", -34_200),
        ("Etc/GMT+5", -18_000),
    ],
)
def test_utc_and_fixed_offsets_never_change(name: str, offset: int) -> None:
    fixed = zone(name)
    looks = range(FIRST, LAST, 10_000_019)
    assert {fixed.offset_at(at) for at in looks} == {offset}


@given(st.text(max_size=40))
def test_any_text_is_a_zone_or_the_declared_error(text: str) -> None:
    try:
        found = zone(text)
    except InvalidTimezone:
        return
    assert isinstance(found.offset_at(0), int)
