"""`/v1/secrets` and `/v1/signing-secret`."""

from rota.sdk.client.call import Call, Listing, at, delete, get, listing, post, put, some
from rota.sdk.client.results import Page
from rota.sdk.client.results_admin import Secret, SigningSecret
from rota.sdk.client.schedules import Length

_ONE = "/v1/secrets/{}"


def put_secret(name: str, value: str) -> Call[Secret]:
    """Make the secret of this name, or give it a new value. The value is never shown again."""
    return put(Secret, at(_ONE, name), {"value": value})


def list_secrets(*, page_size: int | None = None) -> Listing[Secret]:
    """The secrets by name, without their values."""
    return listing(Page[Secret], "/v1/secrets", page_size)


def delete_secret(name: str) -> Call[None]:
    """Delete a secret; what wants it fails from then on."""
    return delete(at(_ONE, name))


def signing_secret(host: str) -> Call[SigningSecret]:
    """The key that verifies calls to a host, such as `example.com` or `example.com:8443`."""
    return get(SigningSecret, "/v1/signing-secret", host=host)


def rotate_signing_secret(
    *, overlap: Length | None = None, host: str | None = None
) -> Call[SigningSecret]:
    """Make a new signing secret; the one before signs next to it for the overlap (24h)."""
    body = some(overlap=overlap, host=host)
    return post(SigningSecret, "/v1/signing-secret/rotate", body or None)
