"""The queue: owns `queue` (live firings), `firings` (their outcomes) and `attempts`.

A row of `queue` lives from the moment its firing is due until the firing ends; then it is deleted
and its outcome is a row of `firings`. Each statement stands above the function that runs it:

- `overlap` decides how a firing enters; `enqueue` enters it; `dependents` enters what follows an
  end; `replay` finds what to repeat.
- `claim` takes rows for a worker, ahead of their instant. `heartbeat` extends claims, gives back
  those not begun, and stores progress. `complete` records what became of them: an end, another
  attempt later, the next step. `complete_fast` does the same for the most common end.
- `external_claims` are claims by token, of pull workers and of targets that report later.
- `rescue` takes claims from workers that are gone; `unblock` frees what waited for an end.
- `withdraw` ends what has not run and cancels what runs; `reversion` adapts live firings to an edit
  of their schedule; `record` is the one INSERT INTO firings.
- `circuits` and `host_rate_limit` are what workers know together of the hosts they call.

A claim is named by (firing, attempt, worker) (`claim_guard`). Every claim of a firing has a higher
attempt number than the one before, so a worker that comes back late with an older number is
refused: the fence of work.
"""
