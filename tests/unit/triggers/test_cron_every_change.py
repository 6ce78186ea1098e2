"""Every change of the clock from 1990 to 2040, in every zone, forwards and backwards.

Each change meets six expressions aimed at it, taken in turn from a list, so that a run covers
every pair of zone and change and every expression thousands of times; each shape of change meets
them all. Zones whose clocks change
alike are walked once; that every name stands for the same clock is asserted for each.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from tests.oracle import cron as oracle
from tests.oracle.clock import Change, clock, epoch, utc
from tests.oracle.strategies import FIRST, LAST, kinds

from rota.triggers.cron import Cron
from rota.triggers.zones import names, zone

HOUR = 3_600
CHUNKS = 12
EACH = 6

Aimed = list[tuple[str, int]]


def aimed_at(change: Change) -> Aimed:
    """Expressions that have something to decide there, each with the hours to look either side."""
    walls = sorted((change.at + change.before, change.at + change.after))
    start, end = (datetime.fromtimestamp(wall, UTC) for wall in walls)
    middle = start + (end - start) / 2
    m, h = middle.minute, middle.hour
    here = f"{m} {h}"
    weekday, nth = middle.strftime("%a"), (middle.day + 6) // 7
    return [
        (f"{here} * * *", 30),
        (f"{start.minute},{m} {start.hour},{h} * * *", 30),
        (f"{end.minute} {end.hour} * * *", 30),
        (f"{here} {middle.day} {middle.month} *", 60),
        (f"*/15 {h} * * *", 26),
        (f"{m} * * * *", 6),
        ("0 */2 * * *", 14),
        ("*/30 * * * *", 5),
        ("0 0 * * *", 30),
        ("59 23 * * *", 30),
        ("0 1-3 * * *", 30),
        ("0,30 0-5,22-23 * * *", 20),
        ("7 */6 * * *", 30),
        (f"*/20 {here} * * *", 26),
        (f"15,45 {here} * * *", 26),
        ("59 59 * * * *", 5),
        (f"59 59 {h} * * *", 26),
        (f"* {start.minute} {start.hour} * * *", 3),
        (f"0 {here} {middle.day} {middle.month} ? {middle.year}", 60),
        (f"{here} L,1,15 * *", 30),
        (f"{here} {middle.day}W * *", 60),
        (f"{here} * * {weekday}#{nth}", 60),
        (f"0-59/7 {h} * * *", 26),
        (f"*/7 {h}/3 * * *", 10),
        (f"{m} {h} */2 * {weekday}", 60),
    ]


@cache
def parsed(text: str, name: str) -> Cron:
    return Cron.parse(text, name)


def forwards(trigger: Cron, start: int, end: int) -> list[int]:
    found: list[int] = []
    slot = trigger.next_after(utc(start) - timedelta(microseconds=1))
    while slot is not None and (at := epoch(slot)) < end:
        found.append(at)
        slot = trigger.next_after(slot)
    return found


def backwards(trigger: Cron, start: int, end: int) -> list[int]:
    found: list[int] = []
    slot = trigger.previous_before(utc(end))
    while slot is not None and (at := epoch(slot)) >= start:
        found.append(at)
        slot = trigger.previous_before(slot)
    return found[::-1]


def disagreements(name: str, change: Change, turn: int, count: int = EACH) -> list[str]:
    aimed = aimed_at(change)
    wrong: list[str] = []
    for each in range(count):
        text, hours = aimed[(turn * EACH + each) % len(aimed)]
        start, end = change.at - hours * HOUR, change.at + hours * HOUR
        expected = oracle.slots(oracle.expression(text), clock(name), start, end)
        trigger = parsed(text, name)
        if forwards(trigger, start, end) != expected:
            wrong.append(f"{text!r} {name} forwards around {utc(change.at)}")
        if backwards(trigger, start, end) != expected:
            wrong.append(f"{text!r} {name} backwards around {utc(change.at)}")
    return wrong


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_change_in_every_zone_fires_as_the_oracle_says(chunk: int) -> None:
    wrong: list[str] = []
    for number, group in list(enumerate(accepted()))[chunk::CHUNKS]:
        for turn, change in enumerate(clock(group[0]).changes(FIRST, LAST)):
            wrong += disagreements(group[0], change, number + turn)
    assert not wrong, wrong[:10]


def test_every_shape_of_change_meets_every_expression() -> None:
    shapes: dict[tuple[int, int, int], tuple[str, Change]] = {}
    for group in accepted():
        for change in clock(group[0]).changes(FIRST, LAST):
            wall = (change.at + change.before) % 86_400
            shapes.setdefault((change.before, change.after, wall), (group[0], change))
    assert len(shapes) > 100
    for name, change in shapes.values():
        assert not disagreements(name, change, turn=0, count=len(aimed_at(change)))


def test_zones_whose_clocks_never_change_fire_as_the_oracle_says() -> None:
    still = [group[0] for group in accepted() if not clock(group[0]).changes(FIRST, LAST)]
    assert len(still) > 20
    for turn, name in enumerate([*still, "UTC", "Z", "+05:45", "-03:30", "+14:00"]):
        at = epoch(datetime(1991 + turn % 49, 3, 31, 1, 30, tzinfo=UTC))
        for aim in range(0, 25, EACH):
            pretended = Change(at, clock(name).offset(at), clock(name).offset(at) + HOUR)
            assert not disagreements(name, pretended, turn + aim)


def test_every_name_stands_for_the_clock_of_its_group() -> None:
    for group in accepted():
        looks = [FIRST, LAST - 1]
        for change in clock(group[0]).changes(FIRST, LAST):
            looks += [change.at - 1, change.at]
        expected = [clock(group[0]).offset(at) for at in looks]
        for name in group:
            ours = zone(name)
            assert [ours.offset_at(at) for at in looks] == expected, name


def test_the_passes_together_meet_every_change_and_use_every_expression() -> None:
    used: Counter[int] = Counter()
    changes = 0
    for number, group in enumerate(accepted()):
        for turn, change in enumerate(clock(group[0]).changes(FIRST, LAST)):
            changes += 1
            choices = len(aimed_at(change))
            used.update(((number + turn) * EACH + each) % choices for each in range(EACH))
    assert changes > 9_000
    assert len(used) == len(aimed_at(Change(0, 0, HOUR)))
    assert min(used.values()) > 1_000
    assert {name for group in accepted() for name in group} == set(names())


@cache
def accepted() -> tuple[tuple[str, ...], ...]:
    """The groups, with the names Rota takes."""
    taken = set(names())
    groups = (tuple(name for name in group if name in taken) for group in kinds())
    return tuple(group for group in groups if group)
