"""What a target needs to complete its work later: a token, and where to say so. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import ids

if TYPE_CHECKING:
    from rota.queue.claim import Claim
    from rota.queue.external_claims import Tokens


class Callback:
    """What goes with every request, for targets that take work on (202, Rota-Async)."""

    def __init__(self, tokens: Tokens, public_url: str | None = None) -> None:
        self._tokens = tokens
        self._public_url = None if public_url is None else public_url.rstrip("/")

    def token(self, claim: Claim) -> str:
        """The attempt's token."""
        return self._tokens.token(claim.id, claim.attempt)

    def url(self, claim: Claim) -> str | None:
        """The firing's address; None where targets cannot reach the API."""
        if self._public_url is None:
            return None
        return f"{self._public_url}/v1/firings/{ids.to_text(ids.Kind.FIRING, claim.id)}"
