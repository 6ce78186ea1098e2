"""A task that is enqueued with your own data, or not at all.

`connection=` takes a connection of psycopg, asyncpg or SQLAlchemy in a transaction of yours. When
that commits, the task is there; when it is undone, the task never was.
"""

import asyncio

from psycopg import AsyncConnection

from rota import Rota

rota = Rota(name="shop")


@rota.task
def ship(order: int, item: str) -> str:
    return f"order {order} ({item}) is on its way"


async def place(connection: AsyncConnection, item: str, *, fail: bool = False) -> str:
    """An order and its shipping, in one transaction."""
    async with connection.transaction():
        cursor = await connection.execute(
            "INSERT INTO orders (item) VALUES (%s) RETURNING id", [item]
        )
        (order,) = await cursor.fetchone() or (0,)
        run = await ship.enqueue(order, item, connection=connection)
        if fail:
            raise RuntimeError(f"{item} is sold out")
    return await run.result(timeout=30)


async def main() -> None:
    async with rota, await AsyncConnection.connect(rota.running.dsn, autocommit=True) as connection:
        await connection.execute(
            "CREATE TEMPORARY TABLE orders (id integer GENERATED ALWAYS AS IDENTITY, item text)"
        )
        print(await place(connection, "a lamp"))
        try:
            await place(connection, "a chair", fail=True)
        except RuntimeError as error:
            print(f"{error}: nothing is shipped")


if __name__ == "__main__":
    asyncio.run(main())
