"""`rota logs`: firings as lines, the newest last, and those to come as they happen.

Followed by reading the log of the API again every second: that is right whichever node a firing
runs on, and through any proxy.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rota.cli import client as api
from rota.cli import completing, naming, output, shown
from rota.cli.client import RequestRefused, ServerAway, Url
from rota.cli.config import DataDir, File  # noqa: TC001 - typer reads them
from rota.cli.following import Following, end_of, when

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

    from rota.cli.client import Client
    from rota.cli.following import Record

INTERVAL_SECONDS: Final = 1.0
PAGE: Final = 1_000
MAX_PAGES: Final = 5
"""Read at once; a tenant with more in a second is too fast for a reader anyway."""

_BEGUN = ("running", "retrying")
_MAX_ASKED = 50
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

OptionalName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A schedule's key, name or id; all unless given.",
        autocompletion=completing.schedules,
    ),
]
Follow = Annotated[bool, typer.Option("-f", "--follow", help="Go on with what happens next.")]
Count = Annotated[
    int, typer.Option("-n", "--count", min=0, max=PAGE, help="How many of the past to show.")
]
Utc = Annotated[bool, typer.Option("--utc", help="Show times in UTC, not in your own zone.")]


def logs(
    name: OptionalName = None,
    *,
    follow: Follow = False,
    count: Count = 20,
    utc: Utc = False,
    server: Url = None,
    data_dir: DataDir = None,
    file: File = None,
    as_json: output.Json = False,
) -> None:
    """Show firings that have begun or ended, a line each, the newest last.

    With --json and --follow, a line of JSON each.
    """
    client = api.connect(url=server, data_dir=data_dir, file=file)
    schedule = naming.find(client, name) if name else None
    log = _Log(client, schedule, utc=utc, as_json=as_json)
    try:
        if follow:
            log.follow(count)
        else:
            log.past(count)
    except KeyboardInterrupt:
        # The way to end it.
        return


class _Log:
    """The firings of all schedules, or of one, as they are read and shown."""

    def __init__(
        self, client: Client, schedule: dict[str, Any] | None, *, utc: bool, as_json: bool
    ) -> None:
        self._client = client
        self._schedule_id = None if schedule is None else schedule["id"]
        self._names: dict[str, str] = {}
        if schedule is not None:
            self._names[schedule["id"]] = schedule["name"]
        self._utc = utc
        self._as_json = as_json

    def past(self, count: int) -> None:
        """The last so many."""
        # One that ends between the two reads is in both: what was read last counts.
        read = (*self._live(), *self._ended(limit=max(count, 1)))
        records = sorted({str(each["id"]): each for each in read}.values(), key=when)
        newest = records[len(records) - min(count, len(records)) :]
        if self._as_json:
            output.print_json(newest)
        elif newest:
            self._show(newest)
        else:
            output.note("No firings yet.")

    def follow(self, count: int) -> None:
        """The last so many, then every one that begins, is tried again or ends."""
        import threading  # noqa: PLC0415 - started late, see app.py

        following, pause, away = Following(), threading.Event(), False
        first = following.news((*self._live(), *self._ended(limit=PAGE)))
        self._show(first[len(first) - min(count, len(first)) :])
        while True:
            pause.wait(INTERVAL_SECONDS)
            try:
                fresh = self._news(following)
            except (ServerAway, RequestRefused) as error:
                if isinstance(error, RequestRefused) and error.status not in {429, 502, 503, 504}:
                    raise
                if not away:
                    output.note(f"{error}; going on when it is back")
                away = True
                continue
            if away:
                output.note("The server is back.")
            away = False
            self._show(fresh)

    def _news(self, following: Following) -> list[Record]:
        live = self._live()
        records = [*live, *self._ended_since(following.since)]
        fresh = following.news(records)
        # What was seen running and has an end that is older than what we ask for.
        gone = following.vanished(live)[:_MAX_ASKED]
        ended = [found for id_ in gone if (found := self._one(following, id_)) is not None]
        return sorted((*fresh, *following.news(ended)), key=when)

    def _live(self) -> list[Record]:
        return [each for status in _BEGUN for each in self._page(status=status, limit=PAGE)[0]]

    def _ended(self, *, limit: int) -> list[Record]:
        return self._page(status="ended", limit=limit)[0]

    def _ended_since(self, since: datetime | None) -> list[Record]:
        found: list[Record] = []
        cursor: str | None = None
        asked = None if since is None else since.isoformat()
        for _ in range(MAX_PAGES):
            items, cursor = self._page(status="ended", since=asked, limit=PAGE, cursor=cursor)
            found += items
            if cursor is None:
                return found
        output.note("More ends than can be shown: some are left out. NAME narrows it down.")
        return found

    def _page(self, **query: object) -> tuple[list[Record], str | None]:
        page = self._client.get("/v1/firings", schedule_id=self._schedule_id, **query)
        return page["items"], page["next_cursor"]

    def _one(self, following: Following, id_: str) -> Record | None:
        try:
            return self._client.get(f"/v1/firings/{api.segment(id_)}")
        except RequestRefused as error:
            if error.status != 404:
                raise
            following.drop(id_)
            return None

    def _show(self, records: Iterable[Record]) -> None:
        import json  # noqa: PLC0415 - started late, see app.py

        for record in records:
            if self._as_json:
                print(json.dumps(record, ensure_ascii=False), flush=True)
            else:
                text = line(record, self._name_of(str(record["schedule_id"])), utc=self._utc)
                output.console().print(text, soft_wrap=True)

    def _name_of(self, schedule_id: str) -> str:
        """The schedule's name; its id when it is gone."""
        if schedule_id not in self._names:
            try:
                found = self._client.get(f"/v1/schedules/{api.segment(schedule_id)}")
                self._names[schedule_id] = str(found["name"])
            except RequestRefused:
                self._names[schedule_id] = schedule_id
        return self._names[schedule_id]


def line(record: Record, name: str, *, utc: bool) -> Text:
    """`2025-03-09 09:00:00.124 +01:00  succeeded  report  200, 35 ms, slot 09:00:00 …`."""
    from rich.text import Text  # noqa: PLC0415 - started late, see app.py

    at = end_of(record) or when(record)[1]
    slot = datetime.fromisoformat(record["scheduled_for"])
    took = record.get("duration_ms")
    attempt = record.get("attempt") or 0
    many = record.get("slot_count") or 1
    parts = [
        str(record["result_code"]) if record.get("result_code") is not None else "",
        shown.took(took),
        f"attempt {attempt}" if attempt > 1 else "",
        shown.notes(record),
        f"slot {moment(slot, utc=utc)}" + (f" and {many - 1} more" if many > 1 else ""),
        str(record["id"]),
    ]
    status = str(record["status"])
    return Text.assemble(
        (moment(at, utc=utc), "dim"),
        "  ",
        (f"{status:<9}", shown.style(status)),
        f"  {_plain(name)}  {_plain(', '.join(filter(None, parts)))}",
    )


def moment(instant: datetime, *, utc: bool) -> str:
    """An instant to the millisecond, with whose time it is: an offset, or UTC."""
    local = instant.astimezone(UTC) if utc else instant.astimezone()
    offset = "UTC" if utc else local.isoformat()[-6:]
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d} {offset}"


def _plain(text: str) -> str:
    """One line, whatever a name or an error has in it."""
    return _CONTROL.sub(" ", text)
