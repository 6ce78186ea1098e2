"""What the statements about a worker's own claims share.

Rows are locked in the order of their ids wherever a statement locks many: two that met in different
orders would wait for each other. They are found one by one, through the primary key, whatever the
planner believes: a plan kept from when the queue was empty would compare every row of the queue
with every row of the batch. A lateral subquery that locks cannot be turned into a join, nor can an
array.
"""

from __future__ import annotations

from typing import LiteralString

# That the row q is the claim x, and that the worker $1 still has it: no later attempt is meant.
OURS: LiteralString = """
                      q.id = x.id AND q.attempt = x.attempt
                  AND q.worker = $1 AND q.state = 'running'
"""
