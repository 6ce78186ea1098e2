"""Ids: roundtrip, order, determinism, and what strangers write in URLs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rota import ids
from rota.ids import InvalidId, Kind

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEDULE = UUID("0195f2a0-0000-7000-8000-000000000001")

kinds = st.sampled_from(Kind)
instants = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
slots = st.tuples(st.uuids(), instants)


@given(kinds, st.uuids())
def test_text_reads_back_as_the_same_id(kind: Kind, id_: UUID) -> None:
    text = ids.to_text(kind, id_)
    assert text.startswith(f"{kind.value}_")
    assert len(text) == 30
    assert ids.from_text(kind, text) == id_


@given(kinds, st.uuids())
def test_text_is_read_in_either_case_and_written_in_one(kind: Kind, id_: UUID) -> None:
    text = ids.to_text(kind, id_)
    assert ids.from_text(kind, text.lower()) == ids.from_text(kind, text.upper()) == id_
    assert text == f"{kind.value}_{text[4:].upper()}"


@given(st.uuids(), st.uuids())
def test_text_sorts_as_the_stored_ids_do(one: UUID, other: UUID) -> None:
    texts = [ids.to_text(Kind.FIRING, id_) for id_ in (one, other)]
    assert (texts[0] < texts[1]) == (one.bytes < other.bytes)


def test_a_known_slot_keeps_its_id_for_ever() -> None:
    # If this fails, every slot has a new id and would fire again after the upgrade.
    assert (
        ids.to_text(Kind.FIRING, ids.firing_id(SCHEDULE, NOON)) == "fir_01KJMMA2G0DGW0HGV5NE2AJ6DJ"
    )


@given(slots)
def test_a_slot_has_one_id_in_whatever_zone_it_is_written(slot: tuple[UUID, datetime]) -> None:
    schedule_id, scheduled_for = slot
    assume(scheduled_for.year < 9999)
    elsewhere = scheduled_for.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert ids.firing_id(schedule_id, scheduled_for) == ids.firing_id(schedule_id, elsewhere)


@given(slots, slots)
def test_different_slots_have_different_ids(
    one: tuple[UUID, datetime], other: tuple[UUID, datetime]
) -> None:
    assume(one != other)
    assert ids.firing_id(*one) != ids.firing_id(*other)


@given(st.uuids(), instants, st.integers(1, 999))
def test_slots_within_one_millisecond_are_told_apart(
    schedule_id: UUID, scheduled_for: datetime, micros: int
) -> None:
    millis = scheduled_for.replace(microsecond=scheduled_for.microsecond // 1000 * 1000)
    later = millis + timedelta(microseconds=micros)
    assert ids.firing_id(schedule_id, millis) != ids.firing_id(schedule_id, later)


@given(slots, slots)
def test_ids_sort_by_time(one: tuple[UUID, datetime], other: tuple[UUID, datetime]) -> None:
    assume(other[1] - one[1] >= timedelta(milliseconds=1))
    assert ids.firing_id(*one) < ids.firing_id(*other)
    assert ids.new(at=one[1]) < ids.new(at=other[1])
    assert ids.manual_firing_id(one[1]) < ids.firing_id(*other)


@given(st.lists(slots))
def test_many_at_once_are_the_same_as_one_by_one(many: list[tuple[UUID, datetime]]) -> None:
    assert ids.firing_ids(many) == [ids.firing_id(*slot) for slot in many]


def test_drawn_ids_never_repeat() -> None:
    drawn = [ids.new(at=NOON) for _ in range(1000)]
    manual = [ids.manual_firing_id(NOON) for _ in range(1000)]
    assert len({*drawn, *manual}) == 2000


@given(kinds, st.text())
@example(Kind.KEY, "\N{KELVIN SIGN}ey_01ARZ3NDEKTSV4RRFFQ69G5FAV")
@example(Kind.SCHEDULE, "sch_" + "9" * 100_000)
def test_any_other_text_is_refused_with_a_sentence(kind: Kind, text: str) -> None:
    with pytest.raises(InvalidId, match=rf"^expected an id like {kind.value}_01…, got .*$") as got:
        ids.from_text(kind, text)
    assert len(str(got.value)) < 500
    assert str(got.value).isprintable()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "nothing"),
        ("sch_", "no ULID"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "no prefix"),
        ("fir_01ARZ3NDEKTSV4RRFFQ69G5FAV", "another kind"),
        ("sch_01ARZ3NDEKTSV4RRFFQ69G5FA", "too short"),
        ("sch_01ARZ3NDEKTSV4RRFFQ69G5FAVV", "too long"),
        ("sch_01ARZ3NDEKTSV4RRFFQ69G5FAU", "U is not in the alphabet"),
        ("sch_01ARZ3NDEKTSV4RRFFQ69G5FAé", "not ASCII"),
        ("sch_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "more than 128 bits"),
        ("sch_01ARZ3NDEKTSV4RRFFQ69G5FAV\n", "a line break"),
        (" sch_01ARZ3NDEKTSV4RRFFQ69G5FAV", "a space"),
        ("sch-01ARZ3NDEKTSV4RRFFQ69G5FAV", "a dash"),
    ],
)
def test_each_way_of_being_wrong_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(InvalidId, match="expected an id like sch_01…"):
        ids.from_text(Kind.SCHEDULE, text)


@given(st.datetimes(max_value=datetime(1969, 12, 31, 23, 59, 59), timezones=st.just(UTC)))  # noqa: DTZ001
def test_an_instant_before_1970_is_refused(instant: datetime) -> None:
    with pytest.raises(InvalidId, match="expected an instant from 1970 on"):
        ids.firing_id(SCHEDULE, instant)
    with pytest.raises(InvalidId, match="expected an instant from 1970 on"):
        ids.new(at=instant)


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(InvalidId, match="expected an aware instant"):
        ids.new(at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_the_first_and_last_instants_have_ids() -> None:
    for instant in (datetime(1970, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        assert ids.from_text(Kind.FIRING, ids.to_text(Kind.FIRING, ids.new(at=instant)))


def test_what_follows_a_firing_has_one_id_made_of_both() -> None:
    slot = datetime(2026, 3, 9, 13, tzinfo=UTC)
    follower, other = ids.new(at=slot), ids.new(at=slot)
    ended = ids.firing_id(other, slot)
    one = ids.following_id(follower, ended, slot)
    assert one == ids.following_id(follower, ended, slot)
    assert one.bytes[:6] == ended.bytes[:6]
    # Neither the schedule's own slot's, nor what another follows with, nor after another.
    others = {
        ids.firing_id(follower, slot),
        ids.following_id(other, ended, slot),
        ids.following_id(follower, one, slot),
    }
    assert one not in others
    assert len(others) == 3
    assert ids.following_id(follower, ended, datetime(1969, 1, 1, tzinfo=UTC))
