-- Enqueueing runs of a task, from any driver and in the caller's own transaction.

-- The first part of an id as programs make them, milliseconds since 1970. The rest is random: what follows in
-- the text of a random UUID. (Of its 80 bits six are a UUID's own; nobody looks at them.)
CREATE OR REPLACE FUNCTION id_prefix(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE
AS $$ SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') $$;

-- The schedule that holds what a task is: "task:<name>", or one of that key that may run beside itself.
CREATE OR REPLACE FUNCTION task_schedule(task text, tenant uuid) RETURNS schedules LANGUAGE plpgsql STABLE AS $$
DECLARE
    found rota.schedules;
BEGIN
    SELECT s.* INTO found
      FROM rota.schedules s
     WHERE s.tenant_id = coalesce(tenant, rota.current_tenant(),
                                  (SELECT t.id FROM rota.tenants t WHERE t.name = 'default'))
       AND s.key IN ('task:' || task, task)
     ORDER BY s.key <> 'task:' || task
     LIMIT 1;
    IF found.definition ->> 'job_type' IS NOT NULL
       AND found.definition ->> 'overlap_policy' IS DISTINCT FROM 'allow' THEN
        RAISE no_data_found USING MESSAGE = format('the schedule %L may not run beside itself', task),
            HINT = 'Trigger it instead, or give it the overlap_policy "allow".';
    END IF;
    IF found.definition ->> 'job_type' IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('there is no task %L to enqueue', task),
            HINT = 'A task is known once a program that declares it with @rota.task has started.';
    END IF;
    RETURN found;
END $$;

-- Puts runs of a task into the queue, one for each element of the JSON array `payloads`, in the caller's own
-- transaction: they are there if that commits, and were never there if not. Returns the firings' ids, in order.
-- With the rights of the caller, who needs USAGE on the schema rota, SELECT on tenants and schedules, and SELECT and
-- INSERT on queue.
CREATE OR REPLACE FUNCTION enqueue_many(
    task text,
    payloads jsonb,
    delay interval DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    priority integer DEFAULT NULL,
    unique_key text DEFAULT NULL,
    tenant uuid DEFAULT NULL
) RETURNS uuid[] LANGUAGE plpgsql VOLATILE
-- Called from any session, a user's own too. Its plan is kept from when the tables were small.
SET enable_seqscan = off AS $$
DECLARE
    found rota.schedules := rota.task_schedule(task, tenant);
    lane text := coalesce(found.definition ->> 'queue', 'default');
    rank integer := coalesce(priority, (found.definition ->> 'priority')::integer, 5);
    prefix text := rota.id_prefix(clock_timestamp());
    at timestamptz := greatest(coalesce(run_at, clock_timestamp() + delay), clock_timestamp());
    -- While its schedule is paused it waits; whoever resumes that lets it go.
    free_at timestamptz := CASE found.status WHEN 'paused' THEN 'infinity' ELSE at END;
    entered uuid[];
BEGIN
    IF unique_key IS NOT NULL AND jsonb_array_length(payloads) <> 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'expected a unique_key with one run, got it with many';
    END IF;
    IF run_at IS NOT NULL AND delay IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'expected a delay or an instant, got both';
    END IF;
    IF priority NOT BETWEEN 0 AND 9 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('expected a priority from 0 to 9, got %s', priority);
    END IF;
    IF unique_key IS NULL THEN
        WITH asked AS MATERIALIZED (
            SELECT (prefix || substr(gen_random_uuid()::text, 14))::uuid AS id,
                   nullif(p.payload, 'null') AS payload, p.n
              FROM jsonb_array_elements(payloads) WITH ORDINALITY AS p(payload, n)
        ), inserted AS (
            INSERT INTO rota.queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, priority,
                                    state, triggered_by, lane, payload)
            SELECT a.id, found.id, found.tenant_id, found.version, at, free_at, rank, 'waiting', 'enqueue', lane,
                   a.payload
              FROM asked a
        )
        SELECT array_agg(a.id ORDER BY a.n) INTO entered FROM asked a;
    ELSE
        LOOP
            WITH inserted AS (
                INSERT INTO rota.queue AS q (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                                             priority, state, triggered_by, lane, payload, unique_key)
                SELECT (prefix || substr(gen_random_uuid()::text, 14))::uuid, found.id, found.tenant_id,
                       found.version, at, free_at, rank, 'waiting', 'enqueue', lane,
                       nullif(payloads -> 0, 'null'), enqueue_many.unique_key
                    ON CONFLICT DO NOTHING
                RETURNING q.id
            )
            SELECT array_agg(i.id) INTO entered FROM inserted i;
            EXIT WHEN entered IS NOT NULL;
            -- The key is taken: by one that is live, unless it has just ended.
            SELECT array_agg(q.id) INTO entered
              FROM rota.queue q WHERE q.schedule_id = found.id AND q.unique_key = enqueue_many.unique_key;
            IF entered IS NOT NULL THEN
                RETURN entered;
            END IF;
        END LOOP;
    END IF;
    -- What is due later is found by the workers' own look ahead.
    IF free_at <= clock_timestamp() + interval '2 seconds' THEN
        PERFORM pg_notify('rota_queue', lane);
    END IF;
    RETURN coalesce(entered, '{}');
END $$;

-- The same for one run. By any driver: SELECT rota.enqueue('reports.send', '{"team": "ops"}', delay => '10 minutes').
-- Returns the firing's id; of a unique_key that is live already, that firing's.
CREATE OR REPLACE FUNCTION enqueue(
    task text,
    payload jsonb DEFAULT NULL,
    delay interval DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    priority integer DEFAULT NULL,
    unique_key text DEFAULT NULL,
    tenant uuid DEFAULT NULL
) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (rota.enqueue_many(task, jsonb_build_array(payload), delay, run_at, priority, unique_key, tenant))[1]
$$;
