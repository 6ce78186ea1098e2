"""Running PostgreSQL's programs: as whom, with what around them."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")

_UNPRIVILEGED = ("postgres", "nobody")
"""Whom the server runs as when we are root, which PostgreSQL refuses: the first that exists.

initdb looks its user up, so a bare number without an entry will not do.
"""


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the machine."""

    uid: int
    gid: int

    @property
    def is_self(self) -> bool:
        return self.uid == os.geteuid()


def own_account() -> Account:
    """Whoever runs this process."""
    return Account(os.geteuid(), os.getegid())


def unprivileged_account() -> Account:
    """Whom a new cluster should belong to when we are root."""
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedError(
        f"expected a user named {' or '.join(_UNPRIVILEGED)} to run PostgreSQL as, found neither: "
        "PostgreSQL refuses to run as root. Create one, run as another user, or pass --dsn"
    )


async def run(
    argv: Sequence[str], *, account: Account, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as `account` and return what it said.

    It gets a session of its own, so that Ctrl-C in our terminal reaches us alone; a folder that
    everyone may be in; files that only the account may read; and none of our environment, which may
    hold secrets and PG* variables that change what PostgreSQL does.
    """
    # Changing user is only for root, and only root needs to.
    uid, gid, groups = (
        (None, None, None) if account.is_self else (account.uid, account.gid, list[int]())
    )

    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - programs of the wheel, arguments of ours
            argv,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            umask=0o077,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", **(environment or {})},
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=groups,
        )

    return await in_thread(call)


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread, and see it end even when cancelled.

    A thread cannot be stopped; returning early would release the lock it works under.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
