"""The circuit of one host for one tenant: when it opens, for how long, what closes it, and what it
means to other tenants."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.circuits import Circuit, Heard, Rules
from rota.workers.hosts.circuit import (
    after,
    keep_to_tenant,
    may_probe,
    open_for,
    state_of,
    wide_open,
)

if TYPE_CHECKING:
    from rota.queue.circuits import Probe, Reach

NOW = datetime(2026, 3, 9, 13, tzinfo=UTC)
SECOND = timedelta(seconds=1)
RULES = Rules(failures=3, interval=30 * SECOND)
TENANT, OTHER, THIRD = (UUID(int=n) for n in (1, 2, 3))
CLEAN = Circuit(host="x.example", tenant_id=TENANT, failures=0)
OPEN = Circuit(
    host="x.example",
    tenant_id=TENANT,
    failures=3,
    trips=1,
    opened_at=NOW - 10 * SECOND,
    open_until=NOW + 20 * SECOND,
)
HALF_OPEN = replace(OPEN, opened_at=NOW - 31 * SECOND, open_until=NOW - SECOND)
PROBED = replace(HALF_OPEN, probe_until=NOW + 40 * SECOND)


@pytest.mark.parametrize(
    ("circuit", "state", "probe"),
    [
        (CLEAN, "closed", False),
        (OPEN, "open", False),
        (replace(OPEN, open_until=NOW), "half_open", True),
        (HALF_OPEN, "half_open", True),
        (PROBED, "half_open", False),
        (replace(PROBED, probe_until=NOW), "half_open", True),
    ],
)
def test_where_a_circuit_stands(circuit: Circuit, state: str, *, probe: bool) -> None:
    assert state_of(circuit, NOW) == state
    assert may_probe(circuit, NOW) == probe


def test_it_opens_with_the_last_of_so_many_failures_in_a_row() -> None:
    two = after(CLEAN, Heard(failures=2), NOW, RULES)
    assert two == replace(CLEAN, failures=2)
    assert two is not None
    three = after(two, Heard(failures=1), NOW, RULES)
    assert three is not None
    assert (three.failures, three.trips, three.opened_at) == (3, 1, NOW)
    assert three.open_until == NOW + 30 * SECOND


def test_an_answer_in_between_begins_the_count_anew() -> None:
    two = replace(CLEAN, failures=2)
    assert after(two, Heard(answered=True), NOW, RULES) is None
    assert after(two, Heard(answered=True, failures=1), NOW, RULES) == replace(CLEAN, failures=1)


@pytest.mark.parametrize(
    ("trips", "retry_after", "seconds"),
    [
        *((0, 0, 30), (1, 0, 60), (2, 0, 120), (4, 0, 480), (5, 0, 600), (99, 0, 600)),
        *((0, 45, 45), (0, 10, 30), (0, 86_400, 600)),
    ],
)
def test_it_stays_open_for_longer_each_time_and_as_the_host_asks_within_reason(
    trips: int, retry_after: int, seconds: int
) -> None:
    assert open_for(trips, retry_after * SECOND, RULES) == seconds * SECOND


@pytest.mark.parametrize("circuit", [OPEN, HALF_OPEN, PROBED])
@pytest.mark.parametrize("heard", [Heard(answered=True), Heard(failures=5)])
def test_what_was_under_way_when_it_opened_decides_nothing(circuit: Circuit, heard: Heard) -> None:
    end = after(circuit, heard, NOW, RULES)
    assert end == replace(circuit, failures=circuit.failures + heard.failures)


def test_a_probe_that_is_answered_closes_it() -> None:
    assert after(PROBED, Heard(answered=True, probe="answered"), NOW, RULES) is None


def test_a_probe_that_fails_opens_it_again_for_longer() -> None:
    end = after(PROBED, Heard(failures=1, probe="failed"), NOW, RULES)
    assert end is not None
    assert (end.trips, end.opened_at, end.open_until) == (2, NOW, NOW + 60 * SECOND)
    assert end.probe_until is None


def test_a_probe_that_was_broken_off_is_for_the_next_to_make() -> None:
    assert after(PROBED, Heard(probe="void"), NOW, RULES) == replace(PROBED, probe_until=None)


def test_while_it_is_open_the_host_may_ask_for_more_time() -> None:
    end = after(OPEN, Heard(failures=1, retry_after=90 * SECOND), NOW, RULES)
    assert end is not None
    assert end.open_until == NOW + 90 * SECOND
    forever = after(OPEN, Heard(failures=1, retry_after=timedelta(days=1)), NOW, RULES)
    assert forever is not None
    assert forever.open_until == NOW + RULES.longest


PROBES: list[Probe | None] = [None, None, None, "answered", "failed", "void"]
HEARD = st.builds(
    Heard,
    answered=st.booleans(),
    failures=st.integers(0, 4),
    probe=st.sampled_from(PROBES),
    retry_after=st.timedeltas(timedelta(), timedelta(days=1)),
)


@given(st.lists(st.tuples(HEARD, st.timedeltas(timedelta(), timedelta(minutes=3))), max_size=30))
def test_whatever_is_heard_it_is_never_open_for_longer_than_the_longest(
    steps: list[tuple[Heard, timedelta]],
) -> None:
    circuit: Circuit | None = None
    now = NOW
    for heard, passed in steps:
        now += passed
        circuit = after(circuit or CLEAN, heard, now, RULES)
        if circuit is None:
            continue
        assert (circuit.open_until is None) == (circuit.trips == 0)
        if circuit.open_until is None:
            assert circuit.failures < RULES.failures
        else:
            assert circuit.open_until - now <= RULES.longest


@pytest.mark.parametrize(
    ("heard", "reach"),
    [
        (Heard(failures=3), "tenant"),
        (Heard(failures=3, shared=2, refused=2), "tenant"),
        (Heard(failures=3, shared=3, refused=2), "shared"),
        (Heard(failures=3, shared=3, refused=3), "host"),
    ],
)
def test_it_goes_as_far_as_failures_enough_to_open_it_go(heard: Heard, reach: str) -> None:
    opened = after(CLEAN, heard, NOW, RULES)
    assert opened is not None
    assert opened.reach == reach


def test_failures_that_concern_others_count_from_the_last_answer_on() -> None:
    two = replace(CLEAN, failures=2, shared=2, refused=2)
    begun = after(two, Heard(answered=True, failures=1, shared=1), NOW, RULES)
    assert begun == replace(CLEAN, failures=1, shared=1)


def test_a_circuit_that_is_kept_to_its_tenant_does_not_go_far_again_with_the_next_failure() -> None:
    far = replace(PROBED, shared=3, refused=3, reach="host")
    kept = keep_to_tenant(far)
    end = after(kept, Heard(failures=1, shared=1, refused=1, probe="failed"), NOW, RULES)
    assert end is not None
    assert (end.reach, end.trips) == ("tenant", 2)


def of(tenant: UUID, reach: Reach, seconds: int) -> Circuit:
    return replace(OPEN, tenant_id=tenant, reach=reach, open_until=NOW + seconds * SECOND)


def test_a_circuit_of_one_tenants_own_doing_concerns_nobody_else() -> None:
    assert wide_open([]) is None
    assert wide_open([of(TENANT, "tenant", 30), of(OTHER, "tenant", 30)]) is None
    assert wide_open([of(TENANT, "shared", 30)]) is None
    assert wide_open([of(TENANT, "shared", 30), of(OTHER, "tenant", 30)]) is None


def test_two_tenants_that_see_the_same_close_a_host_to_all_while_both_do() -> None:
    first, second, third = of(TENANT, "shared", 30), of(OTHER, "shared", 20), of(THIRD, "shared", 5)
    assert wide_open([first, second]) == second
    assert wide_open([third, second, first]) == second


def test_a_port_that_refuses_connections_closes_a_host_to_all_by_itself() -> None:
    assert wide_open([of(TENANT, "host", 30)]) == of(TENANT, "host", 30)
    later = [of(TENANT, "host", 10), of(OTHER, "shared", 40), of(THIRD, "shared", 20)]
    assert wide_open(later) == of(THIRD, "shared", 20)
    assert wide_open([of(TENANT, "host", 30), of(OTHER, "host", 40)]) == of(OTHER, "host", 40)


REACHES: list[Reach] = ["tenant", "shared", "host"]


@given(st.lists(st.tuples(st.sampled_from(REACHES), st.integers(-5, 50)), max_size=8))
def test_whatever_circuits_there_are_one_tenants_word_closes_a_host_only_by_refusals(
    made: list[tuple[Reach, int]],
) -> None:
    circuits = [of(UUID(int=n + 1), reach, seconds) for n, (reach, seconds) in enumerate(made)]
    wide = wide_open(circuits)
    now = NOW
    closed = wide is not None and wide.open_until is not None and wide.open_until > now
    far = [each for each in circuits if each.open_until is not None and each.open_until > now]
    alone = any(each.reach == "host" for each in far)
    assert closed == (alone or sum(each.reach != "tenant" for each in far) >= 2)
