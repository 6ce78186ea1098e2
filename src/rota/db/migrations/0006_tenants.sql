-- How fast a tenant may create schedules: when it has paid for all it has created so far.
CREATE TABLE create_pace (
    tenant_id uuid        PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    next_at   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What a key is for, in its owner's words.
ALTER TABLE api_keys ADD COLUMN name text NOT NULL DEFAULT '';
