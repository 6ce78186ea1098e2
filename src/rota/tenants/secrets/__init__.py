"""Secrets: values that only the request which needs them ever shows.

A value is encrypted (AES-256-GCM) with its tenant's data key; data keys are stored wrapped by a key
of the ring, which is never in the database. `cipher` has the two functions that everything rests
on, `ring` and `rings` are where ring keys come from, `service.Vault` is what the rest of the
program uses, `rotate` moves all data keys under the ring's current key.
"""

from rota.tenants.secrets.cipher import BrokenSecret
from rota.tenants.secrets.masked import Masked
from rota.tenants.secrets.ring import NoSecretKeys, Ring, RingKeyMissing
from rota.tenants.secrets.rings import Rings
from rota.tenants.secrets.service import Vault

__all__ = ["BrokenSecret", "Masked", "NoSecretKeys", "Ring", "RingKeyMissing", "Rings", "Vault"]
