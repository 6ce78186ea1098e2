-- A replay names the firing it repeats. `began_at` is the first time that it was its turn: what the
-- cap on the whole time of all attempts counts from.
ALTER TABLE queue
    ADD COLUMN replay_of uuid,
    ADD COLUMN began_at  timestamptz;
ALTER TABLE firings
    ADD COLUMN replay_of uuid,
    -- What was given in place of the schedule's payload, so that a replay sends the same.
    ADD COLUMN payload   jsonb;

-- Claims are fair between tenants: each tenant's work is found by itself.
DROP INDEX queue_ready;
CREATE INDEX queue_ready ON queue (lane, tenant_id, priority DESC, available_at)
    WHERE state IN ('waiting', 'retrying');
-- And what a tenant with a cap has running is counted.
DROP INDEX queue_claimed;
CREATE INDEX queue_claimed ON queue (tenant_id, claimed_until) WHERE state = 'running';

-- Hosts that fail: one row for each that has failed since it last answered.
CREATE TABLE circuits (
    host        text        PRIMARY KEY,
    -- In a row, over all workers and tenants.
    failures    integer     NOT NULL,
    -- How often it has opened since it last answered; each time stays open for longer.
    trips       integer     NOT NULL DEFAULT 0,
    opened_at   timestamptz,
    open_until  timestamptz,
    -- Somebody tries whether it answers again, until then.
    probe_until timestamptz,
    last_error  text,
    changed_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- When the next request to a host with a limited rate may be sent, by any worker.
CREATE TABLE host_pace (
    host    text        PRIMARY KEY,
    next_at timestamptz NOT NULL,
    -- The end of the line of those that could not be given an instant yet, and come back for one.
    tail_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- How many firings a schedule had had when it was completed: its timer, which counts, is gone then,
-- and a higher max_firings must go on from there.
ALTER TABLE schedules ADD COLUMN fired integer NOT NULL DEFAULT 0;
