"""How the targets of this installation complete what they take on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.queue.external_claims import Tokens
from rota.workers.delivery.callback import Callback

if TYPE_CHECKING:
    from rota.config import Config
    from rota.db import Database
    from rota.tenants.secrets import Vault


async def open_callback(db: Database, vault: Vault, config: Config) -> Callback | None:
    """The tokens' key, read once; None without a key ring, and then no target can take work on."""
    if not vault.is_on:
        return None
    key = await db.run(vault.token_key, repeatable=True)
    return Callback(Tokens(key), config.public_url)
