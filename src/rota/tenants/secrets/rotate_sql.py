"""The statements of a rotation, and of seeing whether a ring fits."""

from __future__ import annotations

from typing import LiteralString

# In one order, so that two rotations at once wait for each other and never in a circle.
OLD_DATA_KEYS: LiteralString = """
    SELECT id, tenant_id, ring_key_id, nonce, ciphertext FROM data_keys
     WHERE ring_key_id <> $1
     ORDER BY id
     LIMIT $2
       FOR NO KEY UPDATE
"""

REWRAP_DATA_KEY: LiteralString = """
    UPDATE data_keys SET ring_key_id = $2, nonce = $3, ciphertext = $4, wrapped_at = now()
     WHERE id = $1
"""

OLD_INSTALLATION_KEYS: LiteralString = """
    SELECT name, ring_key_id, nonce, ciphertext FROM installation_keys
     WHERE ring_key_id <> $1
     ORDER BY name
       FOR UPDATE
"""

REWRAP_INSTALLATION_KEY: LiteralString = """
    UPDATE installation_keys SET ring_key_id = $2, nonce = $3, ciphertext = $4 WHERE name = $1
"""

USED: LiteralString = """
    SELECT ring_key_id FROM data_keys UNION SELECT ring_key_id FROM installation_keys
"""

# One of each is enough to see whether the ring's key of that id is the right one.
SAMPLES: LiteralString = """
    SELECT DISTINCT ON (ring_key_id) id, tenant_id, ring_key_id, nonce, ciphertext
      FROM data_keys
     ORDER BY ring_key_id, id
"""
