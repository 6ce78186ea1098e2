-- Whom schedules belong to, and who may speak for them.
CREATE TABLE tenants (
    id              uuid        PRIMARY KEY,
    name            text        NOT NULL UNIQUE,
    weight          integer     NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
    max_concurrency integer     CHECK (max_concurrency > 0),
    create_rate     real        CHECK (create_rate > 0),
    max_schedules   integer     CHECK (max_schedules > 0),
    min_interval    interval    NOT NULL DEFAULT '60 seconds',
    created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
    id           uuid        PRIMARY KEY,
    tenant_id    uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    prefix       text        NOT NULL UNIQUE,
    sha256       bytea       NOT NULL,
    scopes       text[]      NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- The contract: wide and cold. A firing reads it through a cache and never writes it.
CREATE TABLE schedules (
    id         uuid        PRIMARY KEY,
    tenant_id  uuid        NOT NULL REFERENCES tenants,
    key        text        NOT NULL,
    name       text        NOT NULL,
    tags       text[]      NOT NULL DEFAULT '{}',
    job_type   text,
    status     text        NOT NULL CHECK (status IN ('active', 'paused', 'completed')),
    version    integer     NOT NULL DEFAULT 1,
    shard      smallint    NOT NULL,
    -- What an interval counts from; fixed when it is made or its trigger is edited.
    anchor_at  timestamptz NOT NULL,
    -- Everything else it was made of, as validated (rota.schedules.definition).
    definition jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, key)
);
CREATE INDEX schedules_by_tenant ON schedules (tenant_id, id);

-- The next slot of every active schedule: narrow and hot, and its index is the only hot read.
CREATE TABLE timers (
    schedule_id   uuid        PRIMARY KEY REFERENCES schedules ON DELETE CASCADE,
    shard         smallint    NOT NULL,
    scheduled_for timestamptz NOT NULL,
    due_at        timestamptz NOT NULL,
    -- The schedule's version it was armed for.
    version       integer     NOT NULL,
    -- How many firings it has had, for max_firings.
    fired         integer     NOT NULL DEFAULT 0,
    -- Moved by a manual run, so that a pass which did not see the run cannot advance the timer.
    touched       integer     NOT NULL DEFAULT 0
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX timers_due ON timers (shard, due_at);

-- Who may fire. UNIQUE (shard, fence) lets FOR KEY SHARE guard the pair: renewals do not touch it.
CREATE TABLE leases (
    shard        smallint    PRIMARY KEY,
    holder       uuid,
    fence        bigint      NOT NULL DEFAULT 0,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    UNIQUE (shard, fence)
) WITH (fillfactor = 50);
INSERT INTO leases (shard)
SELECT generate_series(0, (SELECT (value #>> '{}')::integer FROM settings WHERE name = 'shards') - 1);

CREATE TABLE nodes (
    id         uuid        PRIMARY KEY,
    roles      text[]      NOT NULL,
    host       text        NOT NULL,
    pid        integer     NOT NULL,
    version    text        NOT NULL,
    -- Its session-level advisory lock, held while its session lives: (class, object).
    lock_class integer     NOT NULL,
    lock_key   integer     NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);

-- Live firings only: a row is deleted when its firing ends.
CREATE TABLE queue (
    id            uuid        PRIMARY KEY,
    schedule_id   uuid        NOT NULL,
    tenant_id     uuid        NOT NULL,
    version       integer     NOT NULL,
    scheduled_for timestamptz NOT NULL,
    available_at  timestamptz NOT NULL,
    claimed_until timestamptz,
    worker        uuid,
    fence         bigint,
    attempt       smallint    NOT NULL DEFAULT 0,
    priority      smallint    NOT NULL DEFAULT 5,
    catch_up      boolean     NOT NULL DEFAULT false,
    state         text        NOT NULL CHECK (state IN ('waiting', 'running', 'retrying', 'blocked')),
    triggered_by  text        NOT NULL
                  CHECK (triggered_by IN ('schedule', 'manual', 'api', 'backfill')),
    lane          text        NOT NULL,
    host          text,
    -- Somebody wants it ended; whoever holds it ends it, with this reason.
    cancel_reason text,
    payload       jsonb
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_ready ON queue (lane, priority DESC, available_at)
    WHERE state IN ('waiting', 'retrying');
CREATE INDEX queue_of_schedule ON queue (schedule_id, scheduled_for);
CREATE INDEX queue_claimed ON queue (claimed_until) WHERE state = 'running';
CREATE INDEX queue_blocked ON queue (schedule_id, scheduled_for, id) WHERE state = 'blocked';

-- Outcomes: append-only, a partition for each day, dropped when they are old. A run of slots that
-- were not fired is one row, with the last of them and their count.
CREATE TABLE firings (
    id             uuid        NOT NULL,
    schedule_id    uuid        NOT NULL,
    tenant_id      uuid        NOT NULL,
    version        integer     NOT NULL,
    scheduled_for  timestamptz NOT NULL,
    last_slot_at   timestamptz,
    slot_count     integer     NOT NULL DEFAULT 1,
    status         text        NOT NULL
                   CHECK (status IN ('succeeded', 'dead', 'skipped', 'missed', 'cancelled')),
    reason         text,
    attempt        smallint    NOT NULL DEFAULT 0,
    triggered_by   text        NOT NULL,
    catch_up       boolean     NOT NULL DEFAULT false,
    started_at     timestamptz,
    finished_at    timestamptz NOT NULL,
    result_code    integer,
    result_excerpt text,
    PRIMARY KEY (id, scheduled_for)
) PARTITION BY RANGE (scheduled_for);
CREATE INDEX firings_of_schedule ON firings (schedule_id, scheduled_for DESC);
CREATE INDEX firings_dead ON firings (tenant_id, scheduled_for DESC, id DESC) WHERE status = 'dead';

-- One row per try.
CREATE TABLE attempts (
    firing_id        uuid        NOT NULL,
    tenant_id        uuid        NOT NULL,
    schedule_id      uuid        NOT NULL,
    scheduled_for    timestamptz NOT NULL,
    attempt          smallint    NOT NULL,
    worker           uuid        NOT NULL,
    started_at       timestamptz NOT NULL,
    finished_at      timestamptz NOT NULL,
    outcome          text        NOT NULL,
    error            text,
    request          jsonb,
    response_status  integer,
    response_headers jsonb,
    response_body    bytea,
    PRIMARY KEY (firing_id, attempt, scheduled_for)
) PARTITION BY RANGE (scheduled_for);

-- Slots from before retention (a backfill of last year) have a home too.
CREATE TABLE firings_default PARTITION OF firings DEFAULT;
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
