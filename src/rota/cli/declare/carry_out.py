"""Carrying out a plan: creates, then changes, then removals, each step safe to repeat.

A schedule that the server refuses is reported and the rest is gone on with; but then nothing is
removed, since what should have taken its place may be what was refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rota.cli.client import RequestRefused, segment
from rota.cli.declare.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rota.cli.client import Client
    from rota.cli.declare.plan import Plan
    from rota.cli.declare.wanted import Wanted

MANY = 20
"""From so many new ones on they are made in chunks, each all or none."""
_CHUNK = 1_000
_CHUNK_BYTES = 8 * 1024 * 1024
_LONGEST_WAIT = 900.0

#: What concerns the schedule and not the whole command.
_OF_ONE = frozenset((404, 409, 413, 422))


@dataclass(slots=True)
class Done:
    """What was done, and what the server refused."""

    created: int = 0
    changed: int = 0
    removed: int = 0
    warnings: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    refused: list[Problem] = field(default_factory=list[Problem])
    kept: int = 0
    """How many were not removed because something was refused."""


def carry_out(
    client: Client,
    plan: Plan,
    *,
    on_done: Callable[[int], None],
    wait: Callable[[float], None],
) -> Done:
    """Do all of it; `on_done` is told how many schedules each step has dealt with.

    `wait` passes the seconds that the server asks for when it is asked too fast.
    """
    asking = _Patient(client, wait)
    done = Done()
    for chunk in _chunks(plan.creates) if len(plan.creates) >= MANY else ():
        if not _create(asking, chunk, done):
            done.created += _put_each(asking, chunk, done)
        on_done(len(chunk))
    for wanted in plan.creates if len(plan.creates) < MANY else ():
        done.created += _put_each(asking, [wanted], done)
        on_done(1)
    for change in plan.changes:
        done.changed += _put_each(asking, [change.wanted], done)
        on_done(1)
    if done.refused:
        done.kept = len(plan.removals)
        return done
    for standing in plan.removals:
        _remove(asking, standing.id)
        done.removed += 1
        on_done(1)
    return done


@dataclass(frozen=True, slots=True)
class _Patient:
    """A client that waits when it is told to, and asks again."""

    client: Client
    wait: Callable[[float], None]

    def post(self, path: str, body: object) -> Any:
        return self._patiently(lambda: self.client.post(path, body))

    def put(self, path: str, body: object) -> Any:
        return self._patiently(lambda: self.client.put(path, body))

    def delete(self, path: str) -> Any:
        return self._patiently(lambda: self.client.delete(path))

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        while True:
            try:
                return ask()
            except RequestRefused as error:
                later = error.retry_after
                if error.status != 429 or later is None or later > _LONGEST_WAIT:
                    raise
            self.wait(later)


def _create(client: _Patient, chunk: Sequence[Wanted], done: Done) -> bool:
    """All of a chunk at once; False when the server did not take it, and made none."""
    items = [dict(each.given) for each in chunk]
    try:
        answer = client.post("/v1/schedules/bulk", {"items": items})
    except RequestRefused as error:
        if error.status in _OF_ONE:
            return False
        raise
    done.created += len(chunk)
    for record in answer["items"]:
        _note_warnings(record, done)
    return True


def _put_each(client: _Patient, several: Sequence[Wanted], done: Done) -> int:
    taken = 0
    for wanted in several:
        try:
            record = client.put(f"/v1/schedules/by-key/{segment(wanted.key)}", dict(wanted.given))
        except RequestRefused as error:
            if error.status not in _OF_ONE:
                raise
            done.refused.append(Problem(wanted.place, None, str(error)))
        else:
            taken += 1
            _note_warnings(record, done)
    return taken


def _remove(client: _Patient, schedule_id: str) -> None:
    try:
        client.delete(f"/v1/schedules/{schedule_id}")
    except RequestRefused as error:
        if error.status != 404:  # Somebody else was quicker: it is gone, as it should be.
            raise


def _note_warnings(record: dict[str, Any], done: Done) -> None:
    if record.get("warnings"):
        done.warnings[record["key"]] = record["warnings"]


def _chunks(creates: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    """In order, none with more entries or bytes than a request may have."""
    chunk: list[Wanted] = []
    size = 0
    for each in creates:
        length = len(json.dumps(dict(each.given)).encode())
        if chunk and (len(chunk) == _CHUNK or size + length > _CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(each)
        size += length + 2
    if chunk:
        yield chunk
