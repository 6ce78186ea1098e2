"""The statements that set a stand up and back. None of them is timed."""

from __future__ import annotations

from typing import LiteralString

# Ids as Rota makes them: the time first, then what is random. No foreign key is looked at while
# loading; the rows are right by construction, and a million look-ups would only take long.
# What fires now is next due half a day from now or more: no timer comes back within a run.
LOAD_SCHEDULES: LiteralString = """
    INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at, definition)
    SELECT id, $1::uuid, key, key, 'active',
           ('x' || right(replace(id::text, '-', ''), 8))::bit(32)::bigint % $3::integer,
           now() - interval '12 hours' - n % 3600 * interval '1 second',
           jsonb_build_object('name', key, 'key', key,
                              'target_url', 'https://target-' || n % 1000 || '.example/hook')
           || CASE n % 3
              WHEN 0 THEN jsonb_build_object('interval', '1d')
              WHEN 1 THEN jsonb_build_object('cron_expr', cron)
              ELSE jsonb_build_object('cron_expr', cron, 'timezone', 'America/New_York') END
      FROM (SELECT n, 'schedule-' || n AS key,
                   n % 60 || ' ' || (extract(hour FROM now())::integer + 6 + n % 12) % 24
                       || ' * * *' AS cron,
                   (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint
                                - ($2::bigint - n) * 1000), 12, '0')
                    || substr(md5(n::text), 1, 20))::uuid AS id
              FROM generate_series(1, $2::bigint) AS n) AS s
"""

LOAD_TIMERS: LiteralString = """
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
    SELECT id, shard, slot, slot, 1
      FROM (SELECT id, shard,
                   date_trunc('second', now()) + interval '100 days'
                       + abs(hashtext(id::text)) % 20000000 * interval '1 second' AS slot
              FROM schedules) AS s
"""

# A sample at random, in an order at random: which timers a benchmark makes due.
SAMPLE: LiteralString = """
    CREATE TABLE sample AS
    SELECT row_number() OVER (ORDER BY hashtext(id::text), id) AS n, id AS schedule_id
      FROM (SELECT id FROM schedules ORDER BY hashtext(id::text), id LIMIT $1) AS s
"""

SETTLE: LiteralString = """
    ALTER TABLE sample ADD PRIMARY KEY (n);
    RESET session_replication_role;
    VACUUM ANALYZE;
    CHECKPOINT
"""

# The n-th of the sample is due `$3` after the one before, in `$4` steps; then it starts anew.
ARM: LiteralString = """
    UPDATE timers t
       SET scheduled_for = s.slot, due_at = s.slot
      FROM (SELECT schedule_id, $2::timestamptz + n % $4::bigint * $3::interval AS slot
              FROM sample WHERE n <= $1) AS s
     WHERE t.schedule_id = s.schedule_id
"""

FILL_QUEUE: LiteralString = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, fence,
                       state, triggered_by, lane, host)
    SELECT md5('firing' || n)::uuid, schedule_id, $2::uuid, 1, $3::timestamptz,
           $3::timestamptz + n * interval '1 microsecond', 1, 'waiting', 'schedule', 'http',
           'target.example'
      FROM sample WHERE n <= $1
"""

EMPTY_QUEUE: LiteralString = "TRUNCATE queue, firings, attempts"
TIDY_TIMERS: LiteralString = "VACUUM timers"
# As autovacuum leaves an empty queue after a quiet while: what is planned now, is for no rows.
TIDY_QUEUE: LiteralString = "VACUUM ANALYZE queue"

# Whole seconds, as most schedules have.
NOW: LiteralString = "SELECT date_trunc('second', clock_timestamp())"
BACKENDS: LiteralString = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
