"""Which errors pass by themselves: a table."""

from __future__ import annotations

import socket

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest

from rota.db.transient import (
    Conflict,
    Trouble,
    as_temporary,
    describe,
    is_session_gone,
    is_transient,
    judge,
    judge_state,
)
from rota.errors import DatabaseUnavailable

LASTING, CONFLICT, GONE = Trouble.LASTING, Trouble.CONFLICT, Trouble.GONE


@pytest.mark.parametrize(
    ("sqlstate", "trouble"),
    [
        ("08000", GONE),
        ("08001", GONE),
        ("08003", GONE),
        ("08006", GONE),
        ("08P01", GONE),
        ("25006", GONE),
        ("25P03", GONE),
        ("25P04", GONE),
        ("53300", GONE),
        ("57P01", GONE),
        ("57P02", GONE),
        ("57P03", GONE),
        ("57P05", GONE),
        ("40001", CONFLICT),
        ("40P01", CONFLICT),
        ("53100", CONFLICT),
        ("53200", CONFLICT),
        ("55P03", CONFLICT),
        ("", LASTING),
        ("22012", LASTING),  # division by zero
        ("23505", LASTING),  # unique violation
        ("25P02", LASTING),  # in a failed transaction
        ("28P01", LASTING),  # wrong password
        ("3D000", LASTING),  # no such database
        ("40002", LASTING),  # a deferred constraint was broken
        ("42601", LASTING),  # syntax
        ("42P01", LASTING),  # no such table
        ("57014", LASTING),  # cancelled: would take as long again
        ("XX000", LASTING),  # a bug of the server
    ],
)
def test_sqlstates(sqlstate: str, trouble: Trouble) -> None:
    assert judge_state(sqlstate) is trouble


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (asyncpg.SerializationError("x"), CONFLICT),
        (asyncpg.DeadlockDetectedError("x"), CONFLICT),
        (asyncpg.LockNotAvailableError("x"), CONFLICT),
        (asyncpg.InvalidCachedStatementError("x"), CONFLICT),
        (asyncpg.OutdatedSchemaCacheError("x"), CONFLICT),
        (asyncpg.AdminShutdownError("x"), GONE),
        (asyncpg.CannotConnectNowError("x"), GONE),
        (asyncpg.TooManyConnectionsError("x"), GONE),
        (asyncpg.ConnectionDoesNotExistError("x"), GONE),
        (asyncpg.IdleInTransactionSessionTimeoutError("x"), GONE),
        (asyncpg.ReadOnlySQLTransactionError("x"), GONE),
        (ConnectionRefusedError(), GONE),
        (ConnectionResetError(), GONE),
        (BrokenPipeError(), GONE),
        (FileNotFoundError(), GONE),
        (TimeoutError(), GONE),
        (socket.gaierror(), GONE),
        (PermissionError(), LASTING),
        (asyncpg.UniqueViolationError("x"), LASTING),
        (asyncpg.InvalidPasswordError("x"), LASTING),
        (asyncpg.FeatureNotSupportedError("x"), LASTING),
        (asyncpg.InterfaceError("x"), LASTING),
        (asyncpg.PostgresError("x"), LASTING),
        (ValueError("x"), LASTING),
        (KeyboardInterrupt(), LASTING),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value.value,
)
def test_errors(error: BaseException, trouble: Trouble) -> None:
    assert judge(error) is trouble
    assert is_transient(error) is (trouble is not LASTING)
    assert is_session_gone(error) is (trouble is GONE)


def test_a_complaint_of_the_driver_counts_when_its_connection_is_closed() -> None:
    assert judge(asyncpg.InterfaceError("connection is closed"), closed=True) is GONE
    assert judge(asyncpg.InternalClientError("x"), closed=True) is GONE
    assert judge(ValueError("x"), closed=True) is LASTING


def test_a_write_in_a_transaction_that_was_meant_to_read_is_a_mistake() -> None:
    assert judge(asyncpg.ReadOnlySQLTransactionError("x"), read_only=True) is LASTING


def test_callers_see_temporary_errors_of_the_right_kind() -> None:
    assert isinstance(as_temporary(asyncpg.SerializationError("x")), Conflict)
    assert isinstance(as_temporary(ConnectionRefusedError()), DatabaseUnavailable)
    assert as_temporary(asyncpg.UniqueViolationError("x")) is None


def test_an_error_without_a_text_is_described_by_its_type() -> None:
    assert describe(TimeoutError()) == "TimeoutError"
    assert describe(ValueError("a\nb")) == "ValueError: a b"
