-- Schedules that fire when a firing of another has ended. The other is named by its key, so that it may come
-- later, go, and come again. Written with the schedule; `lane` and `host` are its definition's, so that whoever ends
-- a firing need not read that.
CREATE TABLE followers (
    schedule_id  uuid PRIMARY KEY REFERENCES schedules ON DELETE CASCADE,
    tenant_id    uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    key          text NOT NULL,
    upstream_key text NOT NULL,
    on_end       text NOT NULL CHECK (on_end IN ('succeeded', 'failed', 'finished')),
    lane         text NOT NULL,
    host         text
);
-- Who follows a schedule; and, by its first column, whether a tenant has followers at all.
CREATE INDEX followers_of ON followers (tenant_id, upstream_key);
CREATE UNIQUE INDEX followers_by_key ON followers (tenant_id, key);
SELECT secure_tenant_table('followers');

-- Of a firing that goes through steps: how far it has come, and the definition it began with, which it goes on with
-- whatever becomes of its schedule. NULL before its first step is done, and of every other firing.
ALTER TABLE queue ADD COLUMN saga jsonb;
-- What became of its steps.
ALTER TABLE firings ADD COLUMN steps jsonb;
ALTER TABLE attempts
    ADD COLUMN step text,
    ADD COLUMN compensating boolean NOT NULL DEFAULT false;
