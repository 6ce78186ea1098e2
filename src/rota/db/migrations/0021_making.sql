-- Making schedules, one or thousands, in one statement (docs/decisions/making.md).

-- Every list is one of statuses, or of all three: what it served is served by schedules_by_status, and by the primary
-- key where a range of ids is read.
DROP INDEX schedules_by_tenant;
-- Before the table's first statistics, a range would otherwise be read whole along schedules_by_status, and sorted.
ALTER FUNCTION find_schedules(uuid, text, tsquery, text, text, text, text, text[], uuid, integer) SET enable_sort = off;

-- Two foreign keys looked up a row, and locked it, for every schedule and once more for every timer: a third of what
-- making them cost the database. The same is kept by triggers, which whoever makes many at once may answer for all
-- of them: their tenant is one, and their timers are of the schedules of the same call.
ALTER TABLE schedules DROP CONSTRAINT schedules_tenant_id_fkey;
ALTER TABLE timers DROP CONSTRAINT timers_schedule_id_fkey;

CREATE FUNCTION require_tenant() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = rota, pg_temp AS $$
BEGIN
    PERFORM FROM tenants t WHERE t.id = new.tenant_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING
            MESSAGE = format('expected a schedule of a tenant, got one of %s, which is none', new.tenant_id),
            CONSTRAINT = 'schedules_of_tenant', TABLE = 'schedules', SCHEMA = 'rota';
    END IF;
    RETURN new;
END $$;

CREATE FUNCTION require_schedule() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = rota, pg_temp AS $$
BEGIN
    PERFORM FROM schedules s WHERE s.id = new.schedule_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING
            MESSAGE = format('expected a timer of a schedule, got one of %s, which is none', new.schedule_id),
            CONSTRAINT = 'timers_of_schedule', TABLE = 'timers', SCHEMA = 'rota';
    END IF;
    RETURN new;
END $$;

CREATE FUNCTION require_no_schedules() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = rota, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM schedules s WHERE s.tenant_id = old.id) THEN
        RAISE foreign_key_violation USING
            MESSAGE = format('expected a tenant without schedules, got %s, which has some', old.id),
            CONSTRAINT = 'schedules_of_tenant', TABLE = 'schedules', SCHEMA = 'rota';
    END IF;
    RETURN old;
END $$;

CREATE FUNCTION forget_timer() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = rota, pg_temp AS $$
BEGIN
    DELETE FROM timers t WHERE t.schedule_id = old.id;
    RETURN old;
END $$;

CREATE FUNCTION forget_timers() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = rota, pg_temp AS $$
BEGIN
    DELETE FROM timers;
    RETURN NULL;
END $$;

CREATE TRIGGER of_tenant AFTER INSERT ON schedules FOR EACH ROW
    WHEN (current_setting('rota.making', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION require_tenant();
CREATE TRIGGER still_of_tenant AFTER UPDATE OF tenant_id ON schedules FOR EACH ROW EXECUTE FUNCTION require_tenant();
CREATE TRIGGER of_schedule AFTER INSERT ON timers FOR EACH ROW
    WHEN (current_setting('rota.making', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION require_schedule();
CREATE TRIGGER still_of_schedule AFTER UPDATE OF schedule_id ON timers FOR EACH ROW
    EXECUTE FUNCTION require_schedule();
CREATE TRIGGER without_schedules AFTER DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION require_no_schedules();
CREATE TRIGGER forget_timer AFTER DELETE ON schedules FOR EACH ROW EXECUTE FUNCTION forget_timer();
CREATE TRIGGER forget_timers AFTER TRUNCATE ON schedules FOR EACH STATEMENT EXECUTE FUNCTION forget_timers();

-- Makes schedules and their timers, and wakes whoever holds a shard that has one due soon. Each is active, or paused and
-- then its timer is parked; its first slot is slots[at], and without one it has no timer. `due` is given where any is due
-- later than at its slot, `calendar_versions` where any has a calendar. Their words are written with them, or put off: then `put_off`
-- is the range of ids whose words are to be written later, which may be of more than these, or NULL when that is noted.
-- Returns the ids of those that were left out, because their key is taken.
--
-- It runs as the owner: behind row security every timer would look up its schedule again. Whose schedules it makes is
-- therefore its own affair: as rota_tenant only those of the transaction's tenant.
CREATE FUNCTION make_schedules(
    of_tenant uuid, anchored timestamptz, made_at timestamptz, ids uuid[], definitions jsonb[], tags text[],
    shards smallint[], paused boolean[], slots timestamptz[], at integer[], due timestamptz[],
    calendar_versions integer[], with_words boolean, put_off uuid[], soon interval)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = rota, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    left_out uuid[];
BEGIN
    IF current_setting('role') = 'rota_tenant' AND of_tenant IS DISTINCT FROM current_tenant() THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'expected schedules of the tenant that the transaction is about, got another''s';
    END IF;
    -- As a foreign key does: it cannot be deleted meanwhile.
    PERFORM FROM tenants t WHERE t.id = of_tenant FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING
            MESSAGE = format('expected schedules of a tenant, got some of %s, which is none', of_tenant),
            CONSTRAINT = 'schedules_of_tenant', TABLE = 'schedules', SCHEMA = 'rota';
    END IF;
    -- All that the triggers would ask about each row has been asked, or follows from what is inserted here.
    PERFORM set_config('rota.making', 'on', true);
    BEGIN
        INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at, definition,
                               created_at, updated_at, calendar, calendar_version)
        SELECT x.id, of_tenant, x.definition ->> 'key', x.definition ->> 'name', x.tags::text[],
               x.definition ->> 'job_type', CASE WHEN x.paused THEN 'paused' ELSE 'active' END, x.shard, anchored,
               x.definition, made_at, made_at, x.definition ->> 'calendar', x.calendar_version
          FROM unnest(ids, definitions, tags, shards, paused, calendar_versions)
               AS x(id, definition, tags, shard, paused, calendar_version);
    EXCEPTION WHEN unique_violation THEN
        -- Most often no key is taken, and then it is not looked for: that and the rest of it costs a tenth.
        WITH made AS (
            INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at, definition,
                                   created_at, updated_at, calendar, calendar_version)
            SELECT x.id, of_tenant, x.definition ->> 'key', x.definition ->> 'name', x.tags::text[],
                   x.definition ->> 'job_type', CASE WHEN x.paused THEN 'paused' ELSE 'active' END, x.shard,
                   anchored, x.definition, made_at, made_at, x.definition ->> 'calendar', x.calendar_version
              FROM unnest(ids, definitions, tags, shards, paused, calendar_versions)
                   AS x(id, definition, tags, shard, paused, calendar_version)
                ON CONFLICT (tenant_id, key) DO NOTHING
            RETURNING id)
        SELECT array_agg(x.id) INTO left_out
          FROM unnest(ids) AS x(id) WHERE NOT EXISTS (SELECT FROM made WHERE made.id = x.id);
    END;
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
    SELECT x.id, x.shard, slots[x.at],
           CASE WHEN x.paused THEN 'infinity' ELSE coalesce(x.due, slots[x.at]) END, 1
      FROM unnest(ids, shards, paused, at, due) AS x(id, shard, paused, at, due)
     WHERE x.at IS NOT NULL AND (left_out IS NULL OR x.id <> ALL (left_out));
    PERFORM set_config('rota.making', '', true);
    PERFORM pg_notify('rota_timers', near.shard::text)
       FROM (SELECT DISTINCT x.shard
               FROM unnest(ids, shards, paused, at, due) AS x(id, shard, paused, at, due)
              WHERE NOT x.paused AND coalesce(x.due, slots[x.at]) <= clock_timestamp() + soon
                AND (left_out IS NULL OR x.id <> ALL (left_out))) AS near;
    IF with_words THEN
        INSERT INTO schedule_words (tenant_id, schedule_id, words)
        SELECT of_tenant, x.id, words_of(of_tenant, x.definition ->> 'name', x.definition ->> 'key', x.tags::text[],
                                         x.definition ->> 'job_type', x.definition)
          FROM unnest(ids, definitions, tags) AS x(id, definition, tags)
         WHERE left_out IS NULL OR x.id <> ALL (left_out);
    END IF;
    IF put_off IS NOT NULL THEN
        INSERT INTO wordless (tenant_id, low_id, high_id) VALUES (of_tenant, put_off[1], put_off[2]);
    END IF;
    RETURN QUERY SELECT id FROM unnest(left_out) AS id;
END $$;
REVOKE ALL ON FUNCTION make_schedules(uuid, timestamptz, timestamptz, uuid[], jsonb[], text[], smallint[], boolean[],
    timestamptz[], integer[], timestamptz[], integer[], boolean, uuid[], interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_schedules(uuid, timestamptz, timestamptz, uuid[], jsonb[], text[], smallint[],
    boolean[], timestamptz[], integer[], timestamptz[], integer[], boolean, uuid[], interval) TO rota_tenant;
