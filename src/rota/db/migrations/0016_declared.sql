-- Schedules that a program declares in its code (rota.library, docs/decisions/declared-schedules.md).

-- Every whole declaration that an app has made, by its fingerprint. The one in force is the one that was
-- applied last; the others tell a build that was there before from one that is new.
CREATE TABLE declarations (
    tenant_id   uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    app         text        NOT NULL,
    fingerprint text        NOT NULL,
    -- What the program said of its version, part by part; NULL when it said nothing.
    version     integer[],
    applied_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, app, fingerprint)
);

-- What was last taken over from code for each key: a change by hand stays until the code changes. A key is one
-- app's: two that declared the same would undo each other for ever.
CREATE TABLE declared (
    tenant_id   uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
    key         text NOT NULL,
    app         text NOT NULL,
    fingerprint text NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX declared_by_app ON declared (tenant_id, app);

-- Which node runs which declaration: while one of them lives, an older one is not taken again.
CREATE TABLE declarers (
    node_id     uuid        NOT NULL,
    tenant_id   uuid        NOT NULL REFERENCES tenants ON DELETE CASCADE,
    app         text        NOT NULL,
    fingerprint text        NOT NULL,
    joined_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node_id, tenant_id, app)
);
CREATE INDEX declarers_by_app ON declarers (tenant_id, app);

SELECT secure_tenant_table('declarations', 'SELECT');
SELECT secure_tenant_table('declared', 'SELECT');
SELECT secure_tenant_table('declarers', 'SELECT');
