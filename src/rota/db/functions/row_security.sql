-- Row security: which rows a transaction of a tenant may see (docs/decisions/row-security.md).

-- The tenant that this transaction is about; NULL when it is about none, and then no row is its own.
-- A setting that was set once in a session is the empty text afterwards, not NULL.
CREATE OR REPLACE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('rota.tenant', true), '')::uuid $$;

-- Turns row security on for a table: rota_tenant may do what `may` lists ('' is nothing) to rows for which `own` is true.
-- The owner (the engine, or a member of its role) may do everything. Call it again when a table changes owner.
CREATE OR REPLACE FUNCTION secure_table(name regclass, own text, may text) RETURNS void LANGUAGE plpgsql
SET search_path = rota, pg_temp AS $$
DECLARE
    owner regrole := (SELECT relowner::regrole FROM pg_class WHERE oid = name);
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', name);
    -- Without FORCE nothing would hold for the owner, and its policy would be a mere comment.
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('DROP POLICY IF EXISTS engine ON %s', name);
    EXECUTE format('DROP POLICY IF EXISTS tenant ON %s', name);
    EXECUTE format('CREATE POLICY engine ON %s TO %s USING (true) WITH CHECK (true)', name, owner);
    EXECUTE format('CREATE POLICY tenant ON %s TO rota_tenant USING (%s) WITH CHECK (%s)', name, own, own);
    EXECUTE format('REVOKE ALL ON %s FROM rota_tenant', name);
    IF may <> '' THEN
        EXECUTE format('GRANT %s ON %s TO rota_tenant', may, name);
    END IF;
END $$;

-- For a table with tenant_id. Every such table needs it; a test fails for one without. Partitions need nothing:
-- they are reached through their table, and rota_tenant has no right to them directly.
CREATE OR REPLACE FUNCTION secure_tenant_table(name regclass, may text DEFAULT 'SELECT, INSERT, UPDATE, DELETE')
RETURNS void LANGUAGE plpgsql SET search_path = rota, pg_temp AS $$
BEGIN
    PERFORM secure_table(name, 'tenant_id = current_tenant()', may);
END $$;

REVOKE ALL ON FUNCTION secure_table(regclass, text, text), secure_tenant_table(regclass, text) FROM PUBLIC;
