-- The audit trail: who changed which schedule, when, from where, and what it was before (docs/guides/audit.md).
--
-- A row holds the schedule's status and version after the change and before it, and `was` what is needed to compute its
-- slots of that time. The state at an instant is what the first change after it found, or the schedule as it is.
CREATE TABLE audit (
    tenant_id   uuid        NOT NULL,
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    -- NULL for more schedules that were created in one request than have a row each: `changes` has their count.
    schedule_id uuid,
    at          timestamptz NOT NULL,
    action      text        NOT NULL CHECK (action IN (
                    'created', 'edited', 'paused', 'resumed', 'completed', 'deleted', 'triggered', 'replayed',
                    'backfilled')),
    -- From where and by whom, such as cli:PREFIX of an API key; rota for the engine itself.
    actor       text        NOT NULL,
    -- After the change; NULL when it was deleted.
    status      text,
    version     integer,
    -- Before it; NULL when it was created or only run. `was_since` is its updated_at: since when it had been so.
    was_status  text,
    was_version integer,
    was_since   timestamptz,
    -- Of an edit or a deletion: the definition before it without what it sends, anchor_at and calendar_version; of a
    -- deletion also created_at and created_by.
    was         jsonb,
    -- The fields with their old and new values, and what else there is to say.
    changes     jsonb,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_by_schedule ON audit (schedule_id, id) WHERE schedule_id IS NOT NULL;
-- Without the runs that were asked for, of which there may be many.
CREATE INDEX audit_states ON audit (schedule_id, id) WHERE was_status IS NOT NULL;
CREATE INDEX audit_deleted_key ON audit (tenant_id, (was -> 'definition' ->> 'key'), id) WHERE action = 'deleted';
CREATE INDEX audit_deleted_name ON audit (tenant_id, (was -> 'definition' ->> 'name'), id) WHERE action = 'deleted';
-- For retention: rows lie in the order in which they were written.
CREATE INDEX audit_by_age ON audit USING brin (at) WITH (pages_per_range = 16);
SELECT secure_tenant_table('audit', 'SELECT, INSERT');

-- NULL for those from before this migration.
ALTER TABLE schedules ADD COLUMN created_by text, ADD COLUMN updated_by text;

-- As before (migration 0021), with who creates: one actor for all, or one for each.
DROP FUNCTION make_schedules(uuid, timestamptz, timestamptz, uuid[], jsonb[], text[], smallint[], boolean[],
    timestamptz[], integer[], timestamptz[], integer[], boolean, uuid[], interval);
CREATE FUNCTION make_schedules(
    of_tenant uuid, anchored timestamptz, made_at timestamptz, ids uuid[], definitions jsonb[], tags text[],
    shards smallint[], paused boolean[], slots timestamptz[], at integer[], due timestamptz[],
    calendar_versions integer[], with_words boolean, put_off uuid[], soon interval, made_by text[] DEFAULT NULL)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER ROWS 1
SET search_path = rota, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    left_out uuid[];
BEGIN
    IF current_setting('role') = 'rota_tenant' AND of_tenant IS DISTINCT FROM current_tenant() THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'expected schedules of the tenant that the transaction is about, got another''s';
    END IF;
    -- As a foreign key does: it cannot be deleted in the meantime.
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
                               created_at, updated_at, created_by, updated_by, calendar, calendar_version)
        SELECT x.id, of_tenant, x.definition ->> 'key', x.definition ->> 'name', x.tags::text[],
               x.definition ->> 'job_type', CASE WHEN x.paused THEN 'paused' ELSE 'active' END, x.shard, anchored,
               x.definition, made_at, made_at, coalesce(x.actor, made_by[1]), coalesce(x.actor, made_by[1]),
               x.definition ->> 'calendar', x.calendar_version
          FROM unnest(ids, definitions, tags, shards, paused, calendar_versions, made_by)
               AS x(id, definition, tags, shard, paused, calendar_version, actor);
    EXCEPTION WHEN unique_violation THEN
        -- Most often no key is taken, and then it is not looked for: that and the rest of it costs a tenth.
        WITH made AS (
            INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at, definition,
                                   created_at, updated_at, created_by, updated_by, calendar, calendar_version)
            SELECT x.id, of_tenant, x.definition ->> 'key', x.definition ->> 'name', x.tags::text[],
                   x.definition ->> 'job_type', CASE WHEN x.paused THEN 'paused' ELSE 'active' END, x.shard,
                   anchored, x.definition, made_at, made_at, coalesce(x.actor, made_by[1]),
                   coalesce(x.actor, made_by[1]), x.definition ->> 'calendar', x.calendar_version
              FROM unnest(ids, definitions, tags, shards, paused, calendar_versions, made_by)
                   AS x(id, definition, tags, shard, paused, calendar_version, actor)
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
    timestamptz[], integer[], timestamptz[], integer[], boolean, uuid[], interval, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_schedules(uuid, timestamptz, timestamptz, uuid[], jsonb[], text[], smallint[],
    boolean[], timestamptz[], integer[], timestamptz[], integer[], boolean, uuid[], interval, text[]) TO rota_tenant;
