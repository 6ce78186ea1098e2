-- Where people want to hear of trouble. The URL holds their credentials, so it is sealed with the tenant's data key;
-- `shown` is what may be seen of it.
CREATE TABLE channels (
    id           uuid        PRIMARY KEY,
    tenant_id    uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    name         text        NOT NULL,
    shown        text        NOT NULL,
    scheme       text        NOT NULL,
    version      integer     NOT NULL DEFAULT 1,
    key_id       uuid        NOT NULL REFERENCES data_keys,
    nonce        bytea       NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext   bytea       NOT NULL,
    events       text[]      NOT NULL,
    tags         text[]      NOT NULL DEFAULT '{}',
    enabled      boolean     NOT NULL DEFAULT true,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    last_sent_at timestamptz,
    last_error   text,
    -- Up to where successes have been told, for those who want to hear of them.
    told_until   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, name)
);
-- Few want these; they are looked for in every pass.
CREATE INDEX channels_told_successes ON channels (tenant_id) WHERE enabled AND 'succeeded' = ANY (events);

-- One trouble, from when it was noticed until it was over. Without a tenant it is the installation's.
CREATE TABLE alerts (
    id          uuid        PRIMARY KEY,
    tenant_id   uuid        REFERENCES tenants ON DELETE CASCADE,
    kind        text        NOT NULL,
    -- What it is about: a schedule, a host, a node; there is one open alert of a kind about it.
    subject     text        NOT NULL,
    schedule_id uuid,
    detail      text        NOT NULL,
    opened_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When it was last seen to go on.
    seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    closed_at   timestamptz,
    -- How often it has happened, and how much of that channels have been told, how often and when.
    count       bigint      NOT NULL DEFAULT 1,
    told_count  bigint      NOT NULL DEFAULT 0,
    told        integer     NOT NULL DEFAULT 0,
    told_at     timestamptz
);
-- One trouble is one alert, whichever nodes notice it.
CREATE UNIQUE INDEX alerts_open
    ON alerts (kind, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), subject)
    WHERE closed_at IS NULL;
CREATE INDEX alerts_untold ON alerts (told_at) WHERE closed_at IS NULL AND count > told_count;
CREATE INDEX alerts_of_tenant ON alerts (tenant_id, opened_at DESC, id DESC);
CREATE INDEX alerts_closed ON alerts (closed_at) WHERE closed_at IS NOT NULL;

-- What is to be said on a channel. A row waits here until it is sent or given up, whoever crashes meanwhile.
CREATE TABLE notifications (
    id           uuid        PRIMARY KEY,
    tenant_id    uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    channel_id   uuid        NOT NULL REFERENCES channels ON DELETE CASCADE,
    event        text        NOT NULL,
    alert_id     uuid,
    firing_id    uuid,
    title        text        NOT NULL,
    content      jsonb       NOT NULL,
    status       text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'given_up')),
    attempt      smallint    NOT NULL DEFAULT 0,
    -- From when on it may be taken; pushed on by whoever takes it, so that a crash only delays it.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at     timestamptz,
    error        text
);
CREATE INDEX notifications_pending ON notifications (available_at) WHERE status = 'pending';
CREATE INDEX notifications_ended ON notifications (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notifications_of_channel ON notifications (channel_id, created_at DESC);
CREATE UNIQUE INDEX notifications_once ON notifications (channel_id, firing_id) WHERE firing_id IS NOT NULL;

-- Outcomes that somebody should hear of, written by the transaction that recorded them: whatever crashes, one that is
-- in history has been here. A watcher takes them within a second or so.
CREATE TABLE unnoticed (
    id            bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    tenant_id     uuid        NOT NULL,
    schedule_id   uuid        NOT NULL,
    firing_id     uuid        NOT NULL,
    scheduled_for timestamptz NOT NULL,
    status        text        NOT NULL,
    reason        text,
    slot_count    integer     NOT NULL,
    finished_at   timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01);

CREATE FUNCTION note_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rota.unnoticed (tenant_id, schedule_id, firing_id, scheduled_for, status, reason, slot_count,
                                finished_at)
    VALUES (NEW.tenant_id, NEW.schedule_id, NEW.id, NEW.scheduled_for, NEW.status, left(NEW.reason, 500),
            NEW.slot_count, NEW.finished_at);
    RETURN NULL;
END $$;

-- Only of the few that went wrong: what succeeds pays for a comparison and nothing else.
CREATE TRIGGER note_outcome AFTER INSERT ON firings
    FOR EACH ROW WHEN (NEW.status IN ('dead', 'missed')) EXECUTE FUNCTION note_outcome();

SELECT secure_tenant_table('channels');
SELECT secure_tenant_table('alerts', 'SELECT');
SELECT secure_tenant_table('notifications', 'SELECT, INSERT');
SELECT secure_tenant_table('unnoticed', 'INSERT');
