"""What a target needs to complete its work later: a token, and where to say so. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import ids

if TYPE_CHECKING:
    from rota.queue.claim import Claim
    from rota.queue.tokens import Tokens

TOKEN_HEADER = "Rota-Token"  # noqa: S105 - a header's name
CALLBACK_HEADER = "Rota-Callback"


class Callback:
    """The headers that go with every request, for targets that take work on (202, Rota-Async)."""

    def __init__(self, tokens: Tokens, public_url: str | None = None) -> None:
        self._tokens = tokens
        self._public_url = None if public_url is None else public_url.rstrip("/")

    def headers(self, claim: Claim) -> dict[str, str]:
        """The attempt's token; and the firing's address, where targets can reach the API."""
        headers = {TOKEN_HEADER: self._tokens.token(claim.id, claim.attempt)}
        if self._public_url is not None:
            firing = ids.to_text(ids.Kind.FIRING, claim.id)
            headers[CALLBACK_HEADER] = f"{self._public_url}/v1/firings/{firing}"
        return headers
