-- The schema after all migrations. Made by `python -m rota.db.schema --write`; do not edit.

CREATE TABLE rota.alerts (
    id uuid NOT NULL,
    tenant_id uuid,
    kind text NOT NULL,
    subject text NOT NULL,
    schedule_id uuid,
    detail text NOT NULL,
    opened_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    closed_at timestamp with time zone,
    count bigint DEFAULT 1 NOT NULL,
    told_count bigint DEFAULT 0 NOT NULL,
    told integer DEFAULT 0 NOT NULL,
    told_at timestamp with time zone,
    CONSTRAINT alerts_pkey PRIMARY KEY (id),
    CONSTRAINT alerts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX alerts_closed ON rota.alerts USING btree (closed_at) WHERE (closed_at IS NOT NULL);
CREATE INDEX alerts_of_tenant ON rota.alerts USING btree (tenant_id, opened_at DESC, id DESC);
CREATE UNIQUE INDEX alerts_open ON rota.alerts USING btree (kind, COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), subject) WHERE (closed_at IS NULL);
CREATE INDEX alerts_untold ON rota.alerts USING btree (told_at) WHERE ((closed_at IS NULL) AND (count > told_count));
ALTER TABLE rota.alerts ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.alerts FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.alerts AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.alerts AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.alerts TO rota_tenant;

CREATE TABLE rota.answers (
    tenant_id uuid NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint,
    content bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    headers jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT answers_pkey PRIMARY KEY (tenant_id, key),
    CONSTRAINT answers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX answers_by_age ON rota.answers USING btree (created_at);
ALTER TABLE rota.answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.answers FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.answers AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.answers AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.answers TO rota_tenant;

CREATE TABLE rota.api_keys (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    prefix text NOT NULL,
    sha256 bytea NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_prefix_key UNIQUE (prefix),
    CONSTRAINT api_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
ALTER TABLE rota.api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.api_keys AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.api_keys AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT ON rota.api_keys TO rota_tenant;

CREATE TABLE rota.attempts (
    firing_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    schedule_id uuid NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    attempt smallint NOT NULL,
    worker uuid NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    outcome text NOT NULL,
    error text,
    request jsonb,
    response_status integer,
    response_headers jsonb,
    response_body bytea,
    step text,
    compensating boolean DEFAULT false NOT NULL,
    CONSTRAINT attempts_pkey PRIMARY KEY (firing_id, attempt, scheduled_for)
) PARTITION BY RANGE (scheduled_for);
ALTER TABLE rota.attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.attempts FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.attempts AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.attempts AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT, UPDATE ON rota.attempts TO rota_tenant;

CREATE TABLE rota.attempts_default PARTITION OF rota.attempts DEFAULT;
CREATE INDEX attempts_default_by_age ON rota.attempts_default USING btree (finished_at);

CREATE TABLE rota.audit (
    tenant_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    schedule_id uuid,
    at timestamp with time zone NOT NULL,
    action text NOT NULL,
    actor text NOT NULL,
    status text,
    version integer,
    was_status text,
    was_version integer,
    was_since timestamp with time zone,
    was jsonb,
    changes jsonb,
    CONSTRAINT audit_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT audit_action_check CHECK ((action = ANY (ARRAY['created'::text, 'edited'::text, 'paused'::text, 'resumed'::text, 'completed'::text, 'deleted'::text, 'triggered'::text, 'replayed'::text, 'backfilled'::text])))
);
CREATE INDEX audit_by_age ON rota.audit USING brin (at) WITH (pages_per_range='16');
CREATE INDEX audit_by_schedule ON rota.audit USING btree (schedule_id, id) WHERE (schedule_id IS NOT NULL);
CREATE INDEX audit_deleted_key ON rota.audit USING btree (tenant_id, (((was -> 'definition'::text) ->> 'key'::text)), id) WHERE (action = 'deleted'::text);
CREATE INDEX audit_deleted_name ON rota.audit USING btree (tenant_id, (((was -> 'definition'::text) ->> 'name'::text)), id) WHERE (action = 'deleted'::text);
CREATE INDEX audit_states ON rota.audit USING btree (schedule_id, id) WHERE (was_status IS NOT NULL);
ALTER TABLE rota.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.audit AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.audit AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT ON rota.audit TO rota_tenant;

CREATE TABLE rota.calendars (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    definition jsonb NOT NULL,
    days jsonb NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    package text,
    until_year integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT calendars_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT calendars_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX calendars_of_countries ON rota.calendars USING btree (until_year) WHERE (until_year IS NOT NULL);
ALTER TABLE rota.calendars ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.calendars FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.calendars AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.calendars AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.calendars TO rota_tenant;

CREATE TABLE rota.capture_usage (
    day date NOT NULL,
    tenant_id uuid NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    cut bigint DEFAULT 0 NOT NULL,
    CONSTRAINT capture_usage_pkey PRIMARY KEY (day, tenant_id),
    CONSTRAINT capture_usage_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
) WITH (fillfactor=50);
ALTER TABLE rota.capture_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.capture_usage FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.capture_usage AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.capture_usage AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.capture_usage TO rota_tenant;

CREATE TABLE rota.channels (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    shown text NOT NULL,
    scheme text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    key_id uuid NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    events text[] NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    last_sent_at timestamp with time zone,
    last_error text,
    told_until timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT channels_pkey PRIMARY KEY (id),
    CONSTRAINT channels_tenant_id_name_key UNIQUE (tenant_id, name),
    CONSTRAINT channels_nonce_check CHECK ((octet_length(nonce) = 12)),
    CONSTRAINT channels_key_id_fkey FOREIGN KEY (key_id) REFERENCES rota.data_keys(id),
    CONSTRAINT channels_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX channels_told_successes ON rota.channels USING btree (tenant_id) WHERE (enabled AND ('succeeded'::text = ANY (events)));
ALTER TABLE rota.channels ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.channels FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.channels AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.channels AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.channels TO rota_tenant;

CREATE TABLE rota.circuits (
    host text NOT NULL,
    failures integer NOT NULL,
    trips integer DEFAULT 0 NOT NULL,
    opened_at timestamp with time zone,
    open_until timestamp with time zone,
    probe_until timestamp with time zone,
    last_error text,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    tenant_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
    shared integer DEFAULT 0 NOT NULL,
    refused integer DEFAULT 0 NOT NULL,
    reach text DEFAULT 'tenant'::text NOT NULL,
    CONSTRAINT circuits_pkey PRIMARY KEY (host, tenant_id),
    CONSTRAINT circuits_reach_check CHECK ((reach = ANY (ARRAY['tenant'::text, 'shared'::text, 'host'::text])))
) WITH (fillfactor=50);
ALTER TABLE rota.circuits ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.circuits FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.circuits AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.circuits AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));

CREATE TABLE rota.create_pace (
    tenant_id uuid NOT NULL,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT create_pace_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT create_pace_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
) WITH (fillfactor=50);
ALTER TABLE rota.create_pace ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.create_pace FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.create_pace AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.create_pace AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT, UPDATE ON rota.create_pace TO rota_tenant;

CREATE TABLE rota.data_keys (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    ring_key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    wrapped_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT data_keys_pkey PRIMARY KEY (id),
    CONSTRAINT data_keys_tenant_id_key UNIQUE (tenant_id),
    CONSTRAINT data_keys_nonce_check CHECK ((octet_length(nonce) = 12)),
    CONSTRAINT data_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX data_keys_by_ring_key ON rota.data_keys USING btree (ring_key_id, id);
ALTER TABLE rota.data_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.data_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.data_keys AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.data_keys AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT ON rota.data_keys TO rota_tenant;
GRANT UPDATE (wrapped_at) ON rota.data_keys TO rota_tenant;

CREATE TABLE rota.declarations (
    tenant_id uuid NOT NULL,
    app text NOT NULL,
    fingerprint text NOT NULL,
    version integer[],
    applied_at timestamp with time zone NOT NULL,
    CONSTRAINT declarations_pkey PRIMARY KEY (tenant_id, app, fingerprint),
    CONSTRAINT declarations_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
ALTER TABLE rota.declarations ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.declarations FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.declarations AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.declarations AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.declarations TO rota_tenant;

CREATE TABLE rota.declared (
    tenant_id uuid NOT NULL,
    key text NOT NULL,
    app text NOT NULL,
    fingerprint text NOT NULL,
    CONSTRAINT declared_pkey PRIMARY KEY (tenant_id, key),
    CONSTRAINT declared_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX declared_by_app ON rota.declared USING btree (tenant_id, app);
ALTER TABLE rota.declared ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.declared FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.declared AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.declared AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.declared TO rota_tenant;

CREATE TABLE rota.declarers (
    node_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    app text NOT NULL,
    fingerprint text NOT NULL,
    joined_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT declarers_pkey PRIMARY KEY (node_id, tenant_id, app),
    CONSTRAINT declarers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX declarers_by_app ON rota.declarers USING btree (tenant_id, app);
ALTER TABLE rota.declarers ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.declarers FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.declarers AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.declarers AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.declarers TO rota_tenant;

CREATE TABLE rota.firings (
    id uuid NOT NULL,
    schedule_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    last_slot_at timestamp with time zone,
    slot_count integer DEFAULT 1 NOT NULL,
    status text NOT NULL,
    reason text,
    attempt smallint DEFAULT 0 NOT NULL,
    triggered_by text NOT NULL,
    catch_up boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    result_code integer,
    result_excerpt text,
    replay_of uuid,
    payload jsonb,
    steps jsonb,
    due_at timestamp with time zone,
    worker uuid,
    task text,
    result bytea,
    CONSTRAINT firings_pkey PRIMARY KEY (id, scheduled_for),
    CONSTRAINT firings_status_check CHECK ((status = ANY (ARRAY['succeeded'::text, 'dead'::text, 'skipped'::text, 'missed'::text, 'cancelled'::text])))
) PARTITION BY RANGE (scheduled_for);
CREATE INDEX firings_dead ON ONLY rota.firings USING btree (tenant_id, scheduled_for DESC, id DESC) WHERE (status = 'dead'::text);
CREATE INDEX firings_of_schedule ON ONLY rota.firings USING btree (schedule_id, scheduled_for DESC);
CREATE INDEX firings_of_tenant ON ONLY rota.firings USING btree (tenant_id, status, finished_at DESC, id DESC);
CREATE INDEX firings_replays ON ONLY rota.firings USING btree (replay_of) WHERE (replay_of IS NOT NULL);
CREATE TRIGGER note_outcome AFTER INSERT ON rota.firings FOR EACH ROW WHEN ((new.status = ANY (ARRAY['dead'::text, 'missed'::text]))) EXECUTE FUNCTION rota.note_outcome();
ALTER TABLE rota.firings ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.firings FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.firings AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.firings AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT ON rota.firings TO rota_tenant;

CREATE TABLE rota.firings_default PARTITION OF rota.firings DEFAULT;
CREATE INDEX firings_default_by_age ON rota.firings_default USING btree (finished_at);

CREATE TABLE rota.followers (
    schedule_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    key text NOT NULL,
    upstream_key text NOT NULL,
    on_end text NOT NULL,
    lane text NOT NULL,
    host text,
    CONSTRAINT followers_pkey PRIMARY KEY (schedule_id),
    CONSTRAINT followers_on_end_check CHECK ((on_end = ANY (ARRAY['succeeded'::text, 'failed'::text, 'finished'::text]))),
    CONSTRAINT followers_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES rota.schedules(id) ON DELETE CASCADE,
    CONSTRAINT followers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX followers_by_key ON rota.followers USING btree (tenant_id, key);
CREATE INDEX followers_of ON rota.followers USING btree (tenant_id, upstream_key);
ALTER TABLE rota.followers ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.followers FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.followers AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.followers AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.followers TO rota_tenant;

CREATE TABLE rota.host_pace (
    host text NOT NULL,
    next_at timestamp with time zone NOT NULL,
    tail_at timestamp with time zone NOT NULL,
    CONSTRAINT host_pace_pkey PRIMARY KEY (host)
) WITH (fillfactor=50);

CREATE TABLE rota.installation_keys (
    name text NOT NULL,
    ring_key_id text NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT installation_keys_pkey PRIMARY KEY (name),
    CONSTRAINT installation_keys_nonce_check CHECK ((octet_length(nonce) = 12))
);

CREATE TABLE rota.leases (
    shard smallint NOT NULL,
    holder uuid,
    fence bigint DEFAULT 0 NOT NULL,
    leased_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT leases_pkey PRIMARY KEY (shard),
    CONSTRAINT leases_shard_fence_key UNIQUE (shard, fence)
) WITH (fillfactor=50);
GRANT SELECT (shard) ON rota.leases TO rota_tenant;

CREATE TABLE rota.monitors (
    schedule_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    expected_at timestamp with time zone NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    last_ping_at timestamp with time zone,
    state text NOT NULL,
    CONSTRAINT monitors_pkey PRIMARY KEY (schedule_id),
    CONSTRAINT monitors_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'up'::text, 'down'::text]))),
    CONSTRAINT monitors_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES rota.schedules(id) ON DELETE CASCADE,
    CONSTRAINT monitors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id)
) WITH (fillfactor=80);
CREATE INDEX monitors_due ON rota.monitors USING btree (deadline_at) WHERE (deadline_at < 'infinity'::timestamp with time zone);
ALTER TABLE rota.monitors ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.monitors FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.monitors AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.monitors AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.monitors TO rota_tenant;

CREATE TABLE rota.nodes (
    id uuid NOT NULL,
    roles text[] NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    lock_class integer NOT NULL,
    lock_key integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    confirmed_at timestamp with time zone,
    gone_since timestamp with time zone,
    round_trip interval,
    CONSTRAINT nodes_pkey PRIMARY KEY (id)
);

CREATE TABLE rota.notifications (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    channel_id uuid NOT NULL,
    event text NOT NULL,
    alert_id uuid,
    firing_id uuid,
    title text NOT NULL,
    content jsonb NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    available_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ended_at timestamp with time zone,
    error text,
    CONSTRAINT notifications_pkey PRIMARY KEY (id),
    CONSTRAINT notifications_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'given_up'::text]))),
    CONSTRAINT notifications_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES rota.channels(id) ON DELETE CASCADE,
    CONSTRAINT notifications_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX notifications_ended ON rota.notifications USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX notifications_of_channel ON rota.notifications USING btree (channel_id, created_at DESC);
CREATE UNIQUE INDEX notifications_once ON rota.notifications USING btree (channel_id, firing_id) WHERE (firing_id IS NOT NULL);
CREATE INDEX notifications_pending ON rota.notifications USING btree (available_at) WHERE (status = 'pending'::text);
CREATE INDEX notifications_waiting ON rota.notifications USING btree (channel_id) WHERE (status = 'pending'::text);
ALTER TABLE rota.notifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.notifications FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.notifications AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.notifications AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT ON rota.notifications TO rota_tenant;

CREATE TABLE rota.queue (
    id uuid NOT NULL,
    schedule_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    available_at timestamp with time zone NOT NULL,
    claimed_until timestamp with time zone,
    worker uuid,
    fence bigint,
    attempt smallint DEFAULT 0 NOT NULL,
    priority smallint DEFAULT 5 NOT NULL,
    catch_up boolean DEFAULT false NOT NULL,
    state text NOT NULL,
    triggered_by text NOT NULL,
    lane text NOT NULL,
    host text,
    cancel_reason text,
    payload jsonb,
    replay_of uuid,
    began_at timestamp with time zone,
    pulled_at timestamp with time zone,
    pulled_by text,
    unique_key text,
    progress real,
    progress_note text,
    saga jsonb,
    recalled boolean DEFAULT false NOT NULL,
    CONSTRAINT queue_pkey PRIMARY KEY (id),
    CONSTRAINT queue_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'retrying'::text, 'blocked'::text]))),
    CONSTRAINT queue_triggered_by_check CHECK ((triggered_by = ANY (ARRAY['schedule'::text, 'manual'::text, 'api'::text, 'backfill'::text, 'enqueue'::text, 'after'::text])))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX queue_blocked ON rota.queue USING btree (schedule_id, scheduled_for, id) WHERE (state = 'blocked'::text);
CREATE INDEX queue_claimed ON rota.queue USING btree (tenant_id, claimed_until) WHERE (state = 'running'::text);
CREATE INDEX queue_held ON rota.queue USING btree (schedule_id) WHERE (available_at = 'infinity'::timestamp with time zone);
CREATE INDEX queue_of_schedule ON rota.queue USING btree (schedule_id, scheduled_for);
CREATE INDEX queue_ready ON rota.queue USING btree (lane, tenant_id, priority DESC, available_at) WHERE (state = ANY (ARRAY['waiting'::text, 'retrying'::text]));
CREATE INDEX queue_replays ON rota.queue USING btree (replay_of) WHERE (replay_of IS NOT NULL);
CREATE UNIQUE INDEX queue_unique_key ON rota.queue USING btree (schedule_id, unique_key) WHERE (unique_key IS NOT NULL);
ALTER TABLE rota.queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.queue FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.queue AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.queue AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.queue TO rota_tenant;

CREATE TABLE rota.request_pace (
    tenant_id uuid NOT NULL,
    spent_until timestamp with time zone NOT NULL,
    CONSTRAINT request_pace_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT request_pace_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
) WITH (fillfactor=50);
ALTER TABLE rota.request_pace ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.request_pace FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.request_pace AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.request_pace AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.request_pace TO rota_tenant;

CREATE TABLE rota.rota_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rota_migrations_pkey PRIMARY KEY (number)
);

CREATE TABLE rota.schedule_words (
    tenant_id uuid NOT NULL,
    schedule_id uuid NOT NULL,
    words tsvector NOT NULL,
    CONSTRAINT schedule_words_pkey PRIMARY KEY (tenant_id, schedule_id)
);
CREATE INDEX schedule_words_found ON rota.schedule_words USING gin (words) WITH (gin_pending_list_limit='1024');
ALTER TABLE rota.schedule_words ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.schedule_words FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.schedule_words AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.schedule_words AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.schedule_words TO rota_tenant;

CREATE TABLE rota.schedules (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    job_type text,
    status text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    shard smallint NOT NULL,
    anchor_at timestamp with time zone NOT NULL,
    definition jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    fired integer DEFAULT 0 NOT NULL,
    status_reason text,
    paused_together boolean DEFAULT false NOT NULL,
    paused_until timestamp with time zone,
    calendar text,
    calendar_version integer,
    created_by text,
    updated_by text,
    CONSTRAINT schedules_pkey PRIMARY KEY (id),
    CONSTRAINT schedules_tenant_id_key_key UNIQUE (tenant_id, key),
    CONSTRAINT schedules_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'completed'::text]))),
    CONSTRAINT schedules_tenant_id_calendar_fkey FOREIGN KEY (tenant_id, calendar) REFERENCES rota.calendars(tenant_id, name),
    CONSTRAINT schedules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id)
);
CREATE INDEX schedules_by_status ON rota.schedules USING btree (tenant_id, status, id);
CREATE INDEX schedules_by_type ON rota.schedules USING btree (tenant_id, job_type, id) WHERE (job_type IS NOT NULL);
CREATE INDEX schedules_of_calendar ON rota.schedules USING btree (tenant_id, calendar, id) WHERE (calendar IS NOT NULL);
CREATE INDEX schedules_paused_together ON rota.schedules USING btree (tenant_id, id) WHERE (paused_together AND (status = 'paused'::text));
CREATE INDEX schedules_paused_until ON rota.schedules USING btree (paused_until) WHERE ((paused_until IS NOT NULL) AND (status = 'paused'::text));
CREATE INDEX schedules_with_steps ON rota.schedules USING btree (tenant_id, id) WHERE (definition ? 'steps'::text);
CREATE INDEX schedules_without_queue ON rota.schedules USING btree (tenant_id, job_type) WHERE ((job_type IS NOT NULL) AND (NOT (definition ? 'queue'::text)));
CREATE TRIGGER forget_words AFTER DELETE ON rota.schedules FOR EACH ROW EXECUTE FUNCTION rota.keep_words();
CREATE TRIGGER keep_words AFTER UPDATE ON rota.schedules FOR EACH ROW WHEN ((old.definition IS DISTINCT FROM new.definition)) EXECUTE FUNCTION rota.keep_words();
ALTER TABLE rota.schedules ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.schedules FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.schedules AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.schedules AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.schedules TO rota_tenant;

CREATE TABLE rota.secrets (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    id uuid NOT NULL,
    version integer NOT NULL,
    key_id uuid NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT secrets_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT secrets_id_key UNIQUE (id),
    CONSTRAINT secrets_nonce_check CHECK ((octet_length(nonce) = 12)),
    CONSTRAINT secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES rota.data_keys(id),
    CONSTRAINT secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
ALTER TABLE rota.secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.secrets AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.secrets AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.secrets TO rota_tenant;

CREATE TABLE rota.sessions (
    sha256 bytea NOT NULL,
    tenant_id uuid NOT NULL,
    key_id uuid,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (sha256),
    CONSTRAINT sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES rota.api_keys(id) ON DELETE CASCADE,
    CONSTRAINT sessions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_end ON rota.sessions USING btree (expires_at);
CREATE INDEX sessions_of_key ON rota.sessions USING btree (key_id);
ALTER TABLE rota.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.sessions AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.sessions AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));

CREATE TABLE rota.settings (
    name text NOT NULL,
    value jsonb NOT NULL,
    CONSTRAINT settings_pkey PRIMARY KEY (name)
);

CREATE TABLE rota.shard_tzdata (
    shard smallint NOT NULL,
    digest text NOT NULL,
    mixed boolean DEFAULT false NOT NULL,
    moved_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed text[],
    CONSTRAINT shard_tzdata_pkey PRIMARY KEY (shard),
    CONSTRAINT shard_tzdata_digest_fkey FOREIGN KEY (digest) REFERENCES rota.tzdata_versions(digest)
);
GRANT SELECT (changed), SELECT (moved_at), SELECT (shard) ON rota.shard_tzdata TO rota_tenant;

CREATE TABLE rota.shard_tzdata_progress (
    shard smallint NOT NULL,
    digest text NOT NULL,
    after_id uuid NOT NULL,
    CONSTRAINT shard_tzdata_progress_pkey PRIMARY KEY (shard),
    CONSTRAINT shard_tzdata_progress_digest_fkey FOREIGN KEY (digest) REFERENCES rota.tzdata_versions(digest)
);

CREATE TABLE rota.sign_in_tokens (
    sha256 bytea NOT NULL,
    tenant_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    key_id uuid,
    scopes text[] DEFAULT '{admin}'::text[] NOT NULL,
    CONSTRAINT sign_in_tokens_pkey PRIMARY KEY (sha256),
    CONSTRAINT sign_in_tokens_key_id_fkey FOREIGN KEY (key_id) REFERENCES rota.api_keys(id) ON DELETE CASCADE,
    CONSTRAINT sign_in_tokens_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_tokens_of_key ON rota.sign_in_tokens USING btree (key_id);
ALTER TABLE rota.sign_in_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.sign_in_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.sign_in_tokens AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.sign_in_tokens AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT ON rota.sign_in_tokens TO rota_tenant;
GRANT SELECT (expires_at) ON rota.sign_in_tokens TO rota_tenant;

CREATE TABLE rota.signing_secrets (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    key_id uuid NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    retired_at timestamp with time zone,
    shared boolean DEFAULT true NOT NULL,
    CONSTRAINT signing_secrets_pkey PRIMARY KEY (tenant_id, version),
    CONSTRAINT signing_secrets_nonce_check CHECK ((octet_length(nonce) = 12)),
    CONSTRAINT signing_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES rota.data_keys(id),
    CONSTRAINT signing_secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
ALTER TABLE rota.signing_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.signing_secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.signing_secrets AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.signing_secrets AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.signing_secrets TO rota_tenant;

CREATE TABLE rota.task_queues (
    tenant_id uuid NOT NULL,
    task text NOT NULL,
    queue text NOT NULL,
    program text NOT NULL,
    CONSTRAINT task_queues_pkey PRIMARY KEY (tenant_id, task),
    CONSTRAINT task_queues_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
ALTER TABLE rota.task_queues ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.task_queues FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.task_queues AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.task_queues AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT SELECT ON rota.task_queues TO rota_tenant;

CREATE TABLE rota.tenants (
    id uuid NOT NULL,
    name text NOT NULL,
    weight integer DEFAULT 1 NOT NULL,
    max_concurrency integer,
    create_rate double precision,
    max_schedules integer,
    min_interval interval DEFAULT '00:01:00'::interval NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    request_rate double precision,
    celery_allow text[] DEFAULT '{}'::text[] NOT NULL,
    capture_budget_mb integer,
    CONSTRAINT tenants_pkey PRIMARY KEY (id),
    CONSTRAINT tenants_name_key UNIQUE (name),
    CONSTRAINT tenants_capture_budget_mb_check CHECK ((capture_budget_mb > 0)),
    CONSTRAINT tenants_create_rate_check CHECK ((create_rate > (0)::double precision)),
    CONSTRAINT tenants_max_concurrency_check CHECK ((max_concurrency > 0)),
    CONSTRAINT tenants_max_schedules_check CHECK ((max_schedules > 0)),
    CONSTRAINT tenants_request_rate_check CHECK ((request_rate > (0)::double precision)),
    CONSTRAINT tenants_weight_check CHECK (((weight >= 1) AND (weight <= 1000)))
);
ALTER TABLE rota.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.tenants AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.tenants AS PERMISSIVE FOR ALL TO rota_tenant USING ((id = rota.current_tenant())) WITH CHECK ((id = rota.current_tenant()));
GRANT SELECT ON rota.tenants TO rota_tenant;
GRANT UPDATE (created_at) ON rota.tenants TO rota_tenant;

CREATE TABLE rota.timers (
    schedule_id uuid NOT NULL,
    shard smallint NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    version integer NOT NULL,
    fired integer DEFAULT 0 NOT NULL,
    touched integer DEFAULT 0 NOT NULL,
    CONSTRAINT timers_pkey PRIMARY KEY (schedule_id),
    CONSTRAINT timers_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES rota.schedules(id) ON DELETE CASCADE
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX timers_due ON rota.timers USING btree (shard, due_at);
ALTER TABLE rota.timers ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.timers FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.timers AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.timers AS PERMISSIVE FOR ALL TO rota_tenant USING ((( SELECT s.tenant_id
   FROM rota.schedules s
  WHERE (s.id = timers.schedule_id)) = rota.current_tenant())) WITH CHECK ((( SELECT s.tenant_id
   FROM rota.schedules s
  WHERE (s.id = timers.schedule_id)) = rota.current_tenant()));
GRANT DELETE, INSERT, SELECT, UPDATE ON rota.timers TO rota_tenant;

CREATE TABLE rota.tzdata_versions (
    digest text NOT NULL,
    version text NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    files bytea NOT NULL,
    CONSTRAINT tzdata_versions_pkey PRIMARY KEY (digest)
);

CREATE TABLE rota.unnoticed (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    tenant_id uuid NOT NULL,
    schedule_id uuid NOT NULL,
    firing_id uuid NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    status text NOT NULL,
    reason text,
    slot_count integer NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    CONSTRAINT unnoticed_pkey PRIMARY KEY (id)
) WITH (autovacuum_vacuum_scale_factor=0.01);
ALTER TABLE rota.unnoticed ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.unnoticed FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.unnoticed AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.unnoticed AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT ON rota.unnoticed TO rota_tenant;

CREATE TABLE rota.wordless (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    tenant_id uuid NOT NULL,
    low_id uuid NOT NULL,
    high_id uuid NOT NULL,
    CONSTRAINT wordless_pkey PRIMARY KEY (id)
);
CREATE INDEX wordless_of_tenant ON rota.wordless USING btree (tenant_id);
ALTER TABLE rota.wordless ENABLE ROW LEVEL SECURITY;
ALTER TABLE rota.wordless FORCE ROW LEVEL SECURITY;
CREATE POLICY engine ON rota.wordless AS PERMISSIVE FOR ALL TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant ON rota.wordless AS PERMISSIVE FOR ALL TO rota_tenant USING ((tenant_id = rota.current_tenant())) WITH CHECK ((tenant_id = rota.current_tenant()));
GRANT INSERT, SELECT ON rota.wordless TO rota_tenant;

CREATE OR REPLACE FUNCTION rota.current_tenant()
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$ SELECT nullif(current_setting('rota.tenant', true), '')::uuid $function$;

CREATE OR REPLACE FUNCTION rota.enqueue(task text, payload jsonb DEFAULT NULL::jsonb, delay interval DEFAULT NULL::interval, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT NULL::integer, unique_key text DEFAULT NULL::text, tenant uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE sql
AS $function$
    SELECT (rota.enqueue_many(task, jsonb_build_array(payload), delay, run_at, priority, unique_key, tenant))[1]
$function$;

CREATE OR REPLACE FUNCTION rota.enqueue_many(task text, payloads jsonb, delay interval DEFAULT NULL::interval, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT NULL::integer, unique_key text DEFAULT NULL::text, tenant uuid DEFAULT NULL::uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
DECLARE
    found rota.schedules := rota.task_schedule(task, tenant);
    lane text := coalesce(found.definition ->> 'queue', 'default');
    rank integer := coalesce(priority, (found.definition ->> 'priority')::integer, 5);
    prefix text := rota.id_prefix(clock_timestamp());
    at timestamptz := greatest(coalesce(run_at, clock_timestamp() + delay), clock_timestamp());
    -- While its schedule is paused it waits; whoever resumes that lets it go.
    free_at timestamptz := CASE found.status WHEN 'paused' THEN 'infinity' ELSE at END;
    entered uuid[];
BEGIN
    IF unique_key IS NOT NULL AND jsonb_array_length(payloads) <> 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'expected a unique_key with one run, got it with many';
    END IF;
    IF run_at IS NOT NULL AND delay IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'expected a delay or an instant, got both';
    END IF;
    IF priority NOT BETWEEN 0 AND 9 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('expected a priority from 0 to 9, got %s', priority);
    END IF;
    IF unique_key IS NULL THEN
        WITH asked AS MATERIALIZED (
            SELECT (prefix || substr(gen_random_uuid()::text, 14))::uuid AS id,
                   nullif(p.payload, 'null') AS payload, p.n
              FROM jsonb_array_elements(payloads) WITH ORDINALITY AS p(payload, n)
        ), inserted AS (
            INSERT INTO rota.queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, priority,
                                    state, triggered_by, lane, payload)
            SELECT a.id, found.id, found.tenant_id, found.version, at, free_at, rank, 'waiting', 'enqueue', lane,
                   a.payload
              FROM asked a
        )
        SELECT array_agg(a.id ORDER BY a.n) INTO entered FROM asked a;
    ELSE
        LOOP
            WITH inserted AS (
                INSERT INTO rota.queue AS q (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                                             priority, state, triggered_by, lane, payload, unique_key)
                SELECT (prefix || substr(gen_random_uuid()::text, 14))::uuid, found.id, found.tenant_id,
                       found.version, at, free_at, rank, 'waiting', 'enqueue', lane,
                       nullif(payloads -> 0, 'null'), enqueue_many.unique_key
                    ON CONFLICT DO NOTHING
                RETURNING q.id
            )
            SELECT array_agg(i.id) INTO entered FROM inserted i;
            EXIT WHEN entered IS NOT NULL;
            -- The key is taken: by one that is live, unless it has just ended.
            SELECT array_agg(q.id) INTO entered
              FROM rota.queue q WHERE q.schedule_id = found.id AND q.unique_key = enqueue_many.unique_key;
            IF entered IS NOT NULL THEN
                RETURN entered;
            END IF;
        END LOOP;
    END IF;
    -- What is due later is found by the workers' own look ahead.
    IF free_at <= clock_timestamp() + interval '2 seconds' THEN
        PERFORM pg_notify('rota_queue', lane);
    END IF;
    RETURN coalesce(entered, '{}');
END $function$;

CREATE OR REPLACE FUNCTION rota.find_schedules(of_tenant uuid, pattern text, wanted tsquery, tagged text, called text, keyed text, typed text, statuses text[], after_id uuid, most integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER ROWS 100
 SET search_path TO 'rota', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
DECLARE
    tenant uuid := CASE WHEN current_setting('role') = 'rota_tenant' THEN current_tenant() ELSE of_tenant END;
    -- A word that many have is met soon on a walk; one that few have is looked up. Neither is slow at this border.
    -- Without a word there is nothing to look up.
    window_size CONSTANT integer := CASE WHEN wanted IS NULL THEN 2147483647 ELSE 3000 END;
    window_end uuid;
    found uuid[];
    span record;
BEGIN
    IF tenant IS DISTINCT FROM of_tenant THEN
        RETURN;
    END IF;
    -- Few of a status are soon looked through: no word is as rare as that must be, to be looked up more quickly.
    IF wanted IS NOT NULL AND statuses IS NOT NULL AND window_size > (
        SELECT count(*)
          FROM unnest(statuses) AS st(status),
               LATERAL (SELECT FROM schedules s
                         WHERE s.tenant_id = tenant AND s.status >= st.status AND s.status <= st.status
                           AND s.id < after_id
                         ORDER BY s.status DESC, s.id DESC LIMIT window_size) AS one)
    THEN
        RETURN QUERY
            SELECT s.id
              FROM unnest(statuses) AS st(status),
                   LATERAL (SELECT e.* FROM schedules e
                             WHERE e.tenant_id = tenant AND e.status >= st.status AND e.status <= st.status
                               AND e.id < after_id
                             ORDER BY e.status DESC, e.id DESC LIMIT window_size) AS s
             WHERE (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
               AND (typed IS NULL OR s.job_type = typed) AND (tagged IS NULL OR tagged = ANY (s.tags))
               AND CASE WHEN pattern IS NULL THEN true
                        WHEN searched_text(s.name, s.key, s.job_type, s.definition) NOT ILIKE pattern THEN false
                        ELSE words_of(tenant, s.name, s.key, s.tags, s.job_type, s.definition) @@ wanted END
             ORDER BY s.id DESC LIMIT most;
        RETURN;
    END IF;
    window_end := (SELECT w.schedule_id FROM schedule_words w
                    WHERE w.tenant_id = tenant AND w.schedule_id < after_id
                    ORDER BY w.schedule_id DESC OFFSET window_size LIMIT 1);
    found := ARRAY(
        SELECT w.schedule_id
          FROM (SELECT i.schedule_id, i.words FROM schedule_words i
                 WHERE i.tenant_id = tenant AND i.schedule_id < after_id
                 ORDER BY i.schedule_id DESC LIMIT window_size) AS w,
               LATERAL (SELECT FROM schedules s
                         WHERE s.id = w.schedule_id
                           AND (pattern IS NULL
                                OR searched_text(s.name, s.key, s.job_type, s.definition) ILIKE pattern)
                           AND (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
                           AND (typed IS NULL OR s.job_type = typed)
                           AND (statuses IS NULL OR s.status = ANY (statuses)) OFFSET 0) AS fits
         WHERE wanted IS NULL OR w.words @@ wanted
         ORDER BY w.schedule_id DESC LIMIT most);
    IF cardinality(found) < most AND window_end IS NOT NULL THEN
        found := found || ARRAY(
            WITH holding AS MATERIALIZED (
                SELECT i.schedule_id FROM schedule_words i
                 WHERE i.tenant_id = tenant AND i.words @@ wanted AND i.schedule_id <= window_end)
            SELECT w.schedule_id
              FROM (SELECT h.schedule_id FROM holding h ORDER BY h.schedule_id DESC) AS w,
                   LATERAL (SELECT FROM schedules s
                             WHERE s.id = w.schedule_id
                               AND (pattern IS NULL
                                    OR searched_text(s.name, s.key, s.job_type, s.definition) ILIKE pattern)
                               AND (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
                               AND (typed IS NULL OR s.job_type = typed)
                               AND (statuses IS NULL OR s.status = ANY (statuses)) OFFSET 0) AS fits
             ORDER BY w.schedule_id DESC LIMIT most - cardinality(found));
    END IF;
    -- Those that have no words yet, the newest ranges first; most often there is none. What is cheap is asked first.
    FOR span IN SELECT b.low_id, b.high_id FROM wordless b
                 WHERE b.tenant_id = tenant ORDER BY b.high_id DESC LOOP
        EXIT WHEN cardinality(found) >= most AND found[most] > span.high_id;
        found := ARRAY(
            SELECT id FROM unnest(found) AS id
             UNION
            SELECT late.id
              FROM (SELECT s.id FROM schedules s
                     WHERE s.tenant_id = tenant AND s.id BETWEEN span.low_id AND span.high_id AND s.id < after_id
                       AND (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
                       AND (typed IS NULL OR s.job_type = typed)
                       AND (statuses IS NULL OR s.status = ANY (statuses))
                       AND (tagged IS NULL OR tagged = ANY (s.tags))
                       AND CASE WHEN pattern IS NULL THEN true
                                WHEN searched_text(s.name, s.key, s.job_type, s.definition) NOT ILIKE pattern
                                THEN false
                                WHEN wanted IS NULL THEN true
                                ELSE words_of(tenant, s.name, s.key, s.tags, s.job_type, s.definition) @@ wanted END
                       AND NOT EXISTS (SELECT FROM schedule_words w
                                        WHERE w.tenant_id = tenant AND w.schedule_id = s.id)
                     ORDER BY s.id DESC LIMIT most) AS late
             ORDER BY 1 DESC LIMIT most);
    END LOOP;
    RETURN QUERY SELECT id FROM unnest(found) AS id;
END $function$;

CREATE OR REPLACE FUNCTION rota.id_prefix(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') $function$;

CREATE OR REPLACE FUNCTION rota.is_queue_empty()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'rota', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
    RETURN NOT EXISTS (SELECT FROM queue);
END $function$;

CREATE OR REPLACE FUNCTION rota.keep_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'rota', 'pg_temp'
AS $function$
BEGIN
    IF tg_op = 'DELETE' THEN
        DELETE FROM schedule_words WHERE tenant_id = old.tenant_id AND schedule_id = old.id;
        RETURN old;
    END IF;
    INSERT INTO schedule_words (tenant_id, schedule_id, words)
    VALUES (new.tenant_id, new.id,
            words_of(new.tenant_id, new.name, new.key, new.tags, new.job_type, new.definition))
    ON CONFLICT (tenant_id, schedule_id) DO UPDATE SET words = excluded.words;
    RETURN new;
END $function$;

CREATE OR REPLACE FUNCTION rota.make_schedules(of_tenant uuid, anchored timestamp with time zone, made_at timestamp with time zone, ids uuid[], definitions jsonb[], tags text[], shards smallint[], paused boolean[], slots timestamp with time zone[], at integer[], due timestamp with time zone[], calendar_versions integer[], with_words boolean, put_off uuid[], soon interval, made_by text[] DEFAULT NULL::text[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 SECURITY DEFINER ROWS 1
 SET search_path TO 'rota', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
DECLARE
    left_out uuid[];
BEGIN
    IF current_setting('role') = 'rota_tenant' AND of_tenant IS DISTINCT FROM current_tenant() THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'expected schedules of the tenant that the transaction is about, got another''s';
    END IF;
    BEGIN
        INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at, definition,
                               created_at, updated_at, created_by, updated_by, calendar, calendar_version)
        SELECT x.id, of_tenant, x.definition ->> 'key', x.definition ->> 'name', x.tags::text[],
               x.definition ->> 'job_type', CASE WHEN x.paused THEN 'paused' ELSE 'active' END, x.shard, anchored,
               x.definition, made_at, made_at, coalesce(x.actor, made_by[1]), coalesce(x.actor, made_by[1]),
               x.definition ->> 'calendar', x.calendar_version
          FROM unnest(ids, definitions, tags, shards, paused, calendar_versions, made_by)
               AS x(id, definition, tags, shard, paused, calendar_version, actor);
    EXCEPTION WHEN unique_violation THEN
        -- Most often no key is taken: looking for taken ones from the start would cost a tenth more.
        WITH made AS (
            INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at, definition,
                                   created_at, updated_at, created_by, updated_by, calendar, calendar_version)
            SELECT x.id, of_tenant, x.definition ->> 'key', x.definition ->> 'name', x.tags::text[],
                   x.definition ->> 'job_type', CASE WHEN x.paused THEN 'paused' ELSE 'active' END, x.shard,
                   anchored, x.definition, made_at, made_at, coalesce(x.actor, made_by[1]),
                   coalesce(x.actor, made_by[1]), x.definition ->> 'calendar', x.calendar_version
              FROM unnest(ids, definitions, tags, shards, paused, calendar_versions, made_by)
                   AS x(id, definition, tags, shard, paused, calendar_version, actor)
                ON CONFLICT (tenant_id, key) DO NOTHING
            RETURNING id)
        SELECT array_agg(x.id) INTO left_out
          FROM unnest(ids) AS x(id) WHERE NOT EXISTS (SELECT FROM made WHERE made.id = x.id);
    END;
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
    SELECT x.id, x.shard, slots[x.at],
           CASE WHEN x.paused THEN 'infinity' ELSE coalesce(x.due, slots[x.at]) END, 1
      FROM unnest(ids, shards, paused, at, due) AS x(id, shard, paused, at, due)
     WHERE x.at IS NOT NULL AND (left_out IS NULL OR x.id <> ALL (left_out));
    PERFORM pg_notify('rota_timers', near.shard::text)
       FROM (SELECT DISTINCT x.shard
               FROM unnest(ids, shards, paused, at, due) AS x(id, shard, paused, at, due)
              WHERE NOT x.paused AND coalesce(x.due, slots[x.at]) <= clock_timestamp() + soon
                AND (left_out IS NULL OR x.id <> ALL (left_out))) AS near;
    IF with_words THEN
        INSERT INTO schedule_words (tenant_id, schedule_id, words)
        SELECT of_tenant, x.id, words_of(of_tenant, x.definition ->> 'name', x.definition ->> 'key', x.tags::text[],
                                         x.definition ->> 'job_type', x.definition)
          FROM unnest(ids, definitions, tags) AS x(id, definition, tags)
         WHERE left_out IS NULL OR x.id <> ALL (left_out);
    END IF;
    IF put_off IS NOT NULL THEN
        INSERT INTO wordless (tenant_id, low_id, high_id) VALUES (of_tenant, put_off[1], put_off[2]);
    END IF;
    RETURN QUERY SELECT id FROM unnest(left_out) AS id;
END $function$;

CREATE OR REPLACE FUNCTION rota.marked_words(mark text, given text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
    SELECT array_agg(mark || ' ' || left(w.word, 100))
           || coalesce(array_agg(mark || '+' || left(w.word, 50) || ' ' || left(w.next, 50))
                           FILTER (WHERE w.next IS NOT NULL), '{}')
      FROM unnest(string_to_array(given, ' ')) AS token,
           LATERAL (SELECT split_words(token) AS words OFFSET 0) AS s,
           unnest(s.words, s.words[2:]) AS w(word, next)
$function$;

CREATE OR REPLACE FUNCTION rota.note_outcome()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    INSERT INTO rota.unnoticed (tenant_id, schedule_id, firing_id, scheduled_for, status, reason, slot_count,
                                finished_at)
    VALUES (NEW.tenant_id, NEW.schedule_id, NEW.id, NEW.scheduled_for, NEW.status, left(NEW.reason, 500),
            NEW.slot_count, NEW.finished_at);
    RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION rota.query_word(tenant uuid, sign text, word text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((''''::text || replace(replace(((rota.word_mark(tenant) || sign) || word), '\'::text, '\\'::text), ''''::text, ''''''::text)) || ''''::text);

CREATE OR REPLACE FUNCTION rota.searched_text(name text, key text, job_type text, definition jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((((((name || ' '::text) || key) || COALESCE((' '::text || (definition ->> 'description'::text)), ''::text)) || COALESCE((' '::text || (definition ->> 'target_url'::text)), ''::text)) || COALESCE((' '::text || job_type), ''::text)) || COALESCE((' '::text || (definition ->> 'stream'::text)), ''::text)) || COALESCE((' '::text || (definition ->> 'celery_task'::text)), ''::text));

CREATE OR REPLACE FUNCTION rota.secure_table(name regclass, own text, may text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'rota', 'pg_temp'
AS $function$
DECLARE
    owner regrole := (SELECT relowner::regrole FROM pg_class WHERE oid = name);
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', name);
    -- Without FORCE nothing would hold for the owner, and its policy would be a mere comment.
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('DROP POLICY IF EXISTS engine ON %s', name);
    EXECUTE format('DROP POLICY IF EXISTS tenant ON %s', name);
    EXECUTE format('CREATE POLICY engine ON %s TO %s USING (true) WITH CHECK (true)', name, owner);
    EXECUTE format('CREATE POLICY tenant ON %s TO rota_tenant USING (%s) WITH CHECK (%s)', name, own, own);
    EXECUTE format('REVOKE ALL ON %s FROM rota_tenant', name);
    IF may <> '' THEN
        EXECUTE format('GRANT %s ON %s TO rota_tenant', may, name);
    END IF;
END $function$;

CREATE OR REPLACE FUNCTION rota.secure_tenant_table(name regclass, may text DEFAULT 'SELECT, INSERT, UPDATE, DELETE'::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'rota', 'pg_temp'
AS $function$
BEGIN
    PERFORM secure_table(name, 'tenant_id = current_tenant()', may);
END $function$;

CREATE OR REPLACE FUNCTION rota.split_words(given text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
    SELECT array_remove(string_to_array(
        translate(lower(given), E'-_./:?&=#|*,@;()[]{}<>!"''$%^+~`\\\t\r\n', repeat(' ', 35)), ' '), '')
$function$;

CREATE OR REPLACE FUNCTION rota.task_schedule(task text, tenant uuid)
 RETURNS rota.schedules
 LANGUAGE plpgsql
 STABLE
AS $function$
DECLARE
    found rota.schedules;
BEGIN
    SELECT s.* INTO found
      FROM rota.schedules s
     WHERE s.tenant_id = coalesce(tenant, rota.current_tenant(),
                                  (SELECT t.id FROM rota.tenants t WHERE t.name = 'default'))
       AND s.key IN ('task:' || task, task)
     ORDER BY s.key <> 'task:' || task
     LIMIT 1;
    IF found.definition ->> 'job_type' IS NOT NULL
       AND found.definition ->> 'overlap_policy' IS DISTINCT FROM 'allow' THEN
        RAISE no_data_found USING MESSAGE = format('the schedule %L may not run beside itself', task),
            HINT = 'Trigger it instead, or give it the overlap_policy "allow".';
    END IF;
    IF found.definition ->> 'job_type' IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('there is no task %L to enqueue', task),
            HINT = 'A task is known once a program that declares it with @rota.task has started.';
    END IF;
    RETURN found;
END $function$;

CREATE OR REPLACE FUNCTION rota.wanted_words(tenant uuid, given text, open_end boolean)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE ROWS 5
AS $function$
    SELECT query_word(tenant, x.sign, x.word)
           || CASE WHEN open_end AND x.place = count(*) OVER () THEN ':*' ELSE '' END
      FROM (SELECT row_number() OVER (ORDER BY t.at, w.at) AS place,
                   CASE WHEN w.next IS NULL THEN ' ' ELSE '+' END AS sign,
                   CASE WHEN w.next IS NULL THEN left(w.word, 100)
                        ELSE left(w.word, 50) || ' ' || left(w.next, 50) END AS word
              FROM unnest(string_to_array(given, ' ')) WITH ORDINALITY AS t(token, at),
                   LATERAL (SELECT split_words(t.token) AS words OFFSET 0) AS s,
                   unnest(s.words, s.words[2:]) WITH ORDINALITY AS w(word, next, at)
             WHERE w.next IS NOT NULL OR cardinality(s.words) = 1) AS x
$function$;

CREATE OR REPLACE FUNCTION rota.word_mark(tenant uuid)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN "right"((tenant)::text, 8);

CREATE OR REPLACE FUNCTION rota.words_of(tenant uuid, name text, key text, tags text[], job_type text, definition jsonb)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector((COALESCE(rota.marked_words(rota.word_mark(tenant), rota.searched_text(name, key, job_type, definition)), '{}'::text[]) || ARRAY(SELECT ((rota.word_mark(words_of.tenant) || '#'::text) || tag.tag) FROM unnest(words_of.tags) tag(tag))));

CREATE OR REPLACE FUNCTION rota.words_wanted(tenant uuid, searched text, called text, tag text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT (string_agg(parts.part, ' & '::text))::tsquery AS string_agg FROM (SELECT rota.wanted_words(words_wanted.tenant, words_wanted.searched, true) AS wanted_words UNION ALL SELECT rota.wanted_words(words_wanted.tenant, words_wanted.called, false) AS wanted_words UNION ALL SELECT rota.query_word(words_wanted.tenant, '#'::text, words_wanted.tag) AS query_word WHERE (words_wanted.tag IS NOT NULL)) parts(part));
