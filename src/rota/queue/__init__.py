"""The queue: firings that wait for a worker, and those that a worker holds.

A row lives from the moment its firing is due until the firing ends; then it is deleted and its
outcome is history. `claim` takes rows for a worker, ahead of their instant. `extend` keeps them,
`release` gives unstarted ones back, `settle` records what became of them (an outcome, or another
try later), `cancel` asks for an end, `rescue` takes rows from workers that are gone. What a target
has taken on is nobody's (`claimed` is for whoever reports on it, by token; `overdue` for when its
time is up). `replay` puts a firing that has ended in again, as a new one.

A claim is named by (firing, attempt, worker). Every claim of a firing has a higher attempt number
than the one before, so whoever comes back late with an older number is refused: the fence of work.
"""
