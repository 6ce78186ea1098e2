"""The composition root: everything put together into the processes that people run.

`serve` is `rota serve`: database, leases, scheduler, worker and API by role, and an orderly end.
"""
