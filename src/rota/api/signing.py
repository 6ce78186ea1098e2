"""`/v1/signing-secret`: what receivers verify Rota's requests with."""

from datetime import datetime, timedelta

import msgspec
from litestar import Response, get, post

from rota import durations
from rota.api import access, bodies
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.once import Done, once
from rota.api.problems import bad_field
from rota.db import Tx
from rota.tenants.signing import OVERLAP, SigningSecret, SigningSecrets

_UNSEEN = {"Cache-Control": "no-store"}


class RetiringSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A version that signs beside the newest until it retires."""

    version: int
    retired_at: datetime


class SigningSecretShown(msgspec.Struct, frozen=True, kw_only=True):
    """The newest signing secret, and the versions that still sign beside it."""

    secret: str
    version: int
    created_at: datetime
    retiring: list[RetiringSecret]


class RotateFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the secret before signs beside the new one: "24h" (if unsaid), or seconds."""

    overlap: str | float | None = None


@get("/v1/signing-secret", opt=access.needs("admin"))
async def get_signing_secret(engine: TheEngine, caller: Caller) -> Response[SigningSecretShown]:
    """The tenant's signing secret; made when it is first asked for."""

    async def work(tx: Tx) -> list[SigningSecret]:
        return await SigningSecrets(engine.vault).of(tx, caller.tenant.id)

    found = await engine.db.run(work, repeatable=True, tenant=caller.tenant.id)
    return Response(_view(found), headers=_UNSEEN)


@post("/v1/signing-secret/rotate", opt=access.needs("admin"), status_code=200)
async def rotate_signing_secret(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[bytes]:
    """Make a new signing secret; the one before signs beside it for a while."""
    overlap = _overlap(await bodies.read_as(request, RotateFields, optional=True))

    async def work(tx: Tx) -> Done:
        made = await SigningSecrets(engine.vault).rotate(tx, caller.tenant.id, overlap=overlap)
        return Done(_view(made), headers=_UNSEEN)

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


def _view(secrets: list[SigningSecret]) -> SigningSecretShown:
    newest, *before = secrets
    return SigningSecretShown(
        secret=newest.text,
        version=newest.version,
        created_at=newest.created_at,
        retiring=[
            RetiringSecret(version=each.version, retired_at=each.retired_at)
            for each in before
            if each.retired_at is not None
        ],
    )
