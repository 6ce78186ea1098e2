-- The second wall between tenants. Transactions about one tenant's things run as the role rota_tenant
-- with the tenant's id in the setting rota.tenant (Database.transaction(tenant=...)): the server itself then shows
-- and takes rows of that tenant alone, even when a statement forgets to ask.
-- docs/decisions/row-security.md says why it is done this way.

-- Roles belong to the whole server, so another database's migration may be making it at this moment.
DO $$
DECLARE
    can_act_as text := CASE WHEN current_setting('server_version_num')::int >= 160000
                            THEN 'SET' ELSE 'MEMBER' END;
BEGIN
    FOR round IN 1..10 LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rota_tenant') THEN
                CREATE ROLE rota_tenant NOLOGIN NOINHERIT;
            END IF;
            IF NOT pg_has_role(current_user, 'rota_tenant', can_act_as) THEN
                GRANT rota_tenant TO CURRENT_USER;
            END IF;
            EXIT;
        EXCEPTION
            WHEN duplicate_object OR unique_violation OR internal_error THEN
                -- The other one was faster (internal_error: "tuple concurrently updated").
                IF round = 10 THEN
                    RAISE;
                END IF;
            WHEN insufficient_privilege THEN
                RAISE insufficient_privilege USING MESSAGE = format(
                    'expected the role rota_tenant, and %1$I to be a member of it, got a user who may not '
                    'make it so. Ask an administrator to run once: '
                    'CREATE ROLE rota_tenant NOLOGIN; GRANT rota_tenant TO %1$I;', current_user);
        END;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA rota TO rota_tenant;

-- The tenant that this transaction is about; NULL when it is about none, and then no row is its own.
-- A setting that was set once in a session is the empty text afterwards, not NULL.
CREATE FUNCTION current_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('rota.tenant', true), '')::uuid $$;

-- Puts the wall up before a table: rota_tenant may do what `may` lists (nothing: ''), to rows of which `own` is true. The
-- owner (the engine, or a member of its role) keeps all: "true OR ..." is nothing to the planner. To be called again
-- when a table gets another owner.
CREATE FUNCTION secure_table(name regclass, own text, may text) RETURNS void LANGUAGE plpgsql
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
CREATE FUNCTION secure_tenant_table(name regclass, may text DEFAULT 'SELECT, INSERT, UPDATE, DELETE')
RETURNS void LANGUAGE plpgsql SET search_path = rota, pg_temp AS $$
BEGIN
    PERFORM secure_table(name, 'tenant_id = current_tenant()', may);
END $$;

REVOKE ALL ON FUNCTION secure_table(regclass, text, text), secure_tenant_table(regclass, text) FROM PUBLIC;

-- What the API does for a tenant, and no more. Who locks a row needs the right to change some column of it.
SELECT secure_tenant_table('answers', 'SELECT, INSERT, UPDATE');
SELECT secure_tenant_table('api_keys', 'SELECT, INSERT, DELETE');
SELECT secure_tenant_table('attempts', 'SELECT, INSERT, UPDATE');
SELECT secure_tenant_table('create_pace', 'SELECT, INSERT, UPDATE');
SELECT secure_tenant_table('data_keys', 'SELECT, INSERT, UPDATE (wrapped_at)');
SELECT secure_tenant_table('firings', 'SELECT, INSERT');
SELECT secure_tenant_table('queue');
SELECT secure_tenant_table('schedules');
SELECT secure_tenant_table('secrets');
SELECT secure_tenant_table('signing_secrets');
SELECT secure_table('tenants', 'id = current_tenant()', 'SELECT, UPDATE (created_at)');
-- Which shards there are, and nothing of who holds them.
GRANT SELECT (shard) ON leases TO rota_tenant;
-- A timer is its schedule's. One value and not EXISTS: this can only be looked up by the schedule's id, for each
-- row that a statement reads, and never by gathering all schedules of the tenant first.
SELECT secure_table('timers',
    '(SELECT s.tenant_id FROM schedules s WHERE s.id = schedule_id) = current_tenant()',
    'SELECT, INSERT, UPDATE, DELETE');
