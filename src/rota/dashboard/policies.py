"""Every rule that a schedule can be given: what it is called, what it does in a sentence, and what
holds when nobody says anything. The form of a schedule is made from this table. Pure.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["text", "number", "length", "choice", "lines", "tags", "codes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A word that may be chosen, and what it means."""

    value: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A field of the form. `usual` is what holds when it is left empty."""

    name: str
    label: str
    sentence: str
    kind: Kind = "text"
    usual: str = ""
    choices: tuple[Choice, ...] = ()
    only: str = ""
    """The kind of target that alone has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Fields that belong together."""

    id: str
    title: str
    about: str
    policies: tuple[Policy, ...]


def _choices(**meanings: str) -> tuple[Choice, ...]:
    return tuple(Choice(value=value, meaning=meaning) for value, meaning in meanings.items())


_ABOUT: Final = Group(
    id="about",
    title="About it",
    about="A description, tags and a key of your own",
    policies=(
        Policy(
            name="description",
            label="Description",
            kind="lines",
            sentence="A few words for whoever wonders, later, why this is here.",
            usual="none",
        ),
        Policy(
            name="tags",
            label="Tags",
            kind="tags",
            sentence="Words to find it by, with commas between; many can be paused by one.",
            usual="none",
        ),
        Policy(
            name="key",
            label="Key",
            sentence="A name for programs, yours alone and fixed for ever. Made of the name and "
            "the times when left empty.",
            usual="made by itself",
        ),
    ),
)

_LIMITS: Final = Group(
    id="limits",
    title="From when, until when, and which days",
    about="Start, end, a number of firings, a calendar of days off",
    policies=(
        Policy(
            name="start_at",
            label="Not before",
            sentence="Nothing fires before this instant. Without an offset it is read on the "
            "schedule's own clock.",
            usual="from now on",
        ),
        Policy(
            name="end_at",
            label="Not after",
            sentence="Nothing fires after this instant; then the schedule is completed.",
            usual="for ever",
        ),
        Policy(
            name="max_firings",
            label="At most so many firings",
            kind="number",
            sentence="After this many firings the schedule is completed.",
            usual="no limit",
        ),
        Policy(
            name="calendar",
            label="Calendar",
            sentence="On dates that this calendar leaves out, such as public holidays, nothing "
            "fires.",
            usual="none: every day counts",
        ),
    ),
)

_LATE: Final = Group(
    id="late",
    title="Overlaps and outages",
    about="What if the last one still runs, or nobody was there to fire it",
    policies=(
        Policy(
            name="overlap_policy",
            label="When the last firing still runs",
            kind="choice",
            sentence="What becomes of a slot that comes while the firing before it is under way.",
            usual="skip",
            choices=_choices(
                skip="leave the new one out, and record that",
                queue="let the new one wait until the last has ended",
                cancel_previous="end the last one, and run the new one",
                allow="run both side by side",
            ),
        ),
        Policy(
            name="misfire_policy",
            label="After an outage",
            kind="choice",
            sentence="What becomes of slots that passed while nothing could fire them.",
            usual="fire_late",
            choices=_choices(
                fire_late="fire the newest of them late, marked as catching up",
                fire_most_recent="fire only the newest one",
                skip="fire none of them, and record each as missed",
            ),
        ),
        Policy(
            name="misfire_grace",
            label="Late without being missed",
            kind="length",
            sentence="A slot that is late by no more than this simply fires: no outage, nothing "
            "to decide.",
            usual="1m",
        ),
        Policy(
            name="misfire_cap",
            label="Catch up with at most",
            kind="number",
            sentence="How many of the slots of an outage are fired late; older ones are recorded "
            "as missed.",
            usual="10",
        ),
        Policy(
            name="misfire_window",
            label="Catch up no further back than",
            kind="length",
            sentence="Slots older than this are never fired late.",
            usual="1d",
        ),
    ),
)

_RETRIES: Final = Group(
    id="retries",
    title="Delivery and retries",
    about="How often it is tried, how long it may take, what counts as success",
    policies=(
        Policy(
            name="delivery",
            label="Delivery",
            kind="choice",
            sentence="What happens when it cannot be known whether a request arrived.",
            usual="at_least_once",
            choices=_choices(
                at_least_once="tried again, and may arrive twice",
                at_most_once="never tried again, and may not arrive",
            ),
        ),
        Policy(
            name="max_attempts",
            label="Attempts",
            kind="number",
            sentence="How often it is tried in all before it is a dead letter.",
            usual="3",
        ),
        Policy(
            name="backoff",
            label="Waits between attempts",
            kind="choice",
            sentence="How the wait before an attempt grows.",
            usual="exponential",
            choices=_choices(
                exponential="doubles each time",
                linear="grows by the first wait each time",
                fixed="stays the same",
            ),
        ),
        Policy(
            name="backoff_delay",
            label="First wait",
            kind="length",
            sentence="How long it waits after the first attempt that failed.",
            usual="5s",
        ),
        Policy(
            name="backoff_max",
            label="Longest wait",
            kind="length",
            sentence="No wait between two attempts grows beyond this.",
            usual="1h, or the first wait where that is longer",
        ),
        Policy(
            name="retry_window",
            label="Give up after",
            kind="length",
            sentence="The last attempt begins no later than this after the first might have.",
            usual="1d",
        ),
        Policy(
            name="timeout_seconds",
            label="Timeout",
            kind="length",
            sentence="How long one attempt may take, in seconds or as 5m.",
            usual="30s for a URL, 1h for a task",
        ),
        Policy(
            name="success_on",
            label="Answers that are success",
            kind="codes",
            only="url",
            sentence="HTTP status codes, or classes of them, that mean the work is done.",
            usual="2xx",
        ),
        Policy(
            name="retry_on",
            label="Answers that are tried again",
            kind="codes",
            only="url",
            sentence="Any other answer is final; no answer at all is always tried again.",
            usual="5xx, 408, 425, 429",
        ),
        Policy(
            name="async_timeout_seconds",
            label="Time for work taken on",
            only="url",
            kind="length",
            sentence="A target that answers 202 with Rota-Async has this long to complete the "
            "work.",
            usual="6h",
        ),
        Policy(
            name="idempotency_key",
            label="Idempotency key",
            sentence="Sent with the slot's time, the same in every attempt, so that the target "
            "can tell a repeat.",
            usual="the firing's id",
        ),
    ),
)

_PACE: Final = Group(
    id="pace",
    title="Pace and records",
    about="Who goes first, how herds are spread, and what is kept",
    policies=(
        Policy(
            name="priority",
            label="Priority",
            kind="number",
            sentence="0 to 9: where firings wait for a worker, higher goes first.",
            usual="5",
        ),
        Policy(
            name="jitter_seconds",
            label="Jitter",
            kind="length",
            sentence="It fires up to this much later than its slot, always by the same share, so "
            "that many schedules of one instant are spread out.",
            usual="none",
        ),
        Policy(
            name="fire_window_seconds",
            label="Fire window",
            kind="length",
            sentence="It may fire any time within this long of its slot: room that Rota uses to "
            "spread the load further.",
            usual="none",
        ),
        Policy(
            name="capture",
            label="Requests and responses kept",
            kind="choice",
            sentence="What is recorded of each attempt; secrets never are.",
            usual="all",
            choices=_choices(
                all="of every attempt",
                failures="only of attempts that failed",
                none="none: only how they ended",
            ),
        ),
    ),
)

GROUPS: Final = (_LATE, _RETRIES, _LIMITS, _PACE, _ABOUT)
POLICIES: Final = {each.name: each for group in GROUPS for each in group.policies}
