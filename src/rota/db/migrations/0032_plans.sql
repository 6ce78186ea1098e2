-- Sessions no longer turn sequential scans off, and these are called from any session, a user's own too. Their plans
-- are kept from when the tables were small, and each call finds its rows by an index.
ALTER FUNCTION enqueue_many(text, jsonb, interval, timestamptz, integer, text, uuid) SET enable_seqscan = off;
ALTER FUNCTION make_schedules(uuid, timestamptz, timestamptz, uuid[], jsonb[], text[], smallint[], boolean[],
                              timestamptz[], integer[], timestamptz[], integer[], boolean, uuid[], interval, text[])
    SET enable_seqscan = off;

-- Asked several times a second by every worker, mostly of an empty queue. By an index, because the table keeps the pages
-- of a herd that has been through it.
CREATE FUNCTION is_queue_empty() RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path = rota, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM queue);
END $$;
REVOKE EXECUTE ON FUNCTION is_queue_empty() FROM PUBLIC;
