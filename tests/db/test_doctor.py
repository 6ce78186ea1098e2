"""The doctor: what it reads, and how it judges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.clock import ManualClock, SystemClock
from rota.db import Database, doctor, migrate
from rota.db.doctor import Check, ClockSample

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def milliseconds(number: float) -> timedelta:
    return timedelta(milliseconds=number)


def sample(*, offset: float, round_trip: float) -> ClockSample:
    server_at = NOON + milliseconds(round_trip) / 2 + milliseconds(offset)
    return ClockSample(NOON, server_at, milliseconds(round_trip))


async def found(db: Database, name: str) -> Check:
    (check,) = [each for each in await doctor.checks(db, SystemClock()) if each.name == name]
    return check


async def test_a_migrated_database_on_the_same_machine_is_well(db: Database) -> None:
    checks = {check.name: check for check in await doctor.checks(db, SystemClock())}
    assert list(checks) == [
        "server version",
        "fsync",
        "full_page_writes",
        "synchronous_commit",
        "clock offset",
        "migrations",
        "connections",
    ]
    for name in ("server version", "synchronous_commit", "clock offset", "migrations"):
        assert checks[name].ok, checks[name]
        assert checks[name].advice == ""


async def test_pending_migrations_are_named(empty_db: Database) -> None:
    check = await found(empty_db, "migrations")
    names = ", ".join(map(str, migrate.known()))
    assert check == Check("migrations", False, f"pending: {names}", "run rota migrate")


async def test_a_database_of_a_newer_program_is_told(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO rota_migrations (number, name, sha256) VALUES ($1, 'later', '')",
            len(migrate.known()) + 1,
        )
    check = await found(db, "migrations")
    assert check.ok is False
    assert "newer than this program" in check.found


async def test_a_clock_that_is_years_off_is_told(db: Database) -> None:
    check = doctor.clock_offset(await doctor.measure(db, ManualClock(NOON)))
    assert check.ok is False
    assert "NTP" in check.advice


def test_the_sample_with_the_shortest_round_trip_counts() -> None:
    samples = [
        sample(offset=900, round_trip=80),
        sample(offset=12, round_trip=2),
        sample(offset=-700, round_trip=60),
    ]
    check = doctor.clock_offset(samples)
    assert check.ok is True
    assert check.found == "the database is +12.0 ms from this machine (give or take 1.0 ms)"


def test_without_a_sample_nothing_is_claimed() -> None:
    assert doctor.clock_offset([]).ok is None


@pytest.mark.parametrize(("number", "ok"), [("130000", False), ("140000", True), ("180004", True)])
def test_old_servers_are_told(number: str, ok: bool) -> None:
    settings = {"server_version": "x", "server_version_num": number}
    assert doctor.server_version(settings).ok is ok


def test_settings_that_lose_data_are_told_with_what_they_lose() -> None:
    settings = {"fsync": "off", "full_page_writes": "on", "synchronous_commit": "local"}
    checks = {check.name: check for check in doctor.lossy_settings(settings)}
    assert checks["fsync"].ok is False
    assert checks["fsync"].advice.startswith("set fsync = on: ")
    assert checks["full_page_writes"].ok
    assert checks["synchronous_commit"].ok


@pytest.mark.parametrize(("sessions", "ok"), [(0, True), (77, True), (78, False), (97, False)])
def test_room_for_more_connections(sessions: int, ok: bool) -> None:
    settings = {"max_connections": "100", "superuser_reserved_connections": "3"}
    check = doctor.connections(settings, sessions)
    assert check.ok is ok
    assert check.found == f"{sessions} of 97 in use"
