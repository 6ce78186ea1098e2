"""Schedules: the contract. A schedule binds a trigger to a target, for a tenant, by its policies.

`definition` is what one is made of, `fields` reads it from an API's object (or says all that is
wrong with it), `service` does what owners ask for: create, change, pause, resume, delete, run now.
A firing reads schedules and never writes them.
"""
