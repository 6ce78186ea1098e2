"""What a client raises.

RotaError
├── RotaApiError         the server said no, and why: `status`, `detail`, `errors`
│   ├── Invalid          400, 413, 415, 422: something in the request cannot be taken; `fields`
│   ├── Unauthorized     401: no key, or one that is not in force
│   ├── Forbidden        403: a key without the scope, a token of another attempt, a quota
│   ├── NotFound         404: there is no such thing of yours
│   ├── Conflict         409: a key is taken, or the state of a thing does not allow it
│   ├── PreconditionFailed  412: it is not of the version in `if_version`
│   ├── TooManyRequests  429: faster than the tenant may; `retry_after`
│   └── ServerFault      5xx: not your fault; `retry_after` when it may be tried again
└── TemporaryError
    └── Unreachable      no server answered, or what answered is not Rota
"""

from __future__ import annotations

from dataclasses import dataclass

from rota.errors import RotaError, TemporaryError


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field, by the name that was given."""

    field: str
    message: str


class RotaApiError(RotaError):
    """The server refused a request. Its text is the server's own sentence."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: tuple[FieldError, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        # All four, and by position: so that it survives being pickled.
        super().__init__(status, detail, errors, retry_after)
        self.status = status
        self.detail = detail
        self.errors = errors
        self.retry_after = retry_after
        """After how many seconds it may be asked again, if the server said so."""

    def __str__(self) -> str:
        if len(self.errors) < 2:
            return self.detail
        lines = [f"  {each.field}: {each.message}" for each in self.errors]
        return "\n".join([f"{len(self.errors)} fields are wrong:", *lines])


class Invalid(RotaApiError):
    """Something in the request cannot be taken; it changed nothing."""

    @property
    def fields(self) -> dict[str, str]:
        """What is wrong, by field."""
        return {each.field: each.message for each in self.errors}


class Unauthorized(RotaApiError):
    """No key, or one that is not in force."""


class Forbidden(RotaApiError):
    """The key or token does not allow it, or the tenant has all it may have."""


class NotFound(RotaApiError):
    """There is no such thing of yours."""


class Conflict(RotaApiError):
    """Another schedule has this key, or the state of the thing does not allow it."""


class PreconditionFailed(RotaApiError):
    """Somebody else has changed it: it is not of the version in `if_version`."""


class TooManyRequests(RotaApiError):
    """Faster than the tenant may; `retry_after` says when to go on."""


class ServerFault(RotaApiError):
    """The server could not do it, through no fault of the request."""


class Unreachable(TemporaryError):
    """No server answered, or what answered is not Rota. What was asked may have been done."""


_BY_STATUS: dict[int, type[RotaApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
}


def kind_of(status: int) -> type[RotaApiError]:
    """Which error a status is."""
    return ServerFault if status >= 500 else _BY_STATUS.get(status, RotaApiError)
