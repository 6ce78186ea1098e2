-- The queue in which a tenant's program has registered each of its tasks, written when the program starts. A
-- schedule that names a task and no queue goes there (rota.schedules.task_queues).
CREATE TABLE task_queues (
    tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    task      text NOT NULL,
    queue     text NOT NULL,
    -- Which program it was: two of one tenant may register the same task, and the last to start has it.
    program   text NOT NULL,
    PRIMARY KEY (tenant_id, task)
);
-- Programs alone write it, with rights of their own: a tenant that could would redirect its own tasks at most, but
-- needs no such right.
SELECT secure_tenant_table('task_queues', 'SELECT');

-- What names a task and no queue, to be found when a program registers the task: few, as most find their queue when
-- they are created.
CREATE INDEX schedules_without_queue ON schedules (tenant_id, job_type)
 WHERE job_type IS NOT NULL AND NOT definition ? 'queue';
-- The same for steps, which may name several tasks each.
CREATE INDEX schedules_with_steps ON schedules (tenant_id, id) WHERE definition ? 'steps';

-- Which tasks of the operator's Celery fleet a tenant may send, as TASK@QUEUE with * and ?; the operator's own tenant
-- may send them all.
ALTER TABLE tenants ADD COLUMN celery_allow text[] NOT NULL DEFAULT '{}';
