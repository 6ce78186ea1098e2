"""`/v1/tenants`, `/v1/keys`, `/v1/circuits`, and how a server is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack

from rota.sdk.client.call import Call, Listing, at, delete, get, given, listing, patch, post, some
from rota.sdk.client.results import Circuit, Health, Page
from rota.sdk.client.results_admin import Cluster, Key, NewKey, SignInLink, Stats, Tenant
from rota.sdk.client.schedules import Length

_TENANT = "/v1/tenants/{}"


class TenantFields(TypedDict, total=False):
    """What a tenant is made of. None takes a field back to its default."""

    name: str
    weight: int | None
    max_concurrency: int | None
    create_rate: float | None
    request_rate: float | None
    max_schedules: int | None
    capture_budget_mb: int | None
    min_interval: Length | None
    celery_allow: Sequence[str] | None


def create_tenant(
    fields: Mapping[str, Any] | None = None, /, **more: Unpack[TenantFields]
) -> Call[Tenant]:
    """Make a tenant."""
    return post(Tenant, "/v1/tenants", given(fields, more))


def list_tenants(*, page_size: int | None = None) -> Listing[Tenant]:
    """The tenants, the oldest first."""
    return listing(Page[Tenant], "/v1/tenants", page_size)


def get_tenant(tenant: str | Tenant) -> Call[Tenant]:
    """One tenant."""
    return get(Tenant, at(_TENANT, _id(tenant)))


def update_tenant(
    tenant: str | Tenant,
    fields: Mapping[str, Any] | None = None,
    /,
    **more: Unpack[TenantFields],
) -> Call[Tenant]:
    """Change the fields given; None takes one back to its default."""
    return patch(Tenant, at(_TENANT, _id(tenant)), given(fields, more))


def delete_tenant(tenant: str | Tenant) -> Call[None]:
    """End a tenant that has no schedules, with its keys and secrets."""
    return delete(at(_TENANT, _id(tenant)))


def create_key(
    *,
    scopes: Sequence[Literal["read", "write", "admin"]],
    tenant: str | Tenant | None = None,
    expires_at: datetime | None = None,
    name: str | None = None,
) -> Call[NewKey]:
    """Make a key; its text is shown this once. Not tried again: a key nobody saw would be left."""
    whose = None if tenant is None else _id(tenant)
    body = some(scopes=list(scopes), tenant=whose, expires_at=expires_at, name=name)
    return post(NewKey, "/v1/keys", body)


def list_keys(*, tenant: str | Tenant | None = None, page_size: int | None = None) -> Listing[Key]:
    """A tenant's keys, without their secrets; the caller's own unless given."""
    whose = None if tenant is None else _id(tenant)
    return listing(Page[Key], "/v1/keys", page_size, tenant=whose)


def delete_key(key: str | Key) -> Call[None]:
    """Revoke a key, by its id; refused everywhere within a second."""
    return delete(at("/v1/keys/{}", _id(key)))


def create_sign_in_link() -> Call[SignInLink]:
    """Make a link to the dashboard that works once, with the rights of this key: its path at the
    server's address. Not tried again: a link nobody saw would be left."""
    return post(SignInLink, "/v1/sign-in-links")


def list_circuits(*, page_size: int | None = None) -> Listing[Circuit]:
    """The hosts that fail, by name."""
    return listing(Page[Circuit], "/v1/circuits", page_size)


def reset_circuit(host: str | Circuit) -> Call[None]:
    """Forget a host's failures: it is called again at once."""
    return delete(at("/v1/circuits/{}", host.host if isinstance(host, Circuit) else host))


def stats() -> Call[Stats]:
    """The tenant's figures: schedules, queue, the last hour, lateness, what is due next."""
    return get(Stats, "/v1/stats")


def cluster() -> Call[Cluster]:
    """Nodes, shards with their leases and lag, and the hosts that fail."""
    return get(Cluster, "/v1/cluster")


def healthz() -> Call[Health]:
    """Whether the server answers."""
    return replace(get(Health, "/healthz"), has_key=False)


def readyz() -> Call[Health]:
    """Whether the server can serve: `is_ok`, or `detail` says why not. Asked once, not retried."""
    return replace(get(Health, "/readyz"), has_key=False, also=(503,))


def _id(thing: str | Tenant | Key) -> str:
    return thing if isinstance(thing, str) else thing.id
