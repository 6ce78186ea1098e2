-- Runs of a paused task, which wait for it: looked for by workers, mostly in vain (queue.held_sql).
CREATE INDEX queue_held ON queue (schedule_id) WHERE available_at = 'infinity';

-- What waits to be said on a channel: counted before more is added.
CREATE INDEX notifications_waiting ON notifications (channel_id) WHERE status = 'pending';
