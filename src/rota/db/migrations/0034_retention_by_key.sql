-- What has no partition of its own is deleted by age, some at a time: by this index, not by reading all of it each time.
CREATE INDEX firings_default_by_age ON firings_default (finished_at);
CREATE INDEX attempts_default_by_age ON attempts_default (finished_at);
