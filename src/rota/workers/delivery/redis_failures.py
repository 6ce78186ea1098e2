"""What it means when Redis says no. Pure, but for the names of redis's own exceptions."""

from __future__ import annotations

import re
from typing import Final

from redis import exceptions as redis

from rota.targets import TargetRefused
from rota.workers.caller import Reply
from rota.workers.delivery.http.failures import CallFailed, reply_to

#: Another attempt would fare no better: somebody has to change something.
_PERMANENT: Final = (
    redis.AuthenticationError,
    redis.AuthorizationError,
    redis.AuthenticationWrongNumberOfArgsError,
    redis.NoPermissionError,
    redis.MovedError,
)
#: What the server itself said.
_ANSWERS: Final = (redis.ResponseError, redis.AuthenticationError, redis.BusyLoadingError)
#: A server that is starting, full, being replaced, or not the one in charge.
_PASSING: Final = (
    redis.OutOfMemoryError,
    redis.ReadOnlyError,
    redis.BusyLoadingError,
    redis.ClusterDownError,
    redis.TryAgainError,
)
# At its beginning, or within what a script has to tell: "ERR Error running script (…): -OOM …".
_PASSING_WORDS: Final = re.compile(
    r"(?:^|[ -])(?:OOM|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|MISCONF)\b"
)


def reply_of(error: Exception) -> Reply:
    """The reply that a failed delivery is: refusals are final, the network may do better."""
    if not isinstance(error, _ANSWERS):
        for cause in _causes(error):
            # Ours or the system's, wrapped by the library on its way here.
            if isinstance(cause, CallFailed | TargetRefused | OSError):
                return reply_to(cause)
    text = " ".join(str(error).split())[:400] or type(error).__name__
    return Reply(error=f"Redis: {text}", permanent=_is_permanent(error, text))


def _is_permanent(error: Exception, text: str) -> bool:
    if isinstance(error, _PERMANENT):
        return True
    if not isinstance(error, redis.ResponseError) or isinstance(error, _PASSING):
        return False
    # "WRONGTYPE Operation against a key holding the wrong kind of value", "ERR unknown command".
    return _PASSING_WORDS.search(text) is None


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    while error not in found:
        found.append(error)
        following = error.__cause__ or error.__context__
        if following is None:
            break
        error = following
    return found
