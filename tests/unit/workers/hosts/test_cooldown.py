"""When a claim that was turned away comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from rota.queue.circuits import Circuit
from rota.workers.hosts.cooldown import back_at, crowded

NOW = datetime(2026, 3, 9, 13, tzinfo=UTC)
SECOND = timedelta(seconds=1)
OPEN = Circuit(
    tenant_id=UUID(int=1),
    host="x.example",
    failures=10,
    trips=1,
    opened_at=NOW,
    open_until=NOW + 30 * SECOND,
)
DRAWS = st.floats(0, 1)


@given(DRAWS)
def test_the_first_comes_back_when_the_circuit_half_opens(draw: float) -> None:
    assert back_at(OPEN, NOW, first=True, draw=draw) == OPEN.open_until


@given(DRAWS)
def test_the_others_come_spread_when_the_first_has_had_its_try(draw: float) -> None:
    assert OPEN.open_until is not None
    late = back_at(OPEN, NOW, first=False, draw=draw) - OPEN.open_until
    assert 3 * SECOND <= late <= 18 * SECOND


@given(draw=DRAWS, first=st.booleans())
def test_while_somebody_else_probes_they_come_back_from_now_on(draw: float, *, first: bool) -> None:
    now = NOW + 40 * SECOND
    probed = replace(OPEN, probe_until=now + 30 * SECOND)
    late = back_at(probed, now, first=first, draw=draw) - now
    assert 3 * SECOND <= late <= 18 * SECOND


@given(DRAWS, st.timedeltas(timedelta(milliseconds=1), timedelta(minutes=10)))
def test_nobody_waits_for_long_after_a_circuit_that_was_open_for_long(
    draw: float, length: timedelta
) -> None:
    open_until = NOW + length
    circuit = replace(OPEN, open_until=open_until)
    late = back_at(circuit, NOW, first=False, draw=draw) - open_until
    assert timedelta(milliseconds=50) <= late <= timedelta(seconds=36)


@given(DRAWS)
def test_what_waited_in_vain_comes_back_after_some_seconds(draw: float) -> None:
    assert 2 * SECOND <= crowded(NOW, draw=draw) - NOW <= 6 * SECOND
