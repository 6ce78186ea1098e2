"""Enqueueing in a transaction of the caller's own, on whatever connection it has.

asyncpg, psycopg (sync and async) and SQLAlchemy (sync and async, a connection or a session); also
what follows Python's DB-API with %s, such as psycopg2 and Django's. Which one it is, is told by
where its class comes from: nothing is imported that is not there.

Every parameter goes as text, and the ids come back as text: drivers differ in what they make of an
interval or an array, and programs change what theirs makes of JSON.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rota.queue.enqueue import EnqueueRequest

_NAMES = ("task", "payloads", "delay", "at", "priority", "key", "tenant")
_CASTS = ("text", "jsonb", "interval", "timestamptz", "integer", "text", "uuid")


def _statement(parameter: Callable[[int, str], str]) -> str:
    parts = (
        f"CAST(CAST({parameter(at, name)} AS text) AS {cast})"
        for at, (name, cast) in enumerate(zip(_NAMES, _CASTS, strict=True), start=1)
    )
    return f"SELECT array_to_string(rota.enqueue_many({', '.join(parts)}), ',')"


_NUMBERED: Final = _statement(lambda at, _: f"${at}")
_PERCENT: Final = _statement(lambda _, __: "%s")
_NAMED: Final = _statement(lambda _, name: f":{name}")


def enter(connection: Any, order: EnqueueRequest) -> list[UUID] | Awaitable[list[UUID]]:
    """Enter the order's runs by this connection: their ids, or of an async one what gives them.

    `TypeError` when it is not a connection of a kind that is known.
    """
    way, is_async = _way(connection)
    parts = [tuple(_text(each) for each in part) for part in order.parts()]
    if is_async:
        return _enter_async(connection, way, parts)
    return [id_ for part in parts for id_ in _ids(way(connection, part))]


def is_async(connection: Any) -> bool:
    """Whether what it does must be awaited."""
    return _way(connection)[1]


async def _enter_async(
    connection: Any, way: Callable[[Any, Any], Any], parts: Sequence[tuple[str | None, ...]]
) -> list[UUID]:
    ids: list[UUID] = []
    for part in parts:
        ids += _ids(await way(connection, part))
    return ids


def _way(connection: Any) -> tuple[Callable[[Any, Any], Any], bool]:
    """How to ask this kind of connection, and whether that is to be awaited."""
    homes = {each.__module__.partition(".")[0] for each in type(connection).__mro__}
    if "asyncpg" in homes and hasattr(connection, "fetchval"):
        return _asyncpg, True
    if "sqlalchemy" in homes and hasattr(connection, "execute"):
        # A scoped session is a stand-in, whose methods are not coroutines either way.
        asynchronous = inspect.iscoroutinefunction(connection.execute)
        return (_sqlalchemy_async if asynchronous else _sqlalchemy), asynchronous
    if "psycopg" in homes and hasattr(connection, "cursor"):
        asynchronous = inspect.iscoroutinefunction(connection.execute)
        return (_psycopg_async if asynchronous else _psycopg), asynchronous
    if callable(getattr(connection, "cursor", None)) and hasattr(connection, "commit"):
        return _db_api, False
    raise TypeError(
        "expected a connection or session of asyncpg, psycopg or SQLAlchemy to enqueue with, got "
        f"{type(connection).__module__}.{type(connection).__qualname__}"
    )


async def _asyncpg(connection: Any, values: Any) -> str:
    return await connection.fetchval(_NUMBERED, *values)


def _psycopg(connection: Any, values: Any) -> str:
    from psycopg.rows import tuple_row  # noqa: PLC0415 - whoever has such a connection has it

    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(_PERCENT, values).fetchone()[0]


async def _psycopg_async(connection: Any, values: Any) -> str:
    from psycopg.rows import tuple_row  # noqa: PLC0415 - as above

    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(_PERCENT, values)
        return (await cursor.fetchone())[0]


def _sqlalchemy(connection: Any, values: Any) -> str:
    return connection.execute(_clause(), dict(zip(_NAMES, values, strict=True))).scalar_one()


async def _sqlalchemy_async(connection: Any, values: Any) -> str:
    result = await connection.execute(_clause(), dict(zip(_NAMES, values, strict=True)))
    return result.scalar_one()


def _clause() -> Any:
    import sqlalchemy  # noqa: PLC0415 - as above

    return sqlalchemy.text(_NAMED)


def _db_api(connection: Any, values: Any) -> str:
    cursor = connection.cursor()
    try:
        cursor.execute(_PERCENT, values)
        return cursor.fetchone()[0]
    finally:
        cursor.close()


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "total_seconds"):
        return f"{value.total_seconds():f} seconds"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _ids(text: str | None) -> list[UUID]:
    return [UUID(each) for each in text.split(",")] if text else []
