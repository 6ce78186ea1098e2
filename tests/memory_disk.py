"""Where the tests' PostgreSQL keeps its data: in memory, where the machine has enough.

Each test has a database of its own, of hundreds of files that are created and removed. On ext4 an
inode is not used again for minutes after its file was removed, and for each new file all of those
are looked at: clones in a row took 67 ms of CPU each at first and 347 ms after 60. On tmpfs: 20 ms.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Final

from rota.clock import SystemClock
from rota.db import embedded
from rota.errors import EmbeddedError

_TMPFS: Final = Path("/dev/shm")
_MEMINFO: Final = Path("/proc/meminfo")
_LEAST: Final = 4 << 30
"""What must be free: a run needs less than 1 GiB, `make test-large` about 3."""


def folder(run: Path) -> Path:
    """The data folder for the run that has this folder: the same for all of its processes."""
    chosen = run / "postgres"
    # The first process to come chooses for all.
    with contextlib.suppress(FileExistsError):
        if _has_room():
            chosen.symlink_to(_TMPFS / f"{_prefix()}{secrets.token_hex(6)}")
        else:
            chosen.mkdir(mode=0o711)
    return chosen.resolve()


async def remove_abandoned(*, besides: Path) -> None:
    """Remove what runs that were killed have left in memory, and empty folders of others."""
    recent = SystemClock().now() - timedelta(hours=1)
    for each in _TMPFS.glob(f"{_prefix()}*"):
        with contextlib.suppress(EmbeddedError, OSError):
            if each != besides and (found := each.stat()).st_uid == os.geteuid():
                # Refused while somebody uses it.
                await embedded.remove(each)
                # Another process may be about to start a server in a new one.
                if found.st_mtime < recent.timestamp():
                    each.rmdir()


def _prefix() -> str:
    return f"rota-tests-{os.geteuid()}-"


def _has_room() -> bool:
    try:
        free = shutil.disk_usage(_TMPFS).free
        found = re.search(
            r"^MemAvailable: +([0-9]+) kB$", _MEMINFO.read_text("ascii"), re.MULTILINE
        )
    except OSError:
        return False
    is_private = bool(_TMPFS.stat().st_mode & 0o1000)
    return found is not None and is_private and min(free, int(found[1]) << 10) >= _LEAST
