"""Rota inside a FastAPI application: `uvicorn examples.fastapi_app:app --workers 4`.

One line gives the application its schedules and a worker for its tasks. Every worker process of the
web server may run it: each slot still fires once.
"""

from fastapi import FastAPI

from rota import Rota

rota = Rota(name="users", timezone="Europe/Madrid")
app = FastAPI(lifespan=rota.lifespan)

welcomed: list[str] = []


@rota.task(max_attempts=5, timeout="30s")
def send_welcome(address: str) -> str:
    """A plain function: it runs in a thread, and may take its time."""
    welcomed.append(address)
    return f"welcome, {address}"


@rota.schedule("every weekday at 9am")
async def report() -> None:
    print(f"{len(welcomed)} were welcomed", flush=True)


@app.post("/users")
async def sign_up(address: str) -> dict[str, str]:
    run = await send_welcome.enqueue(address)
    return {"run": run.id}
