-- A run of a task that somebody enqueued and that succeeded at its first attempt tells of that attempt by itself: who
-- made it, what was called (with the firing's own payload) and what it returned. There is no row in attempts for it:
-- writing one would take as long as all the rest. Of all other firings `worker` is NULL, and attempts has their rows.
ALTER TABLE firings
    ADD COLUMN worker uuid,
    ADD COLUMN task text,
    ADD COLUMN result bytea;
