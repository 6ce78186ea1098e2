-- How fast a tenant may create schedules: when it has paid for all it has created so far.
CREATE TABLE create_pace (
    tenant_id uuid        PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    next_at   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What a key is for, in its owner's words.
ALTER TABLE api_keys ADD COLUMN name text NOT NULL DEFAULT '';

-- Answers to requests that came with an Idempotency-Key, kept for a day: the same request again gets
-- the same answer, and is not carried out again.
CREATE TABLE answers (
    tenant_id   uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    key         text        NOT NULL,
    -- Of the request: the same key with another request is a mistake.
    fingerprint bytea       NOT NULL,
    status      smallint,
    content     bytea,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX answers_by_age ON answers (created_at);
