"""Host limits: rate, concurrency and circuit breaker of each host that a worker calls.

`circuit` says what a host's failures mean, `host_signal` what an attempt says of its host, and
`cooldown` when to come back; all pure. `circuit_cache` is what the worker knows of failing hosts,
shared through the database. `admission` is where claims wait for a probe or a place, and where they
are turned away. A host that answers, and has no limited rate, costs a look into an empty dict.

A host is an authority such as `example.com:8443`. Redis streams have one too; tasks
and Celery have none, and no limits.
"""
