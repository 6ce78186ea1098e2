-- What is fixed when an installation is made and must be the same for every process that joins it.
CREATE TABLE settings (
    name  text  PRIMARY KEY,
    value jsonb NOT NULL
);

-- Timers are spread over this many shards. Every timer's shard is computed from it, so it can never
-- change once there are timers.
INSERT INTO settings (name, value) VALUES ('shards', '64');

-- Tells installations apart in telemetry and backups.
INSERT INTO settings (name, value) VALUES ('installation_id', to_jsonb(gen_random_uuid()::text));
