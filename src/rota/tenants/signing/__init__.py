"""Signing secrets: what the keys are derived from that a tenant's requests are signed with.

Each tenant has one, made at its first use and never shown. Receivers get the key of their own host
(`whsec_…`, Standard Webhooks 1.0). After a rotation the secret before signs next to the new one
until it retires, so that receivers can change over one by one.
"""

from rota.tenants.signing.secret import SigningSecret
from rota.tenants.signing.service import OVERLAP, SigningSecrets

__all__ = ["OVERLAP", "SigningSecret", "SigningSecrets"]
