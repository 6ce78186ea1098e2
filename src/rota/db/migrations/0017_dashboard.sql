-- Who is signed in to the dashboard. What is kept is a hash: whoever reads this table cannot use a session.
-- One that was begun with an API key ends with it; one that was begun with a token of `rota serve` has none.
CREATE TABLE sessions (
    sha256     bytea       PRIMARY KEY,
    tenant_id  uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    key_id     uuid        REFERENCES api_keys ON DELETE CASCADE,
    scopes     text[]      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX sessions_of_key ON sessions (key_id);

-- Tokens that sign somebody in once, as the tenant's admin: `rota serve` prints one when it starts.
CREATE TABLE sign_in_tokens (
    sha256     bytea       PRIMARY KEY,
    tenant_id  uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);

-- No transaction of a tenant has any business here: signing in comes before there is a tenant.
SELECT secure_tenant_table('sessions', '');
SELECT secure_tenant_table('sign_in_tokens', '');
