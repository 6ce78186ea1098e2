"""A server's API from Python: `rota.Client` and `rota.AsyncClient`, what they answer and raise.

A route (`routes`) is a function that builds a `Call`, a value without I/O. `methods` turns each
into a method of both clients; `client` sends, and `sending` decides what an answer means.
"""

from rota.sdk.client.client import AsyncClient, Client
from rota.sdk.client.errors import (
    Conflict,
    FieldError,
    Forbidden,
    Invalid,
    NotFound,
    PreconditionFailed,
    RotaApiError,
    ServerFault,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from rota.sdk.client.listing import AsyncItems, Items
from rota.sdk.client.results import (
    Attempt,
    Backfilled,
    Circuit,
    ClaimedFiring,
    ClaimResult,
    Completion,
    Firing,
    Health,
    Page,
    PauseResult,
    ReplayResult,
    ResumeResult,
    Slot,
    Upcoming,
    Why,
)
from rota.sdk.client.results_admin import (
    Cluster,
    ClusterNode,
    ClusterShard,
    Key,
    NewKey,
    Secret,
    SigningSecret,
    Stats,
    Tenant,
)
from rota.sdk.client.results_calendars import Calendar, Heard, LeftOut, Pinged
from rota.sdk.client.results_watching import Alert, Channel, Notification
from rota.sdk.client.routes.administering import TenantFields
from rota.sdk.client.schedules import BulkItem, BulkResult, Problem, Schedule, ScheduleFields

__all__ = [
    "Alert",
    "AsyncClient",
    "AsyncItems",
    "Attempt",
    "Backfilled",
    "BulkItem",
    "BulkResult",
    "Calendar",
    "Channel",
    "Circuit",
    "ClaimResult",
    "ClaimedFiring",
    "Client",
    "Cluster",
    "ClusterNode",
    "ClusterShard",
    "Completion",
    "Conflict",
    "FieldError",
    "Firing",
    "Forbidden",
    "Health",
    "Heard",
    "Invalid",
    "Items",
    "Key",
    "LeftOut",
    "NewKey",
    "NotFound",
    "Notification",
    "Page",
    "PauseResult",
    "Pinged",
    "PreconditionFailed",
    "Problem",
    "ReplayResult",
    "ResumeResult",
    "RotaApiError",
    "Schedule",
    "ScheduleFields",
    "Secret",
    "ServerFault",
    "SigningSecret",
    "Slot",
    "Stats",
    "Tenant",
    "TenantFields",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "Upcoming",
    "Why",
]
