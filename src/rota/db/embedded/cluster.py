"""Making a cluster, and refusing one that is not for this PostgreSQL."""

from __future__ import annotations

import os
import secrets
import shutil
from typing import TYPE_CHECKING

from rota.db.embedded import password, process
from rota.db.embedded.binaries import MAJOR, Binaries
from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from rota.db.embedded.layout import Home

_HBA = """\
# Written by Rota: the only way in is the socket, with the password in the file pgpass.
local all         all scram-sha-256
local replication all scram-sha-256
host  all         all all reject
"""

# By another name first: half a file would let nobody in.
_REPLACE = 'printf %s "$1" >"$0.new" && mv "$0.new" "$0"'


async def ensure(home: Home, binaries: Binaries, *, durable: bool) -> None:
    """Make the cluster when there is none. Call it under the lock, with a password made.

    initdb works in a folder of another name, which gets its own when all is done: a kill on the way
    leaves nothing that could be taken for a cluster.
    """
    if home.pgdata.exists():
        _require_major(home)
        return
    for unfinished in home.server.glob("pgdata.new-*"):
        # The initdb of a killed owner may still be writing in there; what remains is swept later.
        shutil.rmtree(unfinished, ignore_errors=True)
    draft = home.server / f"pgdata.new-{secrets.token_hex(4)}"
    with password.verifier_file(home) as verifier:
        done = await process.run(
            [
                binaries.program("initdb"),
                f"--pgdata={draft}",
                f"--username={password.SUPERUSER}",
                f"--pwfile={verifier}",
                # The same order of texts on every machine and version of its libraries.
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                # The server listens on its socket alone.
                "--auth-local=scram-sha-256",
                "--auth-host=reject",
                "--no-instructions",
                *([] if durable else ["--no-sync"]),
            ],
            account=home.account,
        )
    if done.returncode != 0:
        raise EmbeddedError(f"initdb failed for {home.pgdata}: {done.stderr.strip()}")
    draft.rename(home.pgdata)
    if durable:
        _sync_folder(home)
    if not password.is_settled(home):
        password.settle(home)


async def write_hba(home: Home) -> None:
    """Have the server ask for the password, once it reads its files again.

    As its account: root must not write where another account can lead it elsewhere.
    """
    argv = ["/bin/sh", "-c", _REPLACE, str(home.pgdata / "pg_hba.conf"), _HBA]
    done = await process.run(argv, account=home.account)
    if done.returncode != 0:
        raise EmbeddedError(f"could not write pg_hba.conf in {home.pgdata}: {done.stderr.strip()}")


def _require_major(home: Home) -> None:
    try:
        found = (home.pgdata / "PG_VERSION").read_text("ascii").strip()
    except OSError as error:
        raise EmbeddedError(
            f"expected a PostgreSQL cluster at {home.pgdata}, got {error}"
        ) from error
    if found != str(MAJOR):
        raise EmbeddedError(
            f"expected data of PostgreSQL {MAJOR} at {home.pgdata}, got PostgreSQL {found}: "
            "dump it with that version and load it into a new data folder, or pass --dsn"
        )


def _sync_folder(home: Home) -> None:
    """The new name must not be forgotten in a power cut while the data is remembered."""
    descriptor = os.open(home.server, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
