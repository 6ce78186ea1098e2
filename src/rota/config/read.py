"""Finding and reading `rota.toml`: the part of the configuration that touches the machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rota.config.load import load
from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.config.settings import Config

_HERE = Path("rota.toml")
_MAX_BYTES = 1_000_000


def read(flags: Mapping[str, object], *, file: Path | None = None) -> Config:
    """`load` with this process's environment, and with `file`, or `rota.toml` here if any."""
    # Not Path.exists, which raises where the working folder is not ours to enter.
    path = file or (_HERE if os.path.exists(_HERE) else None)  # noqa: PTH110
    if path is None:
        return load(flags, os.environ)
    return load(flags, os.environ, _text(path), str(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            # Bounded: `--config /dev/zero` is a slip, not a reason to fill the memory.
            content = stream.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise _unreadable(path, "more than 1 MB")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise _unreadable(path, (error.strerror or str(error)).lower()) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"byte {error.start} that is not UTF-8") from error


def _unreadable(path: Path, got: str) -> InvalidConfig:
    return InvalidConfig((f"{path}: expected a TOML file, got {got}",))
