-- Finding schedules by words, names and tags (docs/decisions/search.md).

-- The text that is searched.
CREATE OR REPLACE FUNCTION searched_text(name text, key text, job_type text, definition jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN name || ' ' || key
    || coalesce(' ' || (definition ->> 'description'), '') || coalesce(' ' || (definition ->> 'target_url'), '')
    || coalesce(' ' || job_type, '') || coalesce(' ' || (definition ->> 'stream'), '')
    || coalesce(' ' || (definition ->> 'celery_task'), '');

-- Its words: what is between signs, in lower case, cut to a length that an index takes.
-- As text and not parsed: what the server writes back of it would hold the line ends themselves.
CREATE OR REPLACE FUNCTION split_words(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_remove(string_to_array(
        translate(lower(given), E'-_./:?&=#|*,@;()[]{}<>!"''$%^+~`\\\t\r\n', repeat(' ', 35)), ' '), '')
$$;

-- Marked with the tenant: words of others must cost nobody time.
CREATE OR REPLACE FUNCTION word_mark(tenant uuid) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN right(tenant::text, 8);

-- The words of a text, and each with the one behind it where no space is between them, marked as in the index.
CREATE OR REPLACE FUNCTION marked_words(mark text, given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(mark || ' ' || left(w.word, 100))
           || coalesce(array_agg(mark || '+' || left(w.word, 50) || ' ' || left(w.next, 50))
                           FILTER (WHERE w.next IS NOT NULL), '{}')
      FROM unnest(string_to_array(given, ' ')) AS token,
           LATERAL (SELECT split_words(token) AS words OFFSET 0) AS s,
           unnest(s.words, s.words[2:]) AS w(word, next)
$$;

CREATE OR REPLACE FUNCTION words_of(
    tenant uuid, name text, key text, tags text[], job_type text, definition jsonb)
RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(
    coalesce(marked_words(word_mark(tenant), searched_text(name, key, job_type, definition)), '{}')
    || ARRAY(SELECT word_mark(tenant) || '#' || tag FROM unnest(tags) AS tag));

-- An edit writes its words at once; a new one's are written with it, or put off by whoever makes thousands.
CREATE OR REPLACE FUNCTION keep_words() RETURNS trigger LANGUAGE plpgsql
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

-- A word of a query, as tsquery reads it.
CREATE OR REPLACE FUNCTION query_word(tenant uuid, sign text, word text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '''' || replace(replace(word_mark(tenant) || sign || word, '\', '\\'), '''', '''''') || '''';

-- What a text that is looked for must have, as parts of a query: pairs where words are joined, else words. With an
-- open end the last of them may be the beginning of one.
CREATE OR REPLACE FUNCTION wanted_words(tenant uuid, given text, open_end boolean) RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 5 AS $$
    SELECT query_word(tenant, x.sign, x.word)
           || CASE WHEN open_end AND x.place = count(*) OVER () THEN ':*' ELSE '' END
      FROM (SELECT row_number() OVER (ORDER BY t.at, w.at) AS place,
                   CASE WHEN w.next IS NULL THEN ' ' ELSE '+' END AS sign,
                   CASE WHEN w.next IS NULL THEN left(w.word, 100)
                        ELSE left(w.word, 50) || ' ' || left(w.next, 50) END AS word
              FROM unnest(string_to_array(given, ' ')) WITH ORDINALITY AS t(token, at),
                   LATERAL (SELECT split_words(t.token) AS words OFFSET 0) AS s,
                   unnest(s.words, s.words[2:]) WITH ORDINALITY AS w(word, next, at)
             WHERE w.next IS NOT NULL OR cardinality(s.words) = 1) AS x
$$;

CREATE OR REPLACE FUNCTION words_wanted(tenant uuid, searched text, called text, tag text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT string_agg(part, ' & ')::tsquery
          FROM (SELECT wanted_words(tenant, searched, true)
                 UNION ALL
                SELECT wanted_words(tenant, called, false)
                 UNION ALL
                SELECT query_word(tenant, '#', tag) WHERE tag IS NOT NULL) AS parts(part));

-- A page of the tenant's schedules that have all of these, the newest first. It runs as the owner: operators such as
-- @@ and ILIKE could tell a tenant of rows that are not its own, so no index may serve them behind row security.
-- Whose rows it reads is therefore its own affair: as rota_tenant only those of the transaction's tenant.
CREATE OR REPLACE FUNCTION find_schedules(
    of_tenant uuid, pattern text, wanted tsquery, tagged text, called text, keyed text, typed text, statuses text[],
    after_id uuid, most integer)
RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
-- Without enable_sort = off, before the table's first statistics a range would be read whole along schedules_by_status,
-- and sorted.
SET search_path = rota, pg_temp SET enable_seqscan = off SET enable_sort = off
SET plan_cache_mode = force_generic_plan AS $$
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
