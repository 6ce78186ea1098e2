-- The zone rules that this installation has been armed by: one row for each tzdata package that a scheduler ran with. The
-- files of an older one say what a wall clock read when a timer was armed (rota.schedules.tzdata).
CREATE TABLE tzdata_versions (
    digest      text        PRIMARY KEY,
    version     text        NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    files       bytea       NOT NULL
);

-- By which of them the timers of each shard were armed. A shard without a row: nobody knows.
CREATE TABLE shard_tzdata (
    shard       smallint    PRIMARY KEY,
    digest      text        NOT NULL REFERENCES tzdata_versions,
    -- A node with older rules has fired some of its timers since.
    mixed       boolean     NOT NULL DEFAULT false,
    -- Since then, and the zones whose rules have changed at any time; null when nobody knows which.
    moved_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed     text[]
);
-- An audit of past slots has to know since when these rules hold.
GRANT SELECT (shard, moved_at, changed) ON shard_tzdata TO rota_tenant;

-- A shard whose timers are being moved to other rules, and how far that is; deleted when it is done.
CREATE TABLE shard_tzdata_progress (
    shard       smallint    PRIMARY KEY,
    digest      text        NOT NULL REFERENCES tzdata_versions,
    after_id    uuid        NOT NULL
);

-- Those who want to hear of missed slots want to hear of slots that other rules of their zone have moved.
UPDATE channels SET events = array_append(events, 'moved') WHERE 'missed' = ANY (events);
