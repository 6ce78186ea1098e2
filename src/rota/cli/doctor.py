"""`rota doctor`: is everything that Rota stands on sound?

Looks, and changes nothing. Each check says what was found and, when it is not well, what to do; one
that is only worth knowing is a warning. Works with a server or without, and without a database.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from rota import config as configuration
from rota.cli import output
from rota.cli.config import DataDir, DirectDsn, Dsn, File, database, is_made, route
from rota.errors import InvalidConfig, RotaError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.text import Text

    from rota.clock import Clock
    from rota.config import Config
    from rota.db.doctor import Check

_FREE_BYTES = 1_000_000_000
_TZDATA_YEARS = 2


def doctor(
    *,
    file: File = None,
    dsn: Dsn = None,
    direct_dsn: DirectDsn = None,
    data_dir: DataDir = None,
    as_json: output.Json = False,
) -> None:
    """Check the installation, the configuration, the database and what runs on it.

    Exit 1 if something is wrong; a warning is not.
    """
    import asyncio  # noqa: PLC0415 - heavy, see app.py

    checks = asyncio.run(
        _examine({"dsn": dsn, "direct_dsn": direct_dsn, "data_dir": data_dir}, file)
    )
    well = all(check.ok is not False for check in checks)
    if as_json:
        output.print_json({"ok": well, "checks": [asdict(check) for check in checks]})
    else:
        _show(checks)
    if not well:
        raise typer.Exit(1)


async def _examine(flags: dict[str, str | None], file: Path | None) -> list[Check]:
    from rota.clock import SystemClock  # noqa: PLC0415 - heavy, see app.py

    clock = SystemClock()
    checks = [_python(), _tzdata(clock), _holidays()]
    try:
        config = configuration.read(flags, file=file)
    except InvalidConfig as error:
        advice = "`rota config check` shows what is set where"
        return checks + [_check("configuration", text, advice) for text in error.problems]
    checks.append(_check("configuration", "no problems"))
    if config.dsn is None:
        checks += _folder(config.data_dir)
    return checks + await _database(config, clock)


def _check(name: str, found: str, advice: str = "") -> Check:
    """A check that is well when there is nothing to advise."""
    from rota.db.doctor import Check  # noqa: PLC0415 - heavy, see app.py

    return Check(name, ok=not advice, found=found, advice=advice)


def _python() -> Check:
    old = sys.version_info < (3, 11)
    return _check("python", platform.python_version(), "use Python 3.11 or newer" if old else "")


def _tzdata(clock: Clock) -> Check:
    from rota.triggers import zones  # noqa: PLC0415 - heavy, see app.py

    old = int(zones.VERSION[:4]) <= clock.now().year - _TZDATA_YEARS
    advice = "upgrade the package tzdata: clock changes since then are unknown" if old else ""
    return _check("tzdata", zones.VERSION, advice)


def _holidays() -> Check:
    from importlib.metadata import version  # noqa: PLC0415 - as above

    return _check("holidays", version("holidays"))


def _folder(folder: Path) -> list[Check]:
    """The data folder, or where it would be made."""
    # Not Path.exists, which raises below a folder that is not ours to enter.
    lineage = (folder, *folder.absolute().parents)
    there = next(path for path in lineage if os.path.exists(path))  # noqa: PTH110
    try:
        where = _cluster(folder) or there
        free = shutil.disk_usage(where).free
    except OSError as error:
        return [_check("data folder", f"{there}: {error.strerror}", f"make {there} accessible")]
    full = f"free some space, at least {_FREE_BYTES / 1e9:g} GB" if free < _FREE_BYTES else ""
    return [_access(folder, there), _check("disk", f"{free / 1e9:.1f} GB free at {where}", full)]


def _cluster(folder: Path) -> Path | None:
    """Where the database's files are, which need not be below the data folder."""
    from rota.db.embedded import layout  # noqa: PLC0415 - heavy, see app.py

    try:
        home = layout.find(folder)
    except RotaError:
        # Told by the check of the database itself.
        return None
    return None if home is None else home.control


def _access(folder: Path, there: Path) -> Check:
    mode = stat.S_IMODE(there.stat().st_mode)
    if not there.is_dir():
        return _check("data folder", f"{there} is not a folder", "choose another --data-dir")
    if not os.access(there, os.W_OK | os.X_OK):
        found = f"{folder} (cannot write in {there})"
        return _check("data folder", found, "run as its owner, or choose another --data-dir")
    if there != folder:
        return _check("data folder", f"{folder} (not made yet)")
    # Keys and history are in here. Entering is fine: as root the server has another account.
    advice = f"chmod go-rw {folder}" if mode & 0o066 else ""
    return _check("data folder", f"{folder} (mode {mode:04o})", advice)


async def _database(config: Config, clock: Clock) -> list[Check]:
    """What the database's own doctor finds; one check that failed when there is no way in."""
    from rota.db import doctor as examiner  # noqa: PLC0415 - heavy, see app.py
    from rota.runtime import doctor as engine  # noqa: PLC0415 - as above

    try:
        if not is_made(config):
            return [_check("database", "embedded, not made yet: `rota migrate` makes it")]
        found: list[Check] = []
        if config.dsn is not None:
            found.append(examiner.pooler(await route(config, config.dsn)))
        async with database(config) as db:
            found += await examiner.checks(db, clock)
            if any(each.name == "migrations" and not each.ok for each in found):
                # The engine's tables are not there, or not as this program knows them.
                return found
            return found + await engine.checks(db, config)
    except (RotaError, OSError) as error:
        return [_check("database", str(error), advice_on(str(error)))]


def advice_on(error: str) -> str:
    """What to do when there is no way in."""
    if "pooler" in error or "direct_dsn" in error:
        return "see docs/guides/poolers.md"
    if "too many" in error:
        return "raise max_connections, or give each process a smaller pool: all are in use"
    return "see that the server runs and lets Rota in"


def _show(checks: list[Check]) -> None:
    rows = [(_mark(check), check.name, check.found, check.advice) for check in checks]
    output.table(rows, headers=("", "check", "found", "advice"))


def _mark(check: Check) -> Text:
    from rich.text import Text  # noqa: PLC0415 - heavy, see app.py

    if check.ok is None:
        return Text("warn" if check.advice else "?", style="yellow")
    return Text("ok", style="green") if check.ok else Text("FAIL", style="bold red")
