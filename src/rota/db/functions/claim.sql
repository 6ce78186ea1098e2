-- Asked several times a second by every worker, mostly of an empty queue. By an index, because the table keeps the pages
-- of a herd that has been through it.
CREATE OR REPLACE FUNCTION is_queue_empty() RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path = rota, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM queue);
END $$;
REVOKE EXECUTE ON FUNCTION is_queue_empty() FROM PUBLIC;
