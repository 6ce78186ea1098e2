"""Workers: they claim firings ahead of time, begin them at their instant, and record the outcome.

`pool` is the worker: it holds claims and begins them. `claimer` takes what there is room for;
`agenda` starts it at the instant, by the database's clock; `heartbeat` keeps claims alive,
`letting_go` parts with those that are not begun, `stopping` ends in order. `hosts` is the kindness
to targets: circuits, rates and hands of each host. `attempt` is one attempt as a pipeline: begin,
call, judge, settle. `http` calls URLs; what else a lane can do is another `Caller` (`calls`).
`finisher` records outcomes in batches, behind the work and never in its way. `rescuer` looks after
the claims of workers that are gone.
"""
