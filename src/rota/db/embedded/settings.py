"""How the embedded server is set: small, durable, and deaf to the network."""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PORT: Final = 5432
"""Only a part of the socket's name."""

_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster_name": "rota",
        # No network: the socket is the only way in.
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        # Nothing acknowledged is ever lost.
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        # Modest in memory and disk.
        "shared_buffers": "128MB",
        "min_wal_size": "80MB",
        "max_wal_size": "512MB",
        "wal_buffers": "16MB",
        "wal_compression": "on",
        # The hot tables are small and change all the time.
        "autovacuum_naptime": "15s",
        # Statements are short; compiling them costs more than it gains.
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # A week of logs in pgdata/log, each day's file overwritten a week later.
        "logging_collector": "on",
        "log_directory": "log",
        "log_filename": "postgresql-%a.log",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_truncate_on_rotation": "on",
        "log_line_prefix": "%m [%p] %a ",
    }
)


def arguments(socket_dir: Path, extra: Mapping[str, str]) -> list[str]:
    """As arguments of `postgres`.

    They win over the cluster's files, which stay as initdb made them: a newer Rota brings its newer
    settings along.
    """
    settings = {**_SETTINGS, **extra, "unix_socket_directories": str(socket_dir)}
    if sys.platform == "linux":
        # The statement of a process that was killed ends soon, with its locks. Elsewhere PostgreSQL
        # cannot do it, and refuses the setting.
        settings["client_connection_check_interval"] = "2s"
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def is_durable(extra: Mapping[str, str]) -> bool:
    """Whether the server keeps what it acknowledged through a power cut."""
    return {**_SETTINGS, **extra}["fsync"] == "on"
