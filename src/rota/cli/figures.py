"""`rota stats` and `rota cluster`: a tenant's figures, and how the installation stands."""

from typing import Any

from rota.cli import client as api
from rota.cli import output, shown
from rota.cli.client import Url
from rota.cli.config import DataDir, File

Record = dict[str, Any]


def stats(
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show how many schedules there are, what the queue holds, and how the last hour went."""
    found: Record = api.connect(url=server, data_dir=data_dir, file=file).get("/v1/stats")
    if as_json:
        output.print_json(found)
        return
    bound = found["bound"]
    late = found["lateness_seconds"]
    output.table(
        [
            ("schedules", _counts(found["schedules"], bound)),
            ("queue", _counts(found["queue"], bound)),
            ("last hour", _counts(found["firings_last_hour"], bound)),
            ("waiting for a worker", f"the oldest for {late:g} s" if late else "none"),
            ("next due", shown.instant(found["next_due_at"])),
        ]
    )


def cluster(
    *,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show the nodes, who holds the shards, how late these are, and the hosts that fail."""
    found: Record = api.connect(url=server, data_dir=data_dir, file=file).get("/v1/cluster")
    if as_json:
        output.print_json(found)
        return
    held = {each["id"]: _shards_of(found, each["id"]) for each in found["nodes"]}
    output.table(
        [
            (
                f"{each['host']}:{each['pid']}",
                "alive" if each["alive"] else "gone",
                ",".join(each["roles"]),
                str(each["version"]),
                shown.instant(each["seen_at"]),
                str(len(held[each["id"]])),
                _lag(held[each["id"]]),
                str(each["id"]),
            )
            for each in found["nodes"]
        ],
        headers=("node", "", "roles", "version", "seen", "shards", "lag", "id"),
    )
    free = [each for each in found["shards"] if not each["held"]]
    total = len(found["shards"])
    if free:
        lag = f", late by {_lag(free)}" if _lag(free) else ""
        output.say(f"{len(free)} of {total} shards are held by nobody{lag}.", style="yellow")
    else:
        output.say(f"All {total} shards are held.")
    failing = [each for each in found["circuits"] if each["state"] != "closed"]
    for each in failing:
        output.say(f"{each['host']} is {each['state']} until {shown.instant(each['open_until'])}.")


def _counts(counts: dict[str, int], bound: int) -> str:
    """`3 active, 1 paused`; a count that stopped at the bound says so."""
    said = [f"{n:,}{'+' * (n >= bound)} {word}" for word, n in counts.items() if n]
    return ", ".join(said) or "none"


def _shards_of(found: Record, node: str) -> list[Record]:
    return [each for each in found["shards"] if each["held"] and each["holder"] == node]


def _lag(shards: list[Record]) -> str:
    lag = max((each["lag_seconds"] for each in shards), default=0)
    return f"{lag:g} s" if lag else ""
