"""What to do about an alert, in a sentence, and where to look. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rota.dashboard import shown
from rota.watch.alert import Alert
from rota.watch.kinds import KINDS

_ADVICE: Final = {
    "dead": "Look at why the last attempts failed, mend the target, then replay the dead letters.",
    "missed": "Slots passed while nothing could fire them. If they still matter, backfill them; "
    "a wider misfire window lets late ones run by themselves.",
    "overdue": "Ask the schedule why: most often no worker serves its queue, or all are busy. "
    "Start workers, or raise their concurrency.",
    "unexplained": "Slots passed that nobody fired and nobody recorded: this must not happen. "
    "Backfill them if they still matter, and report it with what the schedule's history says.",
    "unarmed": "It was active and had no next slot to fire; it has one again. Something deleted "
    "its timer: see what was done to the database, such as a restore of a part of it.",
    "moved": "A newer tzdata has other rules for its zone. Its local time is the same, at another "
    "instant; there is nothing to do unless others rely on the old one.",
    "outdated": "A node fires by older zone rules than the rest. Upgrade the package tzdata there.",
    "failing": "Many schedules fail at once: look for what they share, such as a host, a secret "
    "that was changed, or a deploy of theirs.",
    "slow": "Its runs come close to their timeout. Make the target faster, or allow it more time.",
    "capture": "The day's budget for requests and responses is used up: until midnight UTC only "
    "excerpts are kept. Capture failures alone, or less of what answers at length; the operator "
    "can raise the budget.",
    "stalled": "Shards fire late. See on the cluster's page whether a node is gone or overloaded; "
    "a fresh node takes its shards within seconds.",
    "behind": "A scheduler cannot keep up. Give it more CPU, or start another node.",
    "circuit": "The host is left alone until it answers again. If it is well by now, reset its "
    "circuit; nothing is lost meanwhile.",
    "flapping": "Leases change hands too often: nodes pause, restart, or reach the database badly.",
    "deep": "More waits than the workers can take. Start more of them, or flatten the herds that "
    "the forecast shows.",
    "double": "A worker was cut off while it called: a target may have been called twice. Those "
    "that check the idempotency key have nothing to do.",
    "away": "Nothing fired while the database was away, and what was due has been caught up "
    "with. See in its log what happened.",
}
_OF_MONITOR: Final = {
    "dead": "The job that pings this monitor reported a failure. Look at its own log, fix it "
    "there, and run it again: the next good ping closes this alert.",
    "missed": "The job that pings this monitor did not run, did not finish, or could not reach "
    "Rota. Look where it runs: the next good ping closes this alert. If it usually takes longer, "
    "allow a longer grace.",
}
KNOWN: Final = frozenset(_ADVICE)
"""The kinds that there is advice for."""
_CLUSTER: Final = frozenset({"stalled", "behind", "flapping", "double", "away", "outdated"})
_BAD: Final = frozenset(
    {"dead", "overdue", "stalled", "double", "away", "missed", "unexplained", "unarmed"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where to look."""

    href: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An alert, as a line of the list."""

    alert: Alert
    tone: str
    means: str
    subject: Link | None
    """What it is about, when that has a page."""
    name: str
    advice: str
    links: tuple[Link, ...]
    until: datetime
    """When it ended, or was last seen to go on."""


def of(alert: Alert) -> Shown:
    """What to say about an alert; one of a kind that is unknown here is shown all the same."""
    kind = KINDS.get(alert.kind)
    tone = "bad" if alert.kind in _BAD else "warn"
    return Shown(
        alert=alert,
        tone="mute" if alert.closed_at else tone,
        means=alert.means if kind else alert.kind,
        subject=_subject(alert),
        name=_name(alert),
        advice=_advice(alert),
        links=_links(alert),
        until=alert.closed_at or alert.seen_at,
    )


def _advice(alert: Alert) -> str:
    usual = _ADVICE.get(alert.kind, "")
    return _OF_MONITOR.get(alert.kind, usual) if alert.is_monitor else usual


def _name(alert: Alert) -> str:
    if alert.schedule_id is not None:
        return alert.schedule_name or "a deleted schedule"
    return "all firings of the tenant" if alert.kind == "failing" else alert.subject


def _subject(alert: Alert) -> Link | None:
    if alert.schedule_id is not None and alert.schedule_name is not None:
        id_ = shown.schedule_id(alert.schedule_id)
        return Link(href=f"/schedules/{id_}", label=alert.schedule_name)
    if alert.kind == "circuit":
        return Link(href="/cluster#circuits", label=alert.subject)
    return Link(href="/cluster", label=alert.subject) if alert.kind in _CLUSTER else None


def _links(alert: Alert) -> tuple[Link, ...]:
    if alert.is_monitor:
        return ()
    if alert.kind == "dead" and alert.schedule_id is not None and alert.schedule_name is not None:
        id_ = shown.schedule_id(alert.schedule_id)
        return (Link(href=f"/dead?schedule={id_}", label="Dead letters"),)
    if alert.kind == "failing":
        return (Link(href="/dead", label="Dead letters"),)
    if alert.kind == "circuit":
        return (Link(href="/cluster#circuits", label="Circuits"),)
    if alert.kind == "deep":
        return (Link(href="/forecast", label="Forecast"),)
    return ()
