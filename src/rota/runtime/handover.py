"""Credentials that a start makes, handed to the person who started it.

On a terminal they are shown. Whatever else a program prints to is kept as a log, so there they go
to files that only their owner can read, and what is printed is the path.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rota.runtime import files
from rota.tenants import service, sessions
from rota.tenants.tenant import Principal

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path

    from rota.db import Database, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A credential to show, or the file that it is in."""

    text: str | None = field(default=None, repr=False)
    path: Path | None = None
    problem: str | None = None
    """Why there is no such file."""


def hand_key(key: str, folder: Path, *, is_terminal: bool) -> Handed:
    """The first admin key. Its file stays until somebody removes it."""
    return Handed(text=key) if is_terminal else _written(folder, files.FIRST_KEY, key)


async def hand_link(
    stack: AsyncExitStack, db: Database, url: str, folder: Path, *, is_terminal: bool
) -> Handed:
    """A link that signs in once. Its file is removed when the link is too old, or by the stack."""
    link = f"{url}/sign-in?token={(await new_token(db)).text}"
    if is_terminal:
        return Handed(text=link)
    handed = _written(folder, files.SIGN_IN_LINK, link)
    if handed.path is not None:

        def forget() -> None:
            files.forget(folder, files.SIGN_IN_LINK, link)

        timer = asyncio.get_running_loop().call_later(
            sessions.TOKEN_LIFETIME.total_seconds(), forget
        )
        stack.callback(forget)
        stack.callback(timer.cancel)
    return handed


async def new_token(db: Database) -> sessions.SignInToken:
    """A token that signs the operator in, once."""

    async def work(tx: Tx) -> sessions.SignInToken:
        tenant = await service.default_tenant(tx)
        operator = Principal(tenant=tenant, scopes=frozenset({"admin"}), key_id=None)
        token = await sessions.new_token(tx, operator)
        assert token is not None, "no key stands behind it"
        return token

    return await db.run(work)


def lines(*, url: str | None, sign_in: Handed | None, new_key: Handed | None) -> list[str]:
    """What to print about a server that has started. Scripts read it: one line for each thing."""
    said: list[str] = []
    if url is not None:
        said.append(f"Rota is at {url}  (API: {url}/docs)")
    match sign_in:
        case Handed(text=str(text)):
            said.append(f"Dashboard, this link signs you in once: {text}")
        case Handed(path=path) if path is not None:
            said.append(f"Dashboard, a link that signs you in once is in this file: {path}")
        case _:
            pass
    match new_key:
        case Handed(text=str(text)):
            said.append(f"The first admin key, shown only this once: {text}")
        case Handed(path=path) if path is not None:
            said.append(f"The first admin key, remove it once you have stored it: {path}")
        case Handed(problem=problem):
            said.append(
                f"The first admin key could not be written to a file ({problem}). Start again with "
                "ROTA_ADMIN_KEY set to a key of your own, and revoke the lost one: `rota key list`"
            )
        case None:
            pass
    return said


def _written(folder: Path, name: str, text: str) -> Handed:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write(folder, name, text)
    except OSError as error:
        return Handed(problem=str(error))
    return Handed(path=folder / name)
