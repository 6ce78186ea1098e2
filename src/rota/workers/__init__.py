"""Workers claim firings ahead of time, start them at their instant, and record the outcome.

A claim passes through the stages in this order, over one `inflight`:

- `claimer` takes what there is room for (`prefetch`);
- `delay_queue` holds it until its instant, by the database's clock, and `preparer` does before that
  all that can be done;
- `fair_queue` says who is next, `attempt` is one attempt: begin, call, judge (`outcome`), settle;
- `completer` records outcomes in batches, behind the work and never in its way.

`heartbeat` keeps claims alive, `claim_release` parts with those that are not begun, `stopping` ends
in order, `rescuer` looks after the claims of workers that are gone. `hosts` has the circuit
breakers and limits of targets. `delivery` sends to URLs, Redis streams and Celery, `tasks` runs
functions: what a lane does is a `Caller` (`caller`).
"""
