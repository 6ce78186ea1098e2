"""`rota tenant`: whom schedules belong to, for whoever runs the installation."""

from typing import Annotated, Any, cast

import typer

from rota.cli import client as api
from rota.cli import output
from rota.cli.config import DataDir, File
from rota.errors import CallerError, InvalidInput

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="Its name or id.")]
Weight = Annotated[int | None, typer.Option(help="Its share of the workers, from 1 to 1000.")]
Concurrency = Annotated[
    int | None, typer.Option("--max-concurrency", help="Firings it may run at once.")
]
Rate = Annotated[float | None, typer.Option("--create-rate", help="New schedules a second.")]
Requests = Annotated[float | None, typer.Option("--request-rate", help="Requests a second.")]
Quota = Annotated[int | None, typer.Option("--max-schedules", help="Schedules it may have.")]
Captures = Annotated[
    int | None,
    typer.Option("--capture-budget-mb", help="MB of requests and responses kept in a day."),
]
Interval = Annotated[
    str | None, typer.Option("--min-interval", help='How often one may fire, such as "60s".')
]
CeleryAllow = Annotated[
    list[str] | None,
    typer.Option(
        "--celery-allow",
        metavar="TASK@QUEUE",
        help='Celery tasks it may send, with * and ?; once for each, or "" for none.',
    ),
]

app = output.commands("Administer tenants.")
_COLUMNS = (
    *("name", "weight", "max_concurrency", "create_rate", "request_rate"),
    *("max_schedules", "min_interval", "capture_budget_mb"),
)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and . _ @ -")],
    *,
    weight: Weight = None,
    max_concurrency: Concurrency = None,
    create_rate: Rate = None,
    request_rate: Requests = None,
    max_schedules: Quota = None,
    min_interval: Interval = None,
    celery_allow: CeleryAllow = None,
    capture_budget_mb: Captures = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Make a tenant; `rota key new --tenant NAME` makes a key for it."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    terms = _terms(
        weight=weight,
        max_concurrency=max_concurrency,
        create_rate=create_rate,
        request_rate=request_rate,
        max_schedules=max_schedules,
        min_interval=min_interval,
        celery_allow=None if celery_allow is None else [each for each in celery_allow if each],
        capture_budget_mb=capture_budget_mb,
    )
    _show(client.post("/v1/tenants", {"name": name, **terms}), as_json=as_json)


@app.command("list")
def list_(
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """List the tenants."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    tenants = list(client.items("/v1/tenants"))
    if as_json:
        output.print_json(tenants)
        return
    rows = [(*(_cell(each[name]) for name in _COLUMNS), each["id"]) for each in tenants]
    headers = tuple(name.replace("_", " ") for name in _COLUMNS)
    output.table(rows, headers=(*headers, "id"))


@app.command()
def show(
    tenant: Tenant,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show one tenant."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    _show(_find(client, tenant), as_json=as_json)


@app.command()
def edit(
    tenant: Tenant,
    *,
    weight: Weight = None,
    max_concurrency: Concurrency = None,
    create_rate: Rate = None,
    request_rate: Requests = None,
    max_schedules: Quota = None,
    min_interval: Interval = None,
    celery_allow: CeleryAllow = None,
    capture_budget_mb: Captures = None,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Change what is given; active everywhere within a second or two."""
    terms = _terms(
        weight=weight,
        max_concurrency=max_concurrency,
        create_rate=create_rate,
        request_rate=request_rate,
        max_schedules=max_schedules,
        min_interval=min_interval,
        celery_allow=None if celery_allow is None else [each for each in celery_allow if each],
        capture_budget_mb=capture_budget_mb,
    )
    if not terms:
        raise InvalidInput("expected something to change, such as --weight 3; got nothing")
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = _find(client, tenant)
    _show(client.patch(f"/v1/tenants/{found['id']}", terms), as_json=as_json)


@app.command()
def delete(
    tenant: Tenant,
    *,
    server: api.Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """End a tenant that has no schedules, with its keys and secrets."""
    client = api.connect(url=server, data_dir=data_dir, file=file)
    found = _find(client, tenant)
    client.delete(f"/v1/tenants/{found['id']}")
    output.done({"deleted": found["id"]}, f"{found['name']} is deleted.", as_json=as_json)


def _find(client: api.Client, named: str) -> dict[str, Any]:
    for each in client.items("/v1/tenants"):
        if named in {each["name"], each["id"]}:
            return each
    raise CallerError(f"expected a tenant's name or id, got {named!r}; `rota tenant list` has them")


def _terms(**terms: float | str | list[str] | None) -> dict[str, Any]:
    return {name: value for name, value in terms.items() if value is not None}


def _show(tenant: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.print_json(tenant)
    else:
        output.table([(name, _cell(value)) for name, value in tenant.items()])


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(each) for each in cast("list[object]", value)) or "-"
    return "-" if value is None else str(value)
