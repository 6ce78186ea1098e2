"""For programs that Rota calls: believe only what is signed, and handle each firing once.

    from rota.receiver import Receiver

    receiver = Receiver(secrets=["whsec_…"])        # `rota signing --host` shows it
    app = receiver.asgi(app)        # or receiver.wsgi(app)

In front of your application it

- verifies `Rota-Signature`, which covers the body and everything that Rota says about the call in
  headers (401 when it does not hold), and puts the verified `Call` under "rota.call" into the ASGI
  scope or the WSGI environment,
- answers a firing that was handled before with 200 and `Rota-Duplicate: true`, without calling you,
- answers a firing that is being handled right now with 409 and `Retry-After`, so Rota comes again,
- refuses a `Rota-Fence` older than one it has seen for the same schedule, with 409.

Only what your application answered with 2xx counts as handled. What was handled is remembered by a
`Store`: in memory unless you give one. It needs nothing but the standard library.
"""

from __future__ import annotations

from rota.receiver.call import Call
from rota.receiver.receiver import Receiver
from rota.receiver.signature import InvalidSecret, InvalidSignature, verify, verify_call
from rota.receiver.store import Begun, Delivery, MemoryStore, Store

__all__ = [
    "Begun",
    "Call",
    "Delivery",
    "InvalidSecret",
    "InvalidSignature",
    "MemoryStore",
    "Receiver",
    "Store",
    "verify",
    "verify_call",
]
