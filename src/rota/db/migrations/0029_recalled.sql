-- A firing of a slot to come that its worker is asked to give back, because something else of its schedule has entered
-- since it was prepared: its slot goes back to its timer, which decides at the slot's instant.
ALTER TABLE queue ADD COLUMN recalled boolean NOT NULL DEFAULT false;
