"""Tasks that fail, and what becomes of them: `python examples/retries.py`."""

import asyncio

from rota import Context, Discard, Retry, Rota, TaskCancelled

rota = Rota(name="payments")


@rota.task(max_attempts=5, backoff="exponential", backoff_delay="1s", timeout="30s")
async def charge(context: Context, order: int) -> str:
    """Any exception is a failed attempt; these two say how to go on."""
    if order < 0:
        raise Discard(f"there is no order {order}")
    if context.attempt < 3:
        raise Retry("the bank is busy", after=0.1)
    context.progress(1.0, "paid")
    return f"order {order} was paid at attempt {context.attempt}"


async def main() -> None:
    async with rota:
        paid = await charge.enqueue(42, priority=9)
        none = await charge.enqueue(-1)
        print(await paid.result(timeout=30))
        try:
            await none.result(timeout=30)
        except TaskCancelled as error:
            print(error)


if __name__ == "__main__":
    asyncio.run(main())
