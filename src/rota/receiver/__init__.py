"""For programs that Rota calls: believe only what is signed, and handle each firing once.

    from rota.receiver import Receiver

    receiver = Receiver(secrets=["whsec_…"])
    app = receiver.asgi(app)        # or receiver.wsgi(app)

In front of your application it

- verifies the Standard Webhooks signature over the bytes that came (401 when it does not hold),
- answers a firing that was handled before with 200 and `Rota-Duplicate: true`, without calling you,
- answers a firing that is being handled right now with 409 and `Retry-After`, so Rota comes again,
- refuses a `Rota-Fence` older than one it has seen for the same schedule, with 409.

Only what your application answered with 2xx counts as handled. What was handled is remembered by a
`Store`: in memory unless you give one. It needs nothing but the standard library.
"""

from __future__ import annotations

from rota.receiver.receiver import Receiver
from rota.receiver.signature import InvalidSecret, InvalidSignature, verify
from rota.receiver.store import Begun, Delivery, MemoryStore, Store

__all__ = [
    "Begun",
    "Delivery",
    "InvalidSecret",
    "InvalidSignature",
    "MemoryStore",
    "Receiver",
    "Store",
    "verify",
]
