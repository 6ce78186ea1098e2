-- How many requests a tenant may make, over all nodes: until when it has spent what its rate gives. Nodes take
-- from here by the handful (rota.tenants.request_pace), so the row is not written for each request.
CREATE TABLE request_pace (
    tenant_id   uuid        PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
    spent_until timestamptz NOT NULL
) WITH (fillfactor = 50);
-- Nodes alone take from it: a tenant that could would set its own limit.
SELECT secure_tenant_table('request_pace', 'SELECT');

-- Requests a second, on average; null for what the installation gives to everybody.
ALTER TABLE tenants ADD COLUMN request_rate double precision CHECK (request_rate > 0);

-- A rate of 2.1 should read back as it was written.
ALTER TABLE tenants ALTER COLUMN create_rate TYPE double precision USING create_rate::numeric::double precision;

-- With an answer that is given again: its ETag and the like.
ALTER TABLE answers ADD COLUMN headers jsonb NOT NULL DEFAULT '{}';
-- A request that came to nothing gives its key back.
GRANT DELETE ON answers TO rota_tenant;
