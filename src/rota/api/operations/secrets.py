"""Operations on secrets and the signing secret."""

from __future__ import annotations

from rota.api.operations.operation import AWAY, KEY, LARGE, UNKNOWN, WRONG, Operation, read

_NO_RING = (503, "The database is away, or there is no key ring; the sentence says which")

SECRETS = (
    Operation(
        name="put_secret",
        method="put",
        path="/v1/secrets/{name}",
        summary="Make the secret of this name, or give it a new value.",
        scope="write",
        body="SecretFields",
        answer="Secret",
        problems=(*KEY, *LARGE, WRONG, _NO_RING),
    ),
    read(
        "list_secrets",
        "/v1/secrets",
        "List the secrets by name, without their values.",
        "SecretPage",
        *("limit", "cursor"),
    ),
    Operation(
        name="delete_secret",
        method="delete",
        path="/v1/secrets/{name}",
        summary="Delete a secret; what wants it fails from then on.",
        scope="write",
        status=204,
        problems=(*KEY, UNKNOWN, AWAY),
    ),
    Operation(
        name="get_signing_secret",
        method="get",
        path="/v1/signing-secret",
        summary="The key that verifies calls to a host; each host has its own.",
        scope="admin",
        query=("host",),
        required=("host",),
        answer="SigningSecretShown",
        problems=(*KEY, WRONG, _NO_RING),
    ),
    Operation(
        name="rotate_signing_secret",
        method="post",
        path="/v1/signing-secret/rotate",
        summary="Make a new signing secret; the one before signs next to it for a while.",
        scope="admin",
        body="RotateFields",
        optional_body=True,
        answer="SigningSecretShown",
        problems=(*KEY, *LARGE, WRONG, _NO_RING),
    ),
)
