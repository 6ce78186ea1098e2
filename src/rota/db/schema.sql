-- The schema after all migrations. Made by `python -m rota.db.schema --write`; do not edit.

CREATE TABLE rota.rota_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rota_migrations_pkey PRIMARY KEY (number)
);

CREATE TABLE rota.settings (
    name text NOT NULL,
    value jsonb NOT NULL,
    CONSTRAINT settings_pkey PRIMARY KEY (name)
);
