"""A schedule in words: when it fires and what it calls. Pure."""

from rota.schedules.definition import Definition
from rota.schedules.schedule import Schedule
from rota.triggers.english import explain


def when(schedule: Schedule) -> str:
    """Its trigger in English."""
    expected = schedule.definition.expected(schedule.anchor_at)
    if expected is not None:
        return f"expects a ping {explain(expected)}"
    words = explain(schedule.trigger)
    if schedule.definition.start_at is None:
        # An anchor that nobody chose says nothing in a list.
        return words.partition(", counted from")[0]
    return words


def target(definition: Definition) -> str:
    """What it calls, in a line."""
    if definition.target_url is not None:
        return f"{definition.method} {definition.target_url}"
    if definition.job_type is not None:
        return f"task {definition.job_type} in the queue {definition.lane}"
    if definition.stream is not None:
        return f"stream {definition.stream}"
    if definition.celery_task is not None:
        return f"Celery task {definition.celery_task}"
    if definition.monitor is not None:
        return "calls nothing: it waits for pings"
    return f"{len(definition.steps or ())} steps, one after another"
