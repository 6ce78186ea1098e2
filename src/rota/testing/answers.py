"""What is answered to calls that are no functions of the program: they are not made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from rota.targets import HttpTarget
from rota.testing.records import Call
from rota.workers.caller import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.testing.calling import Begun


@dataclass(frozen=True, slots=True)
class Answer:
    """What one kind of call is answered, and how often still."""

    to: str
    """The key of a schedule, or a URL, stream, task or Celery task by its name."""
    reply: Reply
    times: int | None


@dataclass(slots=True)
class Answers:
    """The calls that were recorded, and what is to be answered to them."""

    calls: list[Call] = field(default_factory=list[Call])
    _known: list[Answer] = field(default_factory=list[Answer])

    def add(self, answer: Answer) -> None:
        """From now on; a later one goes before an earlier one."""
        self._known.insert(0, answer)

    def give(self, begun: Begun) -> Reply:
        """Record the call, and answer it: with success unless something else was said."""
        claim, definition = begun.claim, begun.schedule.definition
        target = definition.target
        payload = begun.payload if claim.payload is None else msgspec.json.decode(claim.payload)
        self.calls.append(
            Call(
                schedule=begun.schedule.key,
                target=target,
                payload=payload,
                scheduled_for=claim.scheduled_for,
                called_at=begun.started_at,
                attempt=claim.tries,
            )
        )
        names = {begun.schedule.key, definition.target_url, definition.job_type}
        names |= {definition.stream, definition.celery_task}
        for at, answer in enumerate(self._known):
            if answer.to in names:
                self._use(at, answer)
                return answer.reply
        return Reply(code=200) if isinstance(target, HttpTarget) else Reply()

    def _use(self, at: int, answer: Answer) -> None:
        if answer.times is None:
            return
        if answer.times > 1:
            self._known[at] = Answer(answer.to, answer.reply, answer.times - 1)
        else:
            del self._known[at]


def reply(
    code: int | None, body: Any, headers: Mapping[str, str] | None, error: str | None
) -> Reply:
    """The answer that a test describes."""
    given = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Reply(code=code, body=given, headers=tuple((headers or {}).items()), error=error)
