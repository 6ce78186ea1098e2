"""Calling URLs that strangers wrote: our own client over `httptools`.

`caller` is what the worker knows: a call for a claim. Below it, each in a file: `origin` reads a
URL, `wire` makes the bytes, `resolver` finds addresses and has them judged, `dial` connects to them
and to nothing else, `client` sends and reuses, `pool` keeps connections for a moment, `connection`
reads one answer at a time, `failures` says in a line what went wrong.

What a target may do to us is bounded: one deadline covers everything from the name's look-up to
the last byte read; redirects are never followed, cookies never kept, bodies never unpacked (S3,
S5); headers, interim answers and bodies have caps. Nothing is sent to an address that the policy
has not seen (S1, S2).
"""

from __future__ import annotations

from rota.workers.delivery.http.caller import HttpCall, HttpCaller
from rota.workers.delivery.http.connection import MAX_BODY
from rota.workers.delivery.http.failures import described

__all__ = ["MAX_BODY", "HttpCall", "HttpCaller", "described"]
