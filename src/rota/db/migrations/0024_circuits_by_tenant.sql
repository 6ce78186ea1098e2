-- Failures are counted for each tenant and host: one tenant's calls cannot close a host to the others. What was counted
-- over all tenants says nothing of any one of them. Servers of the version before go on to count so, in rows of tenant 0.
DELETE FROM circuits;
ALTER TABLE circuits
    ADD COLUMN tenant_id uuid    NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    -- Of the failures, those that other tenants may see too, and of these, connections that the host's port refused.
    ADD COLUMN shared    integer NOT NULL DEFAULT 0,
    ADD COLUMN refused   integer NOT NULL DEFAULT 0,
    -- Whom it concerns while it is open: its tenant, all when another tenant's says the same, or all.
    ADD COLUMN reach     text    NOT NULL DEFAULT 'tenant' CHECK (reach IN ('tenant', 'shared', 'host')),
    DROP CONSTRAINT circuits_pkey,
    ADD PRIMARY KEY (host, tenant_id);
SELECT secure_tenant_table('circuits', '');
