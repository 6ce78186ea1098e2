-- Values that only the requests which need them may show. Nothing here opens without a key of the
-- ring, which is never in the database.

-- What a tenant's secrets are sealed with; itself sealed ("wrapped") by a key of the ring.
CREATE TABLE data_keys (
    id          uuid        PRIMARY KEY,
    tenant_id   uuid        NOT NULL UNIQUE REFERENCES tenants ON DELETE CASCADE,
    ring_key_id text        NOT NULL,
    nonce       bytea       NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext  bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    wrapped_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX data_keys_by_ring_key ON data_keys (ring_key_id, id);

CREATE TABLE secrets (
    tenant_id  uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    name       text        NOT NULL,
    -- Sealed for this tenant, id, version and name: a row that is moved does not open.
    id         uuid        NOT NULL UNIQUE,
    version    integer     NOT NULL,
    key_id     uuid        NOT NULL REFERENCES data_keys,
    nonce      bytea       NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);

-- What requests are signed with. The newest signs; one before it signs too until it retires.
CREATE TABLE signing_secrets (
    tenant_id  uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    version    integer     NOT NULL,
    key_id     uuid        NOT NULL REFERENCES data_keys,
    nonce      bytea       NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz,
    PRIMARY KEY (tenant_id, version)
);

-- Keys of the installation itself, such as the one that claims' tokens are made with.
CREATE TABLE installation_keys (
    name        text        PRIMARY KEY,
    ring_key_id text        NOT NULL,
    nonce       bytea       NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext  bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
