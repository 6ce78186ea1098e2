"""The pure core of `rota plan` and `rota apply`: what is wanted and what there is → what to do."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.cli.declared import HTTP, NOW, TASK, Server, document, entries, want

from rota.cli import output
from rota.cli.declare import exported, shown, slots, yamls
from rota.cli.declare import server as declared_server
from rota.cli.declare.documents import Read, of_text
from rota.cli.declare.plan import make
from rota.schedules.values import same_json
from rota.triggers.calendars import Days

if TYPE_CHECKING:
    from rota.cli.client import Client

#: Dozens of schedules each: fewer examples, and no haste on a busy machine.
QUICK = settings(max_examples=60)


@QUICK
@given(entries(), entries(), st.booleans())
def test_applying_a_plan_makes_the_next_plan_empty(
    before: list[dict[str, Any]], after: list[dict[str, Any]], prune: bool
) -> None:
    server = Server()
    for version in (before, after):
        server.apply(server.plan(document(*version), prune=prune))
        again = server.plan(document(*version), prune=prune)
        assert (again.size, again.refused) == (0, ())
        assert {each.key for each in again.unchanged} == {each["key"] for each in version}
    if prune:
        assert server.records.keys() == {each["key"] for each in after}


@QUICK
@given(entries(), entries(), st.randoms())
def test_the_order_of_neither_side_matters(
    before: list[dict[str, Any]], after: list[dict[str, Any]], random: Any
) -> None:
    server = Server()
    server.apply(server.plan(document(*before)))
    wanted, standing = want(document(*after)), server.standing()
    straight = make(wanted, standing, owners={"ops"}, prune=True)
    random.shuffle(wanted)
    random.shuffle(standing)
    assert make(wanted, standing, owners={"ops"}, prune=True) == straight


@QUICK
@given(entries(), entries(keys="defghi"), entries(keys="xyz"))
def test_pruning_never_touches_what_the_file_does_not_own(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]], nobodys: list[dict[str, Any]]
) -> None:
    server = Server()
    server.apply(server.plan(document(*ours)))
    server.apply(server.plan(document(*nobodys, owner=None)))
    free = [each for each in theirs if each["key"] not in server.records]
    server.apply(server.plan(document(*free, owner="them")))
    plan = server.plan(document(), prune=True)
    assert {each.key for each in plan.removals} == {each["key"] for each in ours}


@QUICK
@given(entries(), entries(keys="uvw"))
def test_an_export_is_taken_back_with_nothing_to_do(
    ours: list[dict[str, Any]], nobodys: list[dict[str, Any]]
) -> None:
    server = Server()
    server.apply(server.plan(document(*ours)))
    server.apply(server.plan(document(*nobodys, owner=None)))
    text = yamls.dump(exported.documents(server.standing(), now=NOW))
    wrong: list[Any] = []
    read = [found for found, _ in of_text(text, "export.yaml", "export", wrong)]
    assert wrong == []
    plan = server.plan(*read, prune=True)
    assert (plan.size, plan.refused) == (0, ())
    assert len(plan.unchanged) == len(ours) + len(nobodys)


def test_an_export_has_only_what_is_not_as_it_would_be_anyway() -> None:
    server = Server()
    entry = {"key": "a", **HTTP, "priority": 5, "max_attempts": 3, "timezone": "UTC", "tags": ["x"]}
    server.apply(server.plan(document(entry)))
    assert exported.documents(server.standing(), now=NOW) == [
        {"owner": "ops", "schedules": [{"key": "a", "tags": ["x"], **HTTP}]}
    ]


def test_a_change_names_each_field_as_it_is_and_as_it_should_be() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK})))
    plan = server.plan(document({"key": "a", **TASK, "priority": 9, "payload": {"n": 1}}))
    (change,) = plan.changes
    assert change.fields == {"priority": (5, 9), "payload": (None, {"n": 1})}
    assert not change.is_retimed


def test_what_is_left_out_goes_back_to_its_default() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK, "description": "x"})))
    (change,) = server.plan(document({"key": "a", **TASK})).changes
    assert change.fields == {"description": ("x", "")}


def test_a_schedule_that_somebody_paused_stays_so_unless_the_file_says_otherwise() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK, "enabled": False})))
    assert server.plan(document({"key": "a", **TASK})).size == 0
    (change,) = server.plan(document({"key": "a", **TASK, "enabled": True})).changes
    assert change.fields == {"enabled": (False, True)}


def test_what_another_file_owns_is_refused_unless_it_is_taken_over() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK}, owner="them")))
    (problem,) = server.plan(document({"key": "a", **TASK})).refused
    assert 'it is owned by "them", not by "ops"' in str(problem)
    plan = server.plan(document({"key": "a", **TASK}), take_over=True)
    assert plan.refused == ()
    server.apply(plan)
    assert server.standing()[0].owners == ("ops",)


def test_what_nobody_owns_is_adopted_and_that_shows_as_a_change() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK}, owner=None)))
    (change,) = server.plan(document({"key": "a", **TASK})).changes
    assert change.fields == {"tags": ([], ["applied:ops"])}


def test_it_does_not_matter_where_among_the_tags_the_owners_stands() -> None:
    server = Server()
    server.put("a", {**TASK, "tags": ["applied:ops", "x"]})
    assert server.plan(document({"key": "a", **TASK, "tags": ["x"]})).size == 0


def test_a_field_that_only_a_newer_server_knows_is_left_alone() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK})))
    server.records["a"]["novelty"] = 3
    assert server.plan(document({"key": "a", **TASK})).size == 0


def test_without_prune_what_the_files_no_longer_have_is_told() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK})))
    plan = server.plan(document())
    assert (plan.size, [each.key for each in plan.left]) == (0, ["a"])


def test_a_schedule_whose_time_has_passed_may_stand_but_not_be_made() -> None:
    past = {"key": "a", "run_at": "2020-01-01T00:00:00Z", "job_type": "x"}
    server = Server()
    (problem,) = server.plan(document(past)).refused
    assert "No upcoming schedule found" in str(problem)
    server.put("a", {**past, "tags": ["applied:ops"]})
    assert server.plan(document(past)).refused == ()
    (problem,) = server.plan(document({**past, "run_at": "2021-01-01T00:00:00Z"})).refused
    assert "No upcoming schedule found" in str(problem)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        (None, "", False),
    ],
)
def test_values_are_compared_as_json(one: object, other: object, expected: bool) -> None:
    assert same_json(one, other) is expected


CALENDARS = {
    "office": Days(weekdays=frozenset({5, 6})),
    "feast": Days(excluded=frozenset({date(2027, 1, 6)})),
}


def _shifts(server: Server, *entries: dict[str, Any], days: int = 7) -> dict[str, slots.Shift]:
    plan = server.plan(document(*entries), prune=True)
    return slots.shifts(plan, now=NOW, days=days, calendars=CALENDARS)


def test_a_new_schedule_shows_when_it_will_fire_in_its_own_zone() -> None:
    entry = {"key": "a", **TASK, "timezone": "America/New_York"}
    shift = _shifts(Server(), entry)["a"]
    assert (shift.appear.count, shift.disappear.count) == (7, 0)
    assert shift.appear.timezone == "America/New_York"
    assert shift.appear.first[0] == datetime(2027, 1, 4, 14, tzinfo=UTC)
    assert shift.appear.local()[0].isoformat() == "2027-01-04T09:00:00-05:00"


def test_only_times_that_differ_appear_or_disappear() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", "cron_expr": "0 9,12 * * *", "job_type": "x"})))
    shift = _shifts(server, {"key": "a", "cron_expr": "0 9,15 * * *", "job_type": "x"}, days=1)["a"]
    assert shift.disappear.first == (datetime(2027, 1, 5, 12, tzinfo=UTC),)
    assert shift.appear.first == (datetime(2027, 1, 4, 15, tzinfo=UTC),)


def test_a_change_of_something_else_moves_no_fire_time() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **HTTP})))
    assert _shifts(server, {"key": "a", **HTTP, "priority": 1}) == {}


def test_dates_that_a_calendar_leaves_out_are_no_fire_times() -> None:
    shift = _shifts(Server(), {"key": "a", **TASK, "calendar": "office"})["a"]
    days = [each.day for each in shift.appear.first]
    assert (shift.appear.count, days) == (5, [5, 6, 7, 8, 11])  # From a Monday noon on.
    unknown = _shifts(Server(), {"key": "a", **TASK, "calendar": "nowhere"})["a"]
    assert unknown.appear.count == 7


@pytest.mark.parametrize(
    ("before", "after", "appear", "disappear"),
    [
        (None, "office", [], [9, 10]),
        ("office", None, [9, 10], []),
        ("office", "feast", [9, 10], [6]),
    ],
)
def test_another_calendar_moves_the_fire_times_of_its_dates_alone(
    before: str | None, after: str | None, appear: list[int], disappear: list[int]
) -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK, "calendar": before})))
    shift = _shifts(server, {"key": "a", **TASK, "calendar": after})["a"]
    assert [each.day for each in shift.appear.first] == appear
    assert [each.day for each in shift.disappear.first] == disappear


def test_a_plan_names_the_calendars_of_both_sides() -> None:
    server = Server()
    old = [{"key": key, **TASK, "calendar": f"old-{key}"} for key in "abc"]
    server.apply(server.plan(document(*old)))
    new = [{"key": "a", **TASK}, old[1], {"key": "d", **TASK, "calendar": "new"}]
    assert server.plan(document(*new), prune=True).calendars == {"old-a", "old-c", "new"}


def test_pausing_and_deleting_make_fire_times_disappear() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **TASK}, {"key": "b", **TASK})))
    found = _shifts(server, {"key": "a", **TASK, "enabled": False}, days=2)
    assert {key: shift.disappear.count for key, shift in found.items()} == {"a": 2, "b": 2}
    assert all(shift.appear.count == 0 for shift in found.values())


def test_an_interval_is_counted_from_the_slot_that_the_server_names() -> None:
    server = Server()
    server.apply(server.plan(document({"key": "a", **HTTP})))
    server.records["a"]["next_fire_at"] = "2027-01-04T12:03:20Z"
    shift = _shifts(server, days=1)["a"]
    assert shift.disappear.first[:2] == (
        datetime(2027, 1, 4, 12, 3, 20, tzinfo=UTC),
        datetime(2027, 1, 4, 12, 8, 20, tzinfo=UTC),
    )


def test_of_very_many_fire_times_a_part_is_counted_and_said_so() -> None:
    shift = _shifts(Server(), {"key": "a", "interval": "1s", "job_type": "x"})["a"]
    assert shift.is_cut
    assert shift.appear.count == slots.COUNTED
    assert len(shift.appear.first) == slots.SHOWN
    assert shift.until == NOW + slots.COUNTED * (shift.appear.first[1] - shift.appear.first[0])


def test_no_fire_times_are_worked_out_for_no_days() -> None:
    assert _shifts(Server(), {"key": "a", **TASK}, days=0) == {}


def test_a_file_without_schedules_still_owns_what_it_had() -> None:
    assert Read((document(),)).owners == {"ops"}


YEARLY: dict[str, Any] = {"cron_expr": "0 0 1 12 *", "job_type": "x"}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (None, YEARLY, "no fire times in the next 7 days"),
        (YEARLY, None, "no fire times in the next 7 days"),
        (YEARLY, YEARLY | {"cron_expr": "0 0 2 12 *"}, "no fire times in the next 7 days"),
        (TASK, TASK | {"cron_expr": "0 9 * * 0-6"}, "fires at the same times in the next 7 days"),
        (TASK, None, "fires no longer: 7 times"),
        (TASK | {"enabled": False}, None, ""),
        (None, {"on_demand": True, "job_type": "x"}, ""),
        ({"on_demand": True, "job_type": "x"}, None, ""),
    ],
)
def test_a_plan_says_what_becomes_of_fire_times_and_of_none(
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server()
    if before:
        server.apply(server.plan(document({"key": "a", **before})))
    plan = server.plan(document(*([{"key": "a", **after}] if after else [])), prune=True)
    assert plan.size == 1
    shifts = slots.shifts(plan, now=NOW, days=7, calendars={})
    output.console.cache_clear()
    shown.show(plan, shifts, days=7, secrets={})
    said = capsys.readouterr().out
    output.console.cache_clear()
    assert says in said
    assert ("fire" in said) == bool(says)


def test_a_calendar_that_is_not_there_is_a_problem_and_a_missing_secret_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Lists:
        def items(self, path: str, **_: object) -> list[dict[str, str]]:
            return [{"name": "office"}] if path == "/v1/calendars" else [{"name": "KNOWN"}]

    client = cast("Client", Lists())
    secrets = {"Authorization": "Bearer ${secrets.TOKEN}", "X-Known": "${secrets.KNOWN}"}
    payload = {"deep": ["${secrets.OTHER} ${secrets.TOKEN}"]}
    plan = Server().plan(
        document(
            {"key": "a", **TASK, "calendar": "office"},
            {"key": "b", **TASK, "calendar": "nowhere"},
            {"key": "c", **HTTP, "headers": secrets, "payload": payload},
            {"key": "d", **HTTP, "headers": {"X-Known": "${secrets.KNOWN}"}},
        )
    )
    [wrong] = declared_server.missing_calendars(client, plan)
    assert "schedules[1]: Invalid calendar" in str(wrong)
    assert "'nowhere'" in str(wrong)
    missing = declared_server.missing_secrets(client, plan)
    assert missing == {"c": ["OTHER", "TOKEN"]}
    output.console.cache_clear()
    shown.show(plan, {}, days=0, secrets=missing)
    said = capsys.readouterr().out
    output.console.cache_clear()
    assert said.count("! there is no secret OTHER, TOKEN: runs fail until it is set") == 1
