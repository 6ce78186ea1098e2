-- A text of several words joined by signs, such as a key or an address, is found by its pairs of neighbours
-- (docs/decisions/search.md): "list-77" is in few, where many have a list and a 77 somewhere.

-- The words of a text, and each with the one behind it where no space is between them, marked as in the index.
CREATE FUNCTION marked_words(mark text, given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
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

-- What a text that is looked for must have, as parts of a query: pairs where words are joined, else words. With an
-- open end the last of them may be the beginning of one.
CREATE FUNCTION wanted_words(tenant uuid, given text, open_end boolean) RETURNS SETOF text
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

-- What was written without pairs is written anew, as after a bulk: until then it is found by being read.
TRUNCATE schedule_words;
INSERT INTO wordless (tenant_id, low_id, high_id)
SELECT id, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff' FROM tenants;
