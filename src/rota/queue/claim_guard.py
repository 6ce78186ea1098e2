"""Claim guard: proves that a row is still the worker's claim, in each statement that writes it.

Where a statement locks many rows it locks them in the order of their ids; two that met in different
orders would deadlock. Rows are found one by one through the primary key, whatever the planner
believes: a plan cached while the queue was empty would compare every row of the queue with every
row of the batch. A lateral subquery that locks cannot be turned into a join, nor can an array.
"""

from __future__ import annotations

from typing import LiteralString

# The row q is the claim x, and the worker $1 still holds it: no later attempt is meant. The state
# is compared as an expression, so that no partial index of running rows fits: a cached plan would
# look each claim up there, among the dead entries that a pinned snapshot keeps, and time out.
CLAIM_GUARD: LiteralString = """
                      q.id = x.id AND q.attempt = x.attempt
                  AND q.worker = $1 AND q.state || '' = 'running'
"""
