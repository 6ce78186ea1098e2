-- Paused with others, by one request for all of a tenant's schedules or those of a tag: resuming
-- all resumes these, and leaves alone what people have paused by themselves. Means nothing unless
-- the schedule is paused.
ALTER TABLE schedules ADD COLUMN paused_together boolean NOT NULL DEFAULT false;
-- When to resume it without being asked; NULL for never.
ALTER TABLE schedules ADD COLUMN paused_until timestamptz;
CREATE INDEX schedules_paused_together ON schedules (tenant_id, id)
    WHERE paused_together AND status = 'paused';
CREATE INDEX schedules_paused_until ON schedules (paused_until)
    WHERE paused_until IS NOT NULL AND status = 'paused';

-- Of a firing that somebody pulled: since when it has been theirs, and what they call themselves.
-- Means nothing unless it is running.
ALTER TABLE queue ADD COLUMN pulled_at timestamptz;
ALTER TABLE queue ADD COLUMN pulled_by text;
