-- A link that was made with an API key signs in with the rights of that key, and ends with it. One that a server made
-- when it started has no key: it signs the operator in, and ends when an admin key of the operator is revoked.
ALTER TABLE sign_in_tokens
    ADD COLUMN key_id uuid REFERENCES api_keys ON DELETE CASCADE,
    ADD COLUMN scopes text[] NOT NULL DEFAULT '{admin}';
CREATE INDEX sign_in_tokens_of_key ON sign_in_tokens (key_id);

-- A caller of the API makes a link for its own tenant, and reads back until when it works; never one that exists.
GRANT INSERT, SELECT (expires_at) ON sign_in_tokens TO rota_tenant;
