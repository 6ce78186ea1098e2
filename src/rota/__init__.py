"""Rota: a distributed job scheduler on PostgreSQL.

A *trigger* names instants. A *schedule* (of a *tenant*) binds a trigger to a *target*. A *timer* is
the schedule's next due instant, kept in a *shard*. Whoever holds the shard's *lease* may fire, and
every transaction it makes proves the lease's *fence*. *Firing* turns a due timer into one row in
the *queue*. A *worker* claims it and makes an *attempt*. Outcomes are *history*.
"""
