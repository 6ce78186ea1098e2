-- Calendars: local dates on which a schedule does not fire. `definition` is what its owner said, `days` what that
-- comes to (rota.schedules.calendars.days): the holidays of a country are written out for some years, and written
-- anew when there are more years or better data (`package` is the version of the data they come from).
CREATE TABLE calendars (
    tenant_id  uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    name       text        NOT NULL,
    definition jsonb       NOT NULL,
    days       jsonb       NOT NULL,
    -- One more whenever `days` has changed: schedules are armed by one of the versions.
    version    integer     NOT NULL DEFAULT 1,
    package    text,
    until_year integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);
CREATE INDEX calendars_of_countries ON calendars (until_year) WHERE until_year IS NOT NULL;

-- Which calendar a schedule has, and which version of it its timer was armed by. A calendar that is in use cannot go.
ALTER TABLE schedules ADD COLUMN calendar text;
ALTER TABLE schedules ADD COLUMN calendar_version integer;
ALTER TABLE schedules ADD FOREIGN KEY (tenant_id, calendar) REFERENCES calendars (tenant_id, name);
CREATE INDEX schedules_of_calendar ON schedules (tenant_id, calendar, id) WHERE calendar IS NOT NULL;

-- Monitors: what is expected next of each schedule that waits for pings, and by when it has to come.
CREATE TABLE monitors (
    schedule_id  uuid        PRIMARY KEY REFERENCES schedules ON DELETE CASCADE,
    tenant_id    uuid        NOT NULL REFERENCES tenants,
    version      integer     NOT NULL,
    -- The slot, and the slot and its grace; infinity while the schedule is paused or has no slot left.
    expected_at  timestamptz NOT NULL,
    deadline_at  timestamptz NOT NULL,
    last_ping_at timestamptz,
    state        text        NOT NULL CHECK (state IN ('waiting', 'up', 'down'))
) WITH (fillfactor = 80);
CREATE INDEX monitors_due ON monitors (deadline_at) WHERE deadline_at < 'infinity';

SELECT secure_tenant_table('calendars');
SELECT secure_tenant_table('monitors');
