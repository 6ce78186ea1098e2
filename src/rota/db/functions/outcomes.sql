-- Notes an outcome that someone should hear of, in the transaction that records it (docs/decisions/outcomes-noted-by-a-trigger.md).
CREATE OR REPLACE FUNCTION note_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rota.unnoticed (tenant_id, schedule_id, firing_id, scheduled_for, status, reason, slot_count,
                                finished_at)
    VALUES (NEW.tenant_id, NEW.schedule_id, NEW.id, NEW.scheduled_for, NEW.status, left(NEW.reason, 500),
            NEW.slot_count, NEW.finished_at);
    RETURN NULL;
END $$;
