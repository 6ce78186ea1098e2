-- Pages of a tenant's schedules: each is a short walk along an index, however many schedules there are.

DROP INDEX schedules_by_status;
CREATE INDEX schedules_by_status ON schedules (tenant_id, status, id);
CREATE INDEX schedules_by_type ON schedules (tenant_id, job_type, id) WHERE job_type IS NOT NULL;

-- What a schedule is found by (docs/decisions/search.md). Apart from its row, which would be written anew with all
-- its indexes whenever the words follow later.
CREATE TABLE schedule_words (
    tenant_id   uuid     NOT NULL,
    schedule_id uuid     NOT NULL,
    words       tsvector NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id)
);
-- What is new is in a list that every search reads whole: a short one.
CREATE INDEX schedule_words_found ON schedule_words USING gin (words) WITH (gin_pending_list_limit = 1024);

-- Schedules of a tenant whose words are still to be written: those from low_id to high_id that have none.
CREATE TABLE wordless (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id uuid   NOT NULL,
    low_id    uuid   NOT NULL,
    high_id   uuid   NOT NULL
);
CREATE INDEX wordless_of_tenant ON wordless (tenant_id);
INSERT INTO wordless (tenant_id, low_id, high_id)
SELECT id, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff' FROM tenants;

-- The text that is searched.
CREATE FUNCTION searched_text(name text, key text, job_type text, definition jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN name || ' ' || key
    || coalesce(' ' || (definition ->> 'description'), '') || coalesce(' ' || (definition ->> 'target_url'), '')
    || coalesce(' ' || job_type, '') || coalesce(' ' || (definition ->> 'stream'), '')
    || coalesce(' ' || (definition ->> 'celery_task'), '');

-- Its words: what is between signs, in lower case, cut to a length that an index takes.
-- As text and not parsed: what the server writes back of it would hold the line ends themselves.
CREATE FUNCTION split_words(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_remove(string_to_array(
        translate(lower(given), E'-_./:?&=#|*,@;()[]{}<>!"''$%^+~`\\\t\r\n', repeat(' ', 35)), ' '), '')
$$;

-- Marked with the tenant: words of others must cost nobody time.
CREATE FUNCTION word_mark(tenant uuid) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN right(tenant::text, 8);

CREATE FUNCTION words_of(tenant uuid, name text, key text, tags text[], job_type text, definition jsonb)
RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(
    ARRAY(SELECT word_mark(tenant) || ' ' || left(word, 100)
            FROM unnest(split_words(searched_text(name, key, job_type, definition))) AS word)
    || ARRAY(SELECT word_mark(tenant) || '#' || tag FROM unnest(tags) AS tag));

-- An edit writes its words at once; a new one's are written with it, or put off by whoever makes thousands.
CREATE FUNCTION keep_words() RETURNS trigger LANGUAGE plpgsql
SET search_path = rota, pg_temp AS $$
BEGIN
    IF tg_op = 'DELETE' THEN
        DELETE FROM schedule_words WHERE tenant_id = old.tenant_id AND schedule_id = old.id;
        RETURN old;
    END IF;
    INSERT INTO schedule_words (tenant_id, schedule_id, words)
    VALUES (new.tenant_id, new.id,
            words_of(new.tenant_id, new.name, new.key, new.tags, new.job_type, new.definition))
    ON CONFLICT (tenant_id, schedule_id) DO UPDATE SET words = excluded.words;
    RETURN new;
END $$;
CREATE TRIGGER keep_words AFTER UPDATE ON schedules FOR EACH ROW
    WHEN (old.definition IS DISTINCT FROM new.definition) EXECUTE FUNCTION keep_words();
CREATE TRIGGER forget_words AFTER DELETE ON schedules FOR EACH ROW EXECUTE FUNCTION keep_words();

-- A word of a query, as tsquery reads it.
CREATE FUNCTION query_word(tenant uuid, sign text, word text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '''' || replace(replace(word_mark(tenant) || sign || word, '\', '\\'), '''', '''''') || '''';

-- The words that must be there: the last of what is searched for may be the beginning of one.
CREATE FUNCTION words_wanted(tenant uuid, searched text, called text, tag text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT string_agg(part, ' & ')::tsquery
          FROM (SELECT query_word(tenant, ' ', left(word, 100))
                       || CASE WHEN at = cardinality(split_words(searched)) THEN ':*' ELSE '' END
                  FROM unnest(split_words(searched)) WITH ORDINALITY AS s(word, at)
                 UNION ALL
                SELECT query_word(tenant, ' ', left(word, 100)) FROM unnest(split_words(called)) AS word
                 UNION ALL
                SELECT query_word(tenant, '#', tag) WHERE tag IS NOT NULL) AS parts(part));

-- A page of the tenant's schedules that have all of these, the newest first. It runs as the owner: operators such as
-- @@ and ILIKE could tell a tenant of rows that are not its own, so no index may serve them behind row security.
-- Whose rows it reads is therefore its own affair: as rota_tenant only those of the transaction's tenant.
CREATE FUNCTION find_schedules(
    of_tenant uuid, pattern text, wanted tsquery, tagged text, called text, keyed text, typed text, statuses text[],
    after_id uuid, most integer)
RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = rota, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    tenant uuid := CASE WHEN current_setting('role') = 'rota_tenant' THEN current_tenant() ELSE of_tenant END;
    -- A word that many have is met soon on a walk; one that few have is looked up. Neither is slow at this border.
    -- Without a word there is nothing to look up.
    window_size CONSTANT integer := CASE WHEN wanted IS NULL THEN 2147483647 ELSE 3000 END;
    window_end uuid;
    found uuid[];
    span record;
BEGIN
    IF tenant IS DISTINCT FROM of_tenant THEN
        RETURN;
    END IF;
    -- Few of a status are soon looked through: no word is as rare as that must be, to be looked up more quickly.
    IF wanted IS NOT NULL AND statuses IS NOT NULL AND window_size > (
        SELECT count(*)
          FROM unnest(statuses) AS st(status),
               LATERAL (SELECT FROM schedules s
                         WHERE s.tenant_id = tenant AND s.status >= st.status AND s.status <= st.status
                           AND s.id < after_id
                         ORDER BY s.status DESC, s.id DESC LIMIT window_size) AS one)
    THEN
        RETURN QUERY
            SELECT s.id
              FROM unnest(statuses) AS st(status),
                   LATERAL (SELECT e.* FROM schedules e
                             WHERE e.tenant_id = tenant AND e.status >= st.status AND e.status <= st.status
                               AND e.id < after_id
                             ORDER BY e.status DESC, e.id DESC LIMIT window_size) AS s
             WHERE (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
               AND (typed IS NULL OR s.job_type = typed) AND (tagged IS NULL OR tagged = ANY (s.tags))
               AND CASE WHEN pattern IS NULL THEN true
                        WHEN searched_text(s.name, s.key, s.job_type, s.definition) NOT ILIKE pattern THEN false
                        ELSE words_of(tenant, s.name, s.key, s.tags, s.job_type, s.definition) @@ wanted END
             ORDER BY s.id DESC LIMIT most;
        RETURN;
    END IF;
    window_end := (SELECT w.schedule_id FROM schedule_words w
                    WHERE w.tenant_id = tenant AND w.schedule_id < after_id
                    ORDER BY w.schedule_id DESC OFFSET window_size LIMIT 1);
    found := ARRAY(
        SELECT w.schedule_id
          FROM (SELECT i.schedule_id, i.words FROM schedule_words i
                 WHERE i.tenant_id = tenant AND i.schedule_id < after_id
                 ORDER BY i.schedule_id DESC LIMIT window_size) AS w,
               LATERAL (SELECT FROM schedules s
                         WHERE s.id = w.schedule_id
                           AND (pattern IS NULL
                                OR searched_text(s.name, s.key, s.job_type, s.definition) ILIKE pattern)
                           AND (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
                           AND (typed IS NULL OR s.job_type = typed)
                           AND (statuses IS NULL OR s.status = ANY (statuses)) OFFSET 0) AS fits
         WHERE wanted IS NULL OR w.words @@ wanted
         ORDER BY w.schedule_id DESC LIMIT most);
    IF cardinality(found) < most AND window_end IS NOT NULL THEN
        found := found || ARRAY(
            WITH holding AS MATERIALIZED (
                SELECT i.schedule_id FROM schedule_words i
                 WHERE i.tenant_id = tenant AND i.words @@ wanted AND i.schedule_id <= window_end)
            SELECT w.schedule_id
              FROM (SELECT h.schedule_id FROM holding h ORDER BY h.schedule_id DESC) AS w,
                   LATERAL (SELECT FROM schedules s
                             WHERE s.id = w.schedule_id
                               AND (pattern IS NULL
                                    OR searched_text(s.name, s.key, s.job_type, s.definition) ILIKE pattern)
                               AND (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
                               AND (typed IS NULL OR s.job_type = typed)
                               AND (statuses IS NULL OR s.status = ANY (statuses)) OFFSET 0) AS fits
             ORDER BY w.schedule_id DESC LIMIT most - cardinality(found));
    END IF;
    -- Those that have no words yet, the newest ranges first; most often there is none. What is cheap is asked first.
    FOR span IN SELECT b.low_id, b.high_id FROM wordless b
                 WHERE b.tenant_id = tenant ORDER BY b.high_id DESC LOOP
        EXIT WHEN cardinality(found) >= most AND found[most] > span.high_id;
        found := ARRAY(
            SELECT id FROM unnest(found) AS id
             UNION
            SELECT late.id
              FROM (SELECT s.id FROM schedules s
                     WHERE s.tenant_id = tenant AND s.id BETWEEN span.low_id AND span.high_id AND s.id < after_id
                       AND (called IS NULL OR s.name = called) AND (keyed IS NULL OR s.key = keyed)
                       AND (typed IS NULL OR s.job_type = typed)
                       AND (statuses IS NULL OR s.status = ANY (statuses))
                       AND (tagged IS NULL OR tagged = ANY (s.tags))
                       AND CASE WHEN pattern IS NULL THEN true
                                WHEN searched_text(s.name, s.key, s.job_type, s.definition) NOT ILIKE pattern
                                THEN false
                                WHEN wanted IS NULL THEN true
                                ELSE words_of(tenant, s.name, s.key, s.tags, s.job_type, s.definition) @@ wanted END
                       AND NOT EXISTS (SELECT FROM schedule_words w
                                        WHERE w.tenant_id = tenant AND w.schedule_id = s.id)
                     ORDER BY s.id DESC LIMIT most) AS late
             ORDER BY 1 DESC LIMIT most);
    END LOOP;
    RETURN QUERY SELECT id FROM unnest(found) AS id;
END $$;
REVOKE ALL ON FUNCTION find_schedules(uuid, text, tsquery, text, text, text, text, text[], uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_schedules(uuid, text, tsquery, text, text, text, text, text[], uuid, integer) TO rota_tenant;

SELECT secure_tenant_table('schedule_words');
SELECT secure_tenant_table('wordless', 'SELECT, INSERT');
