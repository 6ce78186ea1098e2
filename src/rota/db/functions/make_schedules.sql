-- Creates schedules with their timers, one or thousands (docs/decisions/create.md), and wakes the schedulers of shards
-- that get a timer due soon.
--
-- Each schedule is active, or paused and then its timer is suspended; its first slot is slots[at], and without one it has
-- no timer. `due` is given where any is due later than at its slot, `calendar_versions` where any has a calendar, `made_by`
-- is one actor for all or one for each. The search index is written here (`with_words`), or later for the range of ids
-- `put_off`, which may be of more than these; NULL when that has been recorded already.
-- Returns the ids that were left out because their key is taken.
--
-- It runs as the owner: behind row security every timer would look up its schedule again. So it checks by itself whose
-- schedules it creates: as rota_tenant only those of the transaction's tenant.
CREATE OR REPLACE FUNCTION make_schedules(
    of_tenant uuid, anchored timestamptz, made_at timestamptz, ids uuid[], definitions jsonb[], tags text[],
    shards smallint[], paused boolean[], slots timestamptz[], at integer[], due timestamptz[],
    calendar_versions integer[], with_words boolean, put_off uuid[], soon interval, made_by text[] DEFAULT NULL)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER ROWS 1
-- Its plans are kept from when the tables were small.
SET search_path = rota, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    left_out uuid[];
BEGIN
    IF current_setting('role') = 'rota_tenant' AND of_tenant IS DISTINCT FROM current_tenant() THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'expected schedules of the tenant that the transaction is about, got another''s';
    END IF;
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
        -- Most often no key is taken: looking for taken ones from the start would cost a tenth more.
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
