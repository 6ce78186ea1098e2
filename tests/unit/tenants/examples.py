"""A tenant for tests that need one and do not care which."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from rota.tenants.tenant import Tenant


def tenant() -> Tenant:
    return Tenant(id=UUID(int=1), name="acme", created_at=datetime(2026, 1, 1, tzinfo=UTC))
