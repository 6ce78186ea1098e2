"""`/v1/signing-secret`: the keys that receivers verify Rota's requests with, one for each host."""

from datetime import datetime, timedelta

import msgspec
from litestar import Response, get, post

from rota import durations
from rota.api import access, bodies
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.once import Done, once
from rota.api.problems import bad_field
from rota.api.queries import Query
from rota.db import Tx
from rota.targets import signing_host
from rota.tenants.signing import OVERLAP, SigningSecret, SigningSecrets

_UNSEEN = {"Cache-Control": "no-store"}


class RetiringSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A version that signs next to the newest until it retires."""

    version: int
    retired_at: datetime


class SigningSecretShown(msgspec.Struct, frozen=True, kw_only=True):
    """The key of a host, which version it is of, and the versions that still sign next to it."""

    host: str | None
    """As it is signed for: lower case, with the port unless that is 80 or 443."""
    secret: str | None
    """The host's key for its receiver; null when no host was named."""
    version: int
    created_at: datetime
    shared: bool
    """Whether all hosts have this same key still, as before keys were per host: rotate it."""
    retiring: list[RetiringSecret]


class RotateFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the secret before signs next to the new one ("24h" by default, or seconds), and the
    host whose new key is wanted."""

    overlap: str | float | None = None
    host: str | None = None


@get("/v1/signing-secret", opt=access.needs("admin"))
async def get_signing_secret(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[SigningSecretShown]:
    """The key that verifies calls to a host. The tenant's secret is made when it is first needed
    and never shown."""
    host = Query(request, "host").text("host")
    if host is None:
        raise bad_field("host", "expected the receiver's host, such as ?host=example.com, got none")
    host = signing_host.read(host)

    async def work(tx: Tx) -> list[SigningSecret]:
        return await SigningSecrets(engine.vault).of(tx, caller.tenant.id)

    found = await engine.db.run(work, repeatable=True, tenant=caller.tenant.id)
    return Response(_view(found, host), headers=_UNSEEN)


@post("/v1/signing-secret/rotate", opt=access.needs("admin"), status_code=200)
async def rotate_signing_secret(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[bytes]:
    """Make a new signing secret; the one before signs next to it for a while."""
    fields = await bodies.read_as(request, RotateFields, optional=True)
    overlap = _overlap(fields)
    host = None if fields.host is None else signing_host.read(fields.host)

    async def work(tx: Tx) -> Done:
        made = await SigningSecrets(engine.vault).rotate(tx, caller.tenant.id, overlap=overlap)
        return Done(_view(made, host), headers=_UNSEEN)

    return await once(request, engine, caller, work, sealed=True)


ROUTES = (get_signing_secret, rotate_signing_secret)


def _overlap(fields: RotateFields) -> timedelta:
    match fields.overlap:
        case None:
            return OVERLAP
        case str(text):
            try:
                return durations.parse(text)
            except durations.InvalidDuration as error:
                raise bad_field("overlap", str(error)) from error
        case seconds:
            try:
                return timedelta(seconds=seconds)
            except (OverflowError, ValueError) as error:
                raise bad_field("overlap", "expected a length of time, got none") from error


def _view(secrets: list[SigningSecret], host: str | None) -> SigningSecretShown:
    newest, *before = secrets
    return SigningSecretShown(
        host=host,
        secret=None if host is None else newest.text_for(host),
        version=newest.version,
        created_at=newest.created_at,
        shared=newest.shared,
        retiring=[
            RetiringSecret(version=each.version, retired_at=each.retired_at)
            for each in before
            if each.retired_at is not None
        ],
    )
