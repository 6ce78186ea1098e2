-- Which firings have been replayed, so that a replay of all that is dead takes each once.
CREATE INDEX queue_replays ON queue (replay_of) WHERE replay_of IS NOT NULL;
CREATE INDEX firings_replays ON firings (replay_of) WHERE replay_of IS NOT NULL;

-- Why Rota paused it; NULL when its owner did, or when it is not paused.
ALTER TABLE schedules ADD COLUMN status_reason text;
