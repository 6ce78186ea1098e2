"""Signing secrets: with which a tenant's targets tell Rota's requests from everybody else's.

Each tenant has one (`whsec_…`, Standard Webhooks 1.0), made at its first use. After a rotation the
one before signs beside the new one until it retires, so that receivers can change over at leisure.
"""

from rota.tenants.signing.secret import SigningSecret
from rota.tenants.signing.service import OVERLAP, SigningSecrets

__all__ = ["OVERLAP", "SigningSecret", "SigningSecrets"]
