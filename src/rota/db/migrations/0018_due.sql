-- When a firing was due, of those that ended at their first attempt: what its start is compared with, to tell how late
-- it was. Its slot is not it: jitter and windows move the due instant, and a manual run has no slot.
ALTER TABLE firings ADD COLUMN due_at timestamptz;
