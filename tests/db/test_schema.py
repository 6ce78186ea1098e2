"""schema.sql is what the migrations make, on every version of PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.db import Database, catalog, migrate, schema

if TYPE_CHECKING:
    from collections.abc import Generator

OLD = Path("/usr/lib/postgresql/15/bin")

_ONE_OF_EVERYTHING = """
    CREATE TYPE mood AS ENUM ('good', 'bad');
    CREATE SEQUENCE numbers AS integer START 5 INCREMENT 2;
    CREATE TABLE days (
        day date NOT NULL,
        id bigint GENERATED ALWAYS AS IDENTITY,
        mood mood DEFAULT 'good' NOT NULL,
        note text COLLATE "C" CHECK (note <> 'rota.days'),
        twice integer GENERATED ALWAYS AS (2 * 2) STORED,
        PRIMARY KEY (day, id)
    ) PARTITION BY RANGE (day);
    CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2025-01-01') TO ('2025-01-02')
        WITH (fillfactor = 70);
    CREATE INDEX days_mood ON days (mood) WHERE mood = 'bad';
    CREATE UNLOGGED TABLE cache (
        name text REFERENCES settings (name) ON DELETE CASCADE,
        UNIQUE (name)
    );
    ALTER TABLE cache ENABLE ROW LEVEL SECURITY;
    ALTER TABLE cache FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON cache FOR ALL USING (name = 'x') WITH CHECK (name <> 'y');
    CREATE VIEW names AS SELECT name FROM cache;
    CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
    CREATE TRIGGER touched BEFORE UPDATE ON cache FOR EACH ROW EXECUTE FUNCTION touch();
"""


async def dump_everything(dsn: str) -> str:
    async with await Database.open(dsn) as db:
        await migrate.apply(db)
        async with db.transaction() as tx:
            await tx.execute(_ONE_OF_EVERYTHING)
        async with db.transaction() as tx:
            return await catalog.dump(tx)


async def test_schema_sql_is_fresh(db: Database) -> None:
    stale = schema.difference(schema.FILE.read_text("utf-8"), await schema.current(db))
    assert not stale, f"run python -m rota.db.schema --write\n{stale}"


async def test_a_change_of_the_schema_shows_as_a_difference(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute("ALTER TABLE settings ADD COLUMN extra integer DEFAULT 3")
    stale = schema.difference(schema.FILE.read_text("utf-8"), await schema.current(db))
    assert "+    extra integer DEFAULT 3," in stale


def test_the_command_says_whether_it_is_fresh_and_can_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schema, "FILE", tmp_path / "schema.sql")
    assert schema.main([]) == 1
    assert "+CREATE TABLE rota.settings (" in capsys.readouterr().err
    assert schema.main(["--write"]) == 0
    assert schema.main([]) == 0


async def test_everything_that_can_be_in_the_schema_is_written_down(empty_dsn: str) -> None:
    text = await dump_everything(empty_dsn)
    for part in [
        "CREATE TYPE rota.mood AS ENUM ('good', 'bad');",
        "CREATE SEQUENCE rota.numbers AS integer START 5 INCREMENT 2;",
        "    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,",
        "    mood rota.mood DEFAULT 'good'::rota.mood NOT NULL,",
        '    note text COLLATE "C",',
        "    twice integer GENERATED ALWAYS AS ((2 * 2)) STORED,",
        "CHECK ((note <> 'rota.days'::text))",
        "    CONSTRAINT days_pkey PRIMARY KEY (day, id)",
        ") PARTITION BY RANGE (day);",
        "CREATE TABLE rota.days_1 PARTITION OF rota.days FOR VALUES FROM ('2025-01-01') TO",
        " TO ('2025-01-02') WITH (fillfactor=70);",
        "CREATE INDEX days_mood ON ONLY rota.days USING btree (mood) WHERE",
        "CREATE UNLOGGED TABLE rota.cache (",
        "FOREIGN KEY (name) REFERENCES rota.settings(name) ON DELETE CASCADE",
        "CONSTRAINT cache_name_key UNIQUE (name)",
        "ALTER TABLE rota.cache ENABLE ROW LEVEL SECURITY;",
        "ALTER TABLE rota.cache FORCE ROW LEVEL SECURITY;",
        "CREATE POLICY own ON rota.cache AS PERMISSIVE FOR ALL TO public USING",
        "CREATE VIEW rota.names (name text);",
        "CREATE OR REPLACE FUNCTION rota.touch()",
        "CREATE TRIGGER touched BEFORE UPDATE ON rota.cache FOR EACH ROW",
    ]:
        assert part in text
    assert "numbers" not in text.replace("rota.numbers", "")
    assert "days_id_seq" not in text


async def test_an_older_server_gives_the_same_text(empty_dsn: str, old_dsn: str) -> None:
    assert await dump_everything(old_dsn) == await dump_everything(empty_dsn)


@pytest.fixture(scope="module")
def old_dsn() -> Generator[str]:
    """A PostgreSQL 15, where the machine has one."""
    if not (OLD / "initdb").exists():
        pytest.skip(f"no PostgreSQL 15 at {OLD}")
    # Not below pytest's folder, which the server's user cannot reach when we are root.
    folder = Path(tempfile.mkdtemp(prefix="rota-old-", dir="/tmp"))
    user = pwd.getpwnam("postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
    os.chown(folder, user.pw_uid, user.pw_gid)

    def call(program: str, *arguments: str) -> None:
        switch = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        command = [str(OLD / program), *arguments]
        argv = [*switch, *command] if os.geteuid() == 0 else command
        subprocess.run(argv, check=True, cwd="/", stdout=subprocess.DEVNULL)

    data = f"{folder}/data"
    call("initdb", "-D", data, "-U", "rota", "-E", "UTF8", "--locale=C", "--no-sync", "-A", "trust")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    call("pg_ctl", "start", "-w", "-D", data, "-o", options, "-l", f"{folder}/log")
    try:
        yield f"postgresql://rota@/postgres?host={folder}&port=5432"
    finally:
        call("pg_ctl", "stop", "-w", "-m", "immediate", "-D", data)
        shutil.rmtree(folder)
