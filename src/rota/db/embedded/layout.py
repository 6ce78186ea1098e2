"""Where a data folder's cluster lives and whom it belongs to.

<control>/
    lock      held while starting or stopping
    users     held by each process that uses the server
    pgpass    ours alone, 0600: the server's password (`.pgpass.draft` until it asks for it)
    server/   of the server's account, 0700: pgdata/, an unfinished pgdata.new-*, startup.log
    socket/   of the server's account, 0700

Not as root, control is the data folder, and the account is our own. As root the account is an
unprivileged one: control is the data folder when that account can reach it, and otherwise (a folder
below /root, say) a folder of its own in the shelter, named in the data folder's `cluster-location`.
Permissions of folders that we did not make are never changed.
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from rota.db.embedded.process import Account, own_account, unprivileged_account
from rota.errors import EmbeddedError

SHELTER = Path("/var/lib/rota-embedded")
"""Root only: the copy of the programs, and clusters whose data folder is out of their reach."""

_POINTER = "cluster-location"


@dataclass(frozen=True, slots=True)
class Home:
    """A cluster's place. Its folders exist and belong to `account`."""

    control: Path
    account: Account

    @property
    def lock(self) -> Path:
        return self.control / "lock"

    @property
    def users(self) -> Path:
        return self.control / "users"

    @property
    def server(self) -> Path:
        return self.control / "server"

    @property
    def socket(self) -> Path:
        return self.control / "socket"

    @property
    def pgpass(self) -> Path:
        return self.control / "pgpass"

    @property
    def pgpass_draft(self) -> Path:
        return self.control / ".pgpass.draft"

    @property
    def pgdata(self) -> Path:
        return self.server / "pgdata"

    @property
    def startup_log(self) -> Path:
        return self.server / "startup.log"


def settle(data_dir: Path, *, shelter: Path = SHELTER) -> Home:
    """Find the cluster's place, or make one."""
    data_dir = data_dir.absolute()
    control = _control_of(data_dir, shelter)
    if control is None:
        control = _choose_control(data_dir, shelter)
    account = _account_of(control / "server")
    home = Home(control, account)
    make_private(home.server, account)
    make_private(home.socket, account)
    return home


def find(data_dir: Path, *, shelter: Path = SHELTER) -> Home | None:
    """The cluster's place, if it has one; makes nothing."""
    control = _control_of(data_dir.absolute(), shelter)
    return None if control is None else Home(control, _account_of(control / "server"))


def forget(data_dir: Path) -> None:
    """Remove the word that the cluster lives elsewhere."""
    (data_dir.absolute() / _POINTER).unlink(missing_ok=True)


def make_private(folder: Path, account: Account) -> None:
    """A folder that only `account` (and root) can use, below one that only we can write."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        # An empty folder of ours is one whose maker was killed before it could hand it over.
        if found.st_uid != account.uid and not (found.st_uid == os.geteuid() == 0):
            raise EmbeddedError(_belongs_to(folder, found.st_uid)) from None
        if not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) & 0o077:
            raise EmbeddedError(
                f"expected {folder} to be a folder of mode 0700, got {stat.filemode(found.st_mode)}"
            ) from None
    if not account.is_self:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)


def make_shelter(shelter: Path) -> None:
    """Make the shelter, or see that nobody but root can have put anything into it."""
    try:
        shelter.mkdir(mode=0o755, parents=True)
    except FileExistsError:
        pass  # Made by another process, perhaps at this moment.
    else:
        shelter.chmod(0o755)
    found = shelter.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        raise EmbeddedError(
            f"expected {shelter} to be a folder that root alone can write, "
            f"got {stat.filemode(found.st_mode)} of uid {found.st_uid}"
        )


def reachable(folder: Path, account: Account) -> bool:
    """Whether the account may pass through a folder and all of its parents."""
    folder = folder.resolve()
    return all(_may_enter(each, account) for each in (folder, *folder.parents))


def _control_of(data_dir: Path, shelter: Path) -> Path | None:
    """Where the control folder is already; None when there is no cluster yet."""
    pointer = data_dir / _POINTER
    if pointer.exists():
        control = Path(pointer.read_text("utf-8").strip())
        if control.parent != shelter or not (control / "server").exists():
            # An empty cluster made now would look like lost data.
            raise EmbeddedError(
                f"expected the cluster of {data_dir} at {control} (as {pointer} says), found none: "
                f"restore that folder, or delete {pointer} to begin with an empty database"
            )
        return control
    return data_dir if (data_dir / "server").exists() else None


def _choose_control(data_dir: Path, shelter: Path) -> Path:
    if os.geteuid() != 0:
        _make_data_dir(data_dir, mode=0o700)
        return data_dir
    account = unprivileged_account()
    # A server that may be reached must be able to pass through the folder, but not to list it.
    _make_data_dir(data_dir, mode=0o711)
    return data_dir if reachable(data_dir, account) else _move_out(data_dir, shelter)


def _make_data_dir(data_dir: Path, *, mode: int) -> None:
    if not data_dir.exists():
        data_dir.mkdir(mode=mode, parents=True, exist_ok=True)
    found = data_dir.stat()
    if found.st_uid != os.geteuid():
        # Root below somebody else's folder could be led anywhere by its owner.
        raise EmbeddedError(_belongs_to(data_dir, found.st_uid))
    if found.st_mode & stat.S_IWOTH:
        raise EmbeddedError(
            f"expected {data_dir} to be a folder that not everyone can write, "
            f"got {stat.filemode(found.st_mode)}"
        )


def _move_out(data_dir: Path, shelter: Path) -> Path:
    """Make a control folder in the shelter and say so in the data folder, at most once."""
    make_shelter(shelter)
    control = shelter / f"cluster-{secrets.token_hex(8)}"
    control.mkdir(mode=0o711)
    control.chmod(0o711)
    (control / "server").mkdir(mode=0o700)
    (control / "data-dir").write_text(f"{data_dir}\n", "utf-8")
    draft = data_dir / f"{_POINTER}.{secrets.token_hex(4)}"
    _write_durably(draft, f"{control}\n")
    try:
        # Fails when another process was first, and then its word counts.
        os.link(draft, data_dir / _POINTER)
    except FileExistsError:
        (control / "data-dir").unlink()
        (control / "server").rmdir()
        control.rmdir()
        return Path((data_dir / _POINTER).read_text("utf-8").strip())
    finally:
        draft.unlink()
    return control


def _account_of(server: Path) -> Account:
    """The owner of the cluster's folder; whom to give it to when it has none yet."""
    me = own_account()
    if not server.exists():
        return unprivileged_account() if me.uid == 0 else me
    found = server.lstat()
    if found.st_uid == 0 and me.uid == 0:
        return unprivileged_account()
    if me.uid not in (0, found.st_uid):
        raise EmbeddedError(_belongs_to(server, found.st_uid))
    return Account(found.st_uid, found.st_gid)


def _may_enter(folder: Path, account: Account) -> bool:
    found = folder.stat()
    if found.st_uid == account.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def _write_durably(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)


def _belongs_to(folder: Path, uid: int) -> str:
    return (
        f"expected {folder} to belong to uid {os.geteuid()}, which runs this program, got uid "
        f"{uid}: run it as that user, or choose another data folder"
    )
