"""The statements about sessions and sign-in tokens. All of them run as the engine: whoever signs in
is nobody yet."""

from __future__ import annotations

from typing import LiteralString

# Who is asking is remembered for a moment: the key may have been revoked within it.
BEGIN: LiteralString = """
    INSERT INTO sessions (sha256, tenant_id, key_id, scopes, expires_at)
    SELECT $1::bytea, $2::uuid, $3::uuid, $4::text[], now() + $5::interval
     WHERE $3::uuid IS NULL OR EXISTS (SELECT FROM api_keys WHERE id = $3 FOR KEY SHARE)
 RETURNING expires_at
"""

# A key that is gone takes its sessions along (ON DELETE CASCADE); one that has expired is looked at
# here, at every request, so that a session never outlives it.
FIND: LiteralString = """
    SELECT s.key_id, k.prefix AS key_prefix, s.scopes, s.expires_at, s.created_at, s.tenant_id
      FROM sessions s
      LEFT JOIN api_keys k ON k.id = s.key_id
     WHERE s.sha256 = $1 AND s.expires_at > now()
       AND (k.expires_at IS NULL OR k.expires_at > now())
"""

END: LiteralString = "DELETE FROM sessions WHERE sha256 = $1"

# As above: the key may have been revoked within the moment for which it is remembered.
KEEP: LiteralString = """
    INSERT INTO sign_in_tokens (sha256, tenant_id, key_id, scopes, expires_at)
    SELECT $1::bytea, $2::uuid, $3::uuid, $4::text[], now() + $5::interval
     WHERE $3::uuid IS NULL OR EXISTS (SELECT FROM api_keys WHERE id = $3)
 RETURNING expires_at
"""

# Deleted by whoever uses it: of two at the same moment, one gets the row.
USE_UP: LiteralString = """
    DELETE FROM sign_in_tokens
     WHERE sha256 = $1
 RETURNING tenant_id, key_id, scopes, expires_at > now() AS is_good
"""

# Links first: a session that one of them is beginning right now is there when that wait is over.
FORGET_LINKS: LiteralString = "DELETE FROM sign_in_tokens WHERE tenant_id = $1 AND key_id IS NULL"
END_OF_LINKS: LiteralString = "DELETE FROM sessions WHERE tenant_id = $1 AND key_id IS NULL"

FORGET: LiteralString = """
    WITH tokens AS (DELETE FROM sign_in_tokens WHERE expires_at < now())
    DELETE FROM sessions WHERE expires_at < now()
"""
