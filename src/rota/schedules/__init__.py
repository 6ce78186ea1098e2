"""Schedules: the contract. A schedule binds a trigger to a target, for a tenant, by its policies.

`definition` is what one is made of, `fields` reads it from an API's object (or says all that is
wrong with it), `schedule` owns the table. What owners ask for is a module each: `create`, `update`
(with delete and resume), `pause`, `run_now`, `backfill`, `replay`, `list`. Each verb runs in the
caller's transaction; only thousands of definitions are parsed before one begins. "Now" is the
database's clock. Nothing here fires: timers are set, and the holder of the lease fires.
"""
