"""A schedule in ten lines: `python examples/ten_lines.py`, and Ctrl-C to end it."""

from rota import Rota

rota = Rota()


@rota.schedule("every 2 seconds")
async def greet() -> None:
    print("Good morning!", flush=True)


rota.run()
