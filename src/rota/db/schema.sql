-- The schema after all migrations. Made by `python -m rota.db.schema --write`; do not edit.

CREATE TABLE rota.answers (
    tenant_id uuid NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status smallint,
    content bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT answers_pkey PRIMARY KEY (tenant_id, key),
    CONSTRAINT answers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);
CREATE INDEX answers_by_age ON rota.answers USING btree (created_at);

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
    CONSTRAINT attempts_pkey PRIMARY KEY (firing_id, attempt, scheduled_for)
) PARTITION BY RANGE (scheduled_for);

CREATE TABLE rota.attempts_default PARTITION OF rota.attempts DEFAULT;

CREATE TABLE rota.circuits (
    host text NOT NULL,
    failures integer NOT NULL,
    trips integer DEFAULT 0 NOT NULL,
    opened_at timestamp with time zone,
    open_until timestamp with time zone,
    probe_until timestamp with time zone,
    last_error text,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT circuits_pkey PRIMARY KEY (host)
) WITH (fillfactor=50);

CREATE TABLE rota.create_pace (
    tenant_id uuid NOT NULL,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT create_pace_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT create_pace_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
) WITH (fillfactor=50);

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
    CONSTRAINT firings_pkey PRIMARY KEY (id, scheduled_for),
    CONSTRAINT firings_status_check CHECK ((status = ANY (ARRAY['succeeded'::text, 'dead'::text, 'skipped'::text, 'missed'::text, 'cancelled'::text])))
) PARTITION BY RANGE (scheduled_for);
CREATE INDEX firings_dead ON ONLY rota.firings USING btree (tenant_id, scheduled_for DESC, id DESC) WHERE (status = 'dead'::text);
CREATE INDEX firings_of_schedule ON ONLY rota.firings USING btree (schedule_id, scheduled_for DESC);
CREATE INDEX firings_of_tenant ON ONLY rota.firings USING btree (tenant_id, status, finished_at DESC, id DESC);
CREATE INDEX firings_replays ON ONLY rota.firings USING btree (replay_of) WHERE (replay_of IS NOT NULL);

CREATE TABLE rota.firings_default PARTITION OF rota.firings DEFAULT;

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
    CONSTRAINT nodes_pkey PRIMARY KEY (id)
);

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
    CONSTRAINT queue_pkey PRIMARY KEY (id),
    CONSTRAINT queue_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'retrying'::text, 'blocked'::text]))),
    CONSTRAINT queue_triggered_by_check CHECK ((triggered_by = ANY (ARRAY['schedule'::text, 'manual'::text, 'api'::text, 'backfill'::text])))
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX queue_blocked ON rota.queue USING btree (schedule_id, scheduled_for, id) WHERE (state = 'blocked'::text);
CREATE INDEX queue_claimed ON rota.queue USING btree (tenant_id, claimed_until) WHERE (state = 'running'::text);
CREATE INDEX queue_of_schedule ON rota.queue USING btree (schedule_id, scheduled_for);
CREATE INDEX queue_ready ON rota.queue USING btree (lane, tenant_id, priority DESC, available_at) WHERE (state = ANY (ARRAY['waiting'::text, 'retrying'::text]));
CREATE INDEX queue_replays ON rota.queue USING btree (replay_of) WHERE (replay_of IS NOT NULL);

CREATE TABLE rota.rota_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rota_migrations_pkey PRIMARY KEY (number)
);

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
    CONSTRAINT schedules_pkey PRIMARY KEY (id),
    CONSTRAINT schedules_tenant_id_key_key UNIQUE (tenant_id, key),
    CONSTRAINT schedules_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'completed'::text]))),
    CONSTRAINT schedules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id)
);
CREATE INDEX schedules_by_status ON rota.schedules USING btree (tenant_id, status);
CREATE INDEX schedules_by_tenant ON rota.schedules USING btree (tenant_id, id);
CREATE INDEX schedules_paused_together ON rota.schedules USING btree (tenant_id, id) WHERE (paused_together AND (status = 'paused'::text));
CREATE INDEX schedules_paused_until ON rota.schedules USING btree (paused_until) WHERE ((paused_until IS NOT NULL) AND (status = 'paused'::text));

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

CREATE TABLE rota.settings (
    name text NOT NULL,
    value jsonb NOT NULL,
    CONSTRAINT settings_pkey PRIMARY KEY (name)
);

CREATE TABLE rota.signing_secrets (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    key_id uuid NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    retired_at timestamp with time zone,
    CONSTRAINT signing_secrets_pkey PRIMARY KEY (tenant_id, version),
    CONSTRAINT signing_secrets_nonce_check CHECK ((octet_length(nonce) = 12)),
    CONSTRAINT signing_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES rota.data_keys(id),
    CONSTRAINT signing_secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES rota.tenants(id) ON DELETE CASCADE
);

CREATE TABLE rota.tenants (
    id uuid NOT NULL,
    name text NOT NULL,
    weight integer DEFAULT 1 NOT NULL,
    max_concurrency integer,
    create_rate real,
    max_schedules integer,
    min_interval interval DEFAULT '00:01:00'::interval NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT tenants_pkey PRIMARY KEY (id),
    CONSTRAINT tenants_name_key UNIQUE (name),
    CONSTRAINT tenants_create_rate_check CHECK ((create_rate > (0)::double precision)),
    CONSTRAINT tenants_max_concurrency_check CHECK ((max_concurrency > 0)),
    CONSTRAINT tenants_max_schedules_check CHECK ((max_schedules > 0)),
    CONSTRAINT tenants_weight_check CHECK (((weight >= 1) AND (weight <= 1000)))
);

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
