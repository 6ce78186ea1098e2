"""Every setting, declared once: its name, kind, default and one line of help."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from rota.config import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rota.config.kinds import Kind, Shown


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set, and what it is called in each place."""

    name: str
    kind: Kind
    help: str
    flag: str

    @property
    def variable(self) -> str:
        return f"ROTA_{self.name.upper()}"


def _about(kind: Kind, help_: str, *, flag: str | None = None) -> dict[str, Any]:
    return {"kind": kind, "help": help_, "flag": flag}


def _seconds(low: float, high: float) -> Kind:
    return kinds.duration(timedelta(seconds=low), timedelta(seconds=high))


@dataclass(frozen=True, kw_only=True, repr=False)
class Config:
    """The settings in force, checked; made by `load`.

    `sources` says where each came from, in the words of the messages: "flag --port",
    "environment ROTA_PORT", "rota.toml", "default".
    """

    dsn: str | None = field(
        default=None,
        metadata=_about(kinds.DSN, "The PostgreSQL to use; without one, an embedded server"),
    )
    direct_dsn: str | None = field(
        default=None,
        metadata=_about(
            kinds.DSN, "The same database past the pooler, where dsn is a transaction pooler"
        ),
    )
    listen: bool = field(
        default=True,
        metadata=_about(kinds.YES_OR_NO, "Be woken by NOTIFY, over a connection; no: only poll"),
    )
    data_dir: Path = field(
        metadata=_about(kinds.FOLDER, "Where the embedded server keeps its data and keys"),
    )
    host: str = field(
        default="127.0.0.1",
        metadata=_about(kinds.HOST, "The address to listen on"),
    )
    port: int = field(
        default=7682,
        metadata=_about(kinds.whole_number(0, 65_535), "The port; 0 takes a free one"),
    )
    roles: tuple[str, ...] = field(
        default=kinds.ROLES,
        metadata=_about(kinds.ROLE_LIST, "What this process does", flag="--role"),
    )
    url: str | None = field(
        default=None,
        metadata=_about(kinds.URL, "The server that commands talk to; an embedded one is found"),
    )
    api_key: str | None = field(
        default=None,
        metadata=_about(kinds.KEY, "The key that commands use"),
    )
    admin_key: str | None = field(
        default=None,
        metadata=_about(kinds.KEY, "The first admin key; without one, it is made and printed once"),
    )
    public_url: str | None = field(
        default=None,
        metadata=_about(kinds.URL, "Where targets can reach the API, to complete long work"),
    )
    allow_private_targets: bool | None = field(
        default=None,
        metadata=_about(
            kinds.YES_OR_NO, "Let targets be private addresses; unset, only when embedded"
        ),
    )
    https_only: bool = field(
        default=False,
        metadata=_about(kinds.YES_OR_NO, "Refuse targets that are not https"),
    )
    allow_targets: tuple[str, ...] = field(
        default=(),
        metadata=_about(kinds.TARGETS, "Hosts and networks that may be targets though private"),
    )
    deny_targets: tuple[str, ...] = field(
        default=(),
        metadata=_about(kinds.TARGETS, "Hosts and networks that may never be targets"),
    )
    target_ports: tuple[int, ...] = field(
        default=(),
        metadata=_about(kinds.PORTS, "The ports that targets may have; any without this"),
    )
    pool_size: int = field(
        default=10,
        metadata=_about(
            kinds.whole_number(2, 1000), "Database connections, of all processes of this server"
        ),
    )
    shards: int = field(
        default=64,
        metadata=_about(kinds.whole_number(1, 4096), "Parts of the timers; fixed at first start"),
    )
    lead: timedelta = field(
        default=timedelta(seconds=2),
        metadata=_about(_seconds(0, 60), "How far ahead firings are prepared"),
    )
    lease_ttl: timedelta = field(
        default=timedelta(seconds=15),
        metadata=_about(_seconds(1, 600), "How long a lease is good without renewal"),
    )
    lease_renew_interval: timedelta = field(
        default=timedelta(seconds=5),
        metadata=_about(
            _seconds(0.1, 300), "How often leases are renewed; unset: a third of lease_ttl"
        ),
    )
    retention: timedelta = field(
        default=timedelta(days=30),
        metadata=_about(_seconds(86_400, 3650 * 86_400), "How long history is kept"),
    )
    capture_budget_mb: int = field(
        default=256,
        metadata=_about(
            kinds.whole_number(0, 1_000_000),
            "MB of requests and responses kept of a tenant in a day; 0: no limit",
        ),
    )
    secret_keys: str | None = field(
        default=None,
        metadata=_about(kinds.KEYS, "The key ring for secrets, the current key first"),
    )
    secret_keys_file: Path | None = field(
        default=None,
        metadata=_about(kinds.FILE, "The same, in a file that only its owner can read"),
    )
    request_rate: int | None = field(
        default=None,
        metadata=_about(
            kinds.whole_number(0, 1_000_000),
            "Requests a second of a tenant; 0: no limit; unset: 1000 with a DSN",
        ),
    )
    request_burst: int = field(
        default=2000,
        metadata=_about(kinds.whole_number(1, 1_000_000), "Of these, how many may come at once"),
    )
    anonymous_rate: int = field(
        default=100,
        metadata=_about(
            kinds.whole_number(0, 1_000_000),
            "Requests a second without a valid key from one address; 0: no limit",
        ),
    )
    max_connections: int | None = field(
        default=None,
        metadata=_about(
            kinds.whole_number(1, 1_000_000),
            "Open connections to the API; unset: as descriptors allow, up to 4096",
        ),
    )
    max_peer_connections: int | None = field(
        default=None,
        metadata=_about(
            kinds.whole_number(1, 1_000_000),
            "Of these, those from one address; unset: 512, and at most half of all",
        ),
    )
    trusted_proxies: tuple[str, ...] = field(
        default=(),
        metadata=_about(
            kinds.NETWORKS,
            "Reverse proxies: each stands for many, its X-Forwarded-* is believed",
        ),
    )
    host_rate: int = field(
        default=0,
        metadata=_about(
            kinds.whole_number(0, 100_000),
            "Requests a second to one host, over all workers; 0 for no limit",
        ),
    )
    host_concurrency: int = field(
        default=100,
        metadata=_about(
            kinds.whole_number(0, 100_000), "Requests at once to one host; 0 for no limit"
        ),
    )
    circuit_failures: int = field(
        default=20,
        metadata=_about(
            kinds.whole_number(0, 10_000),
            "Failures in a row after which a host is left alone; 0 for never",
        ),
    )
    circuit_interval: timedelta = field(
        default=timedelta(seconds=30),
        metadata=_about(
            _seconds(0.1, 600), "How long it is left alone at first, up to 10 minutes later"
        ),
    )
    celery_broker_url: str | None = field(
        default=None,
        metadata=_about(kinds.BROKER, "The broker that Celery tasks are sent through"),
    )
    metrics: bool = field(
        default=True,
        metadata=_about(kinds.YES_OR_NO, "Serve /metrics, which names nothing of a tenant's"),
    )
    metrics_port: int = field(
        default=0,
        metadata=_about(
            kinds.whole_number(0, 65_535),
            "Where a process without the API serves /metrics; 0 for nowhere",
        ),
    )
    apprise: bool | None = field(
        default=None,
        metadata=_about(
            kinds.YES_OR_NO, "Let channels use services other than webhooks; unset, if embedded"
        ),
    )
    sources: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    def is_from_file(self, name: str) -> bool:
        """Whether this setting was read from a `rota.toml`."""
        source = self.sources.get(name, "default")
        return source != "default" and not source.startswith(("flag ", "environment "))

    def redacted(self) -> dict[str, Shown]:
        """Every setting as it may be shown: plain values, with secrets hidden."""
        return {setting.name: self._show(setting) for setting in settings()}

    def _show(self, setting: Setting) -> Shown:
        value = getattr(self, setting.name)
        return None if value is None else setting.kind.show(value)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.redacted().items())
        return f"Config({shown})"


@cache
def settings() -> tuple[Setting, ...]:
    """The settings in the order they are shown."""
    return tuple(
        Setting(
            name=item.name,
            kind=item.metadata["kind"],
            help=item.metadata["help"],
            flag=item.metadata["flag"] or f"--{item.name.replace('_', '-')}",
        )
        for item in fields(Config)
        if "kind" in item.metadata
    )
