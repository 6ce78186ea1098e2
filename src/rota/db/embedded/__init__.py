"""A real PostgreSQL where there is none: started from a wheel, shared by the processes of a folder.

    async with await embedded.start(data_dir) as server:
        db = await Database.open(server.dsn)

- Durable, private (a socket in a folder of mode 0700, no network, a password that only its owner
  can read), and out of the reach of Ctrl-C.
- A kill -9 of whoever started it is harmless: the next start adopts the running server, or lets it
  recover.
- Processes share it: whoever comes first starts it, whoever leaves last stops it.
- As root it runs as an unprivileged user, and no folder that was there before has its permissions
  changed (docs/decisions/embedded-postgresql.md).
"""

from __future__ import annotations

from rota.db.embedded.binaries import MAJOR, Binaries
from rota.db.embedded.layout import SHELTER
from rota.db.embedded.server import Embedded, remove, start

__all__ = ["MAJOR", "SHELTER", "Binaries", "Embedded", "remove", "start"]
