"""NOTICE: what goes wrong becomes an alert, and alerts are told on channels.

    outcomes recorded ─┐
    timers, queue,     ├→ alerts (one row for each trouble) → notifications (an outbox) → channels
    leases, circuits  ─┘

Nothing here is in the way of a firing: outcomes are written down by the transaction that records
them (`unnoticed`), the rest is read from the tables by a watchdog that shares nothing with the
scheduler's loop. Any number of nodes may watch; one of them does the work of a pass.
"""
