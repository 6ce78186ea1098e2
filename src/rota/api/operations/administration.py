"""Operations of whoever runs the installation."""

from __future__ import annotations

from rota.api.operations.operation import AWAY, KEY, LARGE, STATE, UNKNOWN, WRONG, Operation, read

_OPERATING = (
    Operation(
        name="healthz",
        method="get",
        path="/healthz",
        summary="Whether the process answers.",
        answer="Health",
    ),
    Operation(
        name="readyz",
        method="get",
        path="/readyz",
        summary="Whether the process can serve: 503 while the database is away or it stops.",
        answer="Health",
        also=(503,),
    ),
)

_ADMIN = (*KEY, WRONG, AWAY)

_ADMINISTERING = (
    Operation(
        name="create_tenant",
        method="post",
        path="/v1/tenants",
        summary="Make a tenant.",
        scope="admin",
        body="TenantFields",
        answer="Tenant",
        status=201,
        problems=(*_ADMIN, STATE, *LARGE),
    ),
    Operation(
        name="list_tenants",
        method="get",
        path="/v1/tenants",
        summary="List the tenants, the oldest first.",
        scope="admin",
        query=("limit", "cursor"),
        answer="TenantPage",
        problems=_ADMIN,
    ),
    Operation(
        name="get_tenant",
        method="get",
        path="/v1/tenants/{tenant_id}",
        summary="One tenant.",
        scope="admin",
        answer="Tenant",
        problems=(*_ADMIN, UNKNOWN),
    ),
    Operation(
        name="update_tenant",
        method="patch",
        path="/v1/tenants/{tenant_id}",
        summary="Change the fields given; null takes one back to its default.",
        scope="admin",
        body="TenantChanges",
        answer="Tenant",
        problems=(*_ADMIN, UNKNOWN, STATE, *LARGE),
    ),
    Operation(
        name="delete_tenant",
        method="delete",
        path="/v1/tenants/{tenant_id}",
        summary="End a tenant that has no schedules, with its keys and secrets.",
        scope="admin",
        status=204,
        problems=(*_ADMIN, UNKNOWN, STATE),
    ),
    Operation(
        name="create_key",
        method="post",
        path="/v1/keys",
        summary="Make a key; its text is shown this once.",
        scope="admin",
        body="KeyFields",
        answer="NewKey",
        status=201,
        problems=(*_ADMIN, *LARGE),
    ),
    Operation(
        name="list_keys",
        method="get",
        path="/v1/keys",
        summary="List a tenant's keys, without their secrets.",
        scope="admin",
        query=("tenant", "limit", "cursor"),
        answer="KeyPage",
        problems=_ADMIN,
    ),
    Operation(
        name="delete_key",
        method="delete",
        path="/v1/keys/{key_id}",
        summary="Revoke a key; refused everywhere within a second.",
        scope="admin",
        status=204,
        problems=(*_ADMIN, UNKNOWN, STATE),
    ),
)

_SIGNING_IN = (
    Operation(
        name="create_sign_in_link",
        method="post",
        path="/v1/sign-in-links",
        summary="Make a link to the dashboard that works once, within ten minutes.",
        scope="read",
        answer="SignInLink",
        status=201,
        problems=(*_ADMIN, *LARGE),
    ),
)

_CIRCUITS = (
    Operation(
        name="list_circuits",
        method="get",
        path="/v1/circuits",
        summary="List the hosts that fail, by name.",
        scope="admin",
        query=("limit", "cursor"),
        answer="CircuitPage",
        problems=_ADMIN,
    ),
    Operation(
        name="reset_circuit",
        method="delete",
        path="/v1/circuits/{host}",
        summary="Forget a host's failures: it is called again at once.",
        scope="admin",
        status=204,
        problems=(*KEY, (404, "Nothing is held against this host"), AWAY),
    ),
)

_FIGURES = (
    read(
        "get_stats", "/v1/stats", "The tenant's figures, as far as they are counted.", "StatsShown"
    ),
    Operation(
        name="get_cluster",
        method="get",
        path="/v1/cluster",
        summary="Nodes, shards with their leases and lag, and the hosts that fail.",
        scope="admin",
        answer="ClusterShown",
        problems=_ADMIN,
    ),
)

ADMINISTRATION = (*_ADMINISTERING, *_SIGNING_IN, *_CIRCUITS, *_FIGURES, *_OPERATING)
