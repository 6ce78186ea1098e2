-- Foreign keys again in place of five functions and seven triggers that a session setting switched off
-- (docs/decisions/create.md).

-- At once, and in the order in which a change of a schedule locks rows.
LOCK TABLE timers, schedules, tenants IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER of_tenant ON schedules;
DROP TRIGGER still_of_tenant ON schedules;
DROP TRIGGER of_schedule ON timers;
DROP TRIGGER still_of_schedule ON timers;
DROP TRIGGER without_schedules ON tenants;
DROP TRIGGER forget_timer ON schedules;
DROP TRIGGER forget_timers ON schedules;
DROP FUNCTION require_tenant();
DROP FUNCTION require_schedule();
DROP FUNCTION require_no_schedules();
DROP FUNCTION forget_timer();
DROP FUNCTION forget_timers();

-- Not looked at row by row yet: nobody can write while this transaction holds the tables.
ALTER TABLE schedules ADD CONSTRAINT schedules_tenant_id_fkey
    FOREIGN KEY (tenant_id) REFERENCES tenants (id) NOT VALID;
ALTER TABLE timers ADD CONSTRAINT timers_schedule_id_fkey
    FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE CASCADE NOT VALID;
