"""`rota worker`: processes that run a program's tasks."""

from collections.abc import Mapping
from typing import Annotated

import typer

from rota.cli import output, quiet_interrupts

App = Annotated[
    str,
    typer.Argument(metavar="MODULE:APP", help="Where the program's Rota is: shop.tasks:rota."),
]
Queues = Annotated[
    str | None,
    typer.Option(help="Serve these queues, such as shop,reports; all of its own without."),
]
Tenants = Annotated[
    str | None,
    typer.Option(
        help='Run tasks for these tenants, such as alpha,beta, or "all"; its own without.'
    ),
]
Concurrency = Annotated[
    int | None, typer.Option(min=1, max=10_000, help="Tasks at once in each process.")
]
Processes = Annotated[int, typer.Option(min=1, max=256, help="How many processes.")]
Scheduler = Annotated[
    bool, typer.Option("--scheduler", help="Fire its schedules too, and not only run what is due.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every firing.")]


def worker(
    app: App,
    *,
    queues: Queues = None,
    tenants: Tenants = None,
    concurrency: Concurrency = None,
    processes: Processes = 1,
    scheduler: Scheduler = False,
    verbose: Verbose = False,
) -> None:
    """Run a program's tasks until it is stopped; what runs then is finished first."""
    quiet_interrupts()
    from rota.library import finding  # noqa: PLC0415 - heavy, see app.py
    from rota.runtime.lifeline import follow_parent  # noqa: PLC0415 - as above

    # Also before several are started: a wrong name is told once, and not by each of them.
    rota = finding.find(app)
    if processes > 1:
        options: dict[str, object] = {
            "--queues": queues,
            "--tenants": tenants,
            "--concurrency": concurrency,
        }
        flags = {"--scheduler": scheduler, "--verbose": verbose}
        _supervise(app, processes, options, flags)
        return
    follow_parent()
    roles = ("scheduler", "worker") if scheduler else ("worker",)
    rota.run(roles=roles, queues=queues, tenants=tenants, concurrency=concurrency, verbose=verbose)


def _supervise(
    app: str, processes: int, options: Mapping[str, object], flags: Mapping[str, bool]
) -> None:
    import asyncio  # noqa: PLC0415 - as above

    from rota.library.supervisor import Supervisor, command_of  # noqa: PLC0415 - as above

    arguments = ["worker", app]
    for name, value in options.items():
        arguments += [name, str(value)] if value else []
    arguments += [name for name, is_set in flags.items() if is_set]
    output.note(f"{processes} worker processes of {app}.")
    asyncio.run(Supervisor(command_of(arguments), processes, say=output.note).run())
