"""Steps that belong together, and what undoes them: `python examples/saga.py`.

When a step dies, what was done before it is undone in reverse order, each recorded. A process may
be killed at any moment of it: another one goes on.
"""

import asyncio
from typing import Any

from rota import Rota, TaskFailed

rota = Rota(name="travel")


@rota.task
def book_flight(city: str) -> str:
    print(f"a flight to {city}")
    return "seat 12A"


@rota.task
def cancel_flight(city: str, steps: dict[str, Any]) -> None:
    print(f"no flight to {city}, {steps['book_flight']} is free again")


@rota.task(max_attempts=1)
async def book_hotel(city: str) -> str:
    if city == "Atlantis":
        raise LookupError("there is no hotel")
    print(f"a room in {city}")
    return "room 5"


@rota.task
def confirm(city: str, steps: dict[str, Any]) -> str:
    return f"to {city}: {steps['book_flight']}, {steps['book_hotel']}"


trip = rota.saga("trip", [(book_flight, cancel_flight), book_hotel, confirm])


async def main() -> None:
    async with rota:
        print(await (await trip.start(city="Lisbon")).result(timeout=30))
        try:
            await (await trip.start(city="Atlantis")).result(timeout=30)
        except TaskFailed as error:
            print(error)


if __name__ == "__main__":
    asyncio.run(main())
