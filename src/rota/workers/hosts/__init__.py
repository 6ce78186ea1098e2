"""Kindness to targets: what a worker does so that a host is not called when it cannot take it.

`circuit` says what a host's failures mean, `heard` what an attempt says of its host, `later` when
to come back; all pure. `known` is what the worker knows of failing hosts, shared through the
database. `gate` is where claims wait for a probe or a place, and where they are turned away. A host
that answers, and has no limited rate, costs nothing: a look into an empty dict.

A host is an authority such as `example.com:8443`. Redis streams have one too; tasks
and Celery have none, and no limits.
"""
