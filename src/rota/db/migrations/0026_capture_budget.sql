-- How many megabytes of requests and responses are kept of a tenant's attempts in a day; null for what the
-- installation gives to everybody.
ALTER TABLE tenants ADD COLUMN capture_budget_mb integer CHECK (capture_budget_mb > 0);

-- What has been kept so far, by day (UTC). Workers add to it about once a second each, and never within the
-- transaction that records attempts (rota.workers.capture_budget): nobody waits here for a row of a busy tenant.
CREATE TABLE capture_usage (
    day         date    NOT NULL,
    tenant_id   uuid    NOT NULL REFERENCES tenants ON DELETE CASCADE,
    bytes       bigint  NOT NULL DEFAULT 0,
    -- Attempts of which only an excerpt was kept.
    cut         bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (day, tenant_id)
) WITH (fillfactor = 50);
-- Workers alone count: a tenant that could would set its own budget.
SELECT secure_tenant_table('capture_usage', 'SELECT');
