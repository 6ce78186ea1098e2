"""From flags, environment and the text of `rota.toml` to a checked `Config`. Pure."""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.config import redact
from rota.config.settings import Config, Setting, settings
from rota.durations import compact
from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PREFIX = "ROTA_"
_DEFAULT = "default"

# Kubernetes gives every pod variables like these for every service in its namespace. With a
# service named "rota" they would pass for ours, and none of its pods would start.
_KUBERNETES = re.compile(
    r"ROTA_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_KUBERNETES_PORT = re.compile(r"ROTA_(\w+_)?PORT")
_KUBERNETES_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


@dataclass(frozen=True, slots=True)
class _Given:
    """A value somebody gave: for which key, and where."""

    key: str
    value: object
    source: str
    setting: Setting | None


def load(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    toml_text: str | None = None,
    toml_name: str = "rota.toml",
) -> Config:
    """The settings in force: a flag before a variable, before the file, before the default.

    `flags` goes by the names of settings; None means not given, as does an empty variable. Raises
    InvalidConfig with every problem there is, also in values that another source overrides.
    """
    table, problems = _parse(toml_text, toml_name)
    given = [*_flags(flags), *_variables(environ), *_keys(table, toml_name)]
    home = environ.get("HOME", "")
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    broken: set[str] = set()
    for item in given:
        value, problem = _read(item, home=home)
        name = item.setting.name if item.setting else item.key
        if problem:
            problems.append(problem)
            broken.add(name)
        elif name not in values:
            values[name], sources[name] = value, item.source
    values.setdefault("data_dir", default_data_dir(environ))
    if "lease_ttl" in values and "lease_renew_interval" not in values:
        values["lease_renew_interval"] = values["lease_ttl"] / 3
    for setting in settings():
        sources.setdefault(setting.name, _DEFAULT)
    config = Config(**values, sources=sources)
    problems += [text for names, text in _disagreements(config) if not broken & names]
    if problems:
        raise InvalidConfig(tuple(problems))
    return config


def default_data_dir(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The user's data folder for Rota; the system's when there is no home, as under systemd."""
    shared = environ.get("XDG_DATA_HOME", "")
    home = environ.get("HOME", "")
    # The XDG rules say to ignore a relative path: it would move with the working folder.
    if shared.startswith("/"):
        return Path(shared) / "rota"
    if not home:
        return Path("/var/lib/rota")
    if platform == "darwin":
        return Path(home) / "Library" / "Application Support" / "rota"
    return Path(home) / ".local" / "share" / "rota"


def _parse(text: str | None, name: str) -> tuple[dict[str, Any], list[str]]:
    try:
        return tomllib.loads(text or ""), []
    except (ValueError, RecursionError) as error:
        reason = "values nested too deeply" if isinstance(error, RecursionError) else str(error)
        return {}, [f"{name}: expected TOML, got {reason}"]


def _flags(flags: Mapping[str, object]) -> Iterable[_Given]:
    known = {setting.name: setting for setting in settings()}
    for name, value in flags.items():
        if value is None:
            continue
        setting = known.get(name)
        flag = setting.flag if setting else f"--{name.replace('_', '-')}"
        yield _Given(name, value, f"flag {flag}", setting)


def _variables(environ: Mapping[str, str]) -> Iterable[_Given]:
    known = {setting.variable: setting for setting in settings()}
    for name, value in environ.items():
        if name.startswith(_PREFIX) and value and not _is_from_kubernetes(name, value):
            yield _Given(name, value, f"environment {name}", known.get(name))


def _is_from_kubernetes(name: str, value: str) -> bool:
    is_port = _KUBERNETES_PORT.fullmatch(name) and _KUBERNETES_ADDRESS.match(value)
    return bool(is_port or _KUBERNETES.fullmatch(name))


def _keys(table: Mapping[str, object], toml_name: str) -> Iterable[_Given]:
    known = {setting.name: setting for setting in settings()}
    for name, value in table.items():
        yield _Given(name, value, toml_name, known.get(name))


def _read(given: _Given, *, home: str) -> tuple[Any, str | None]:
    """The value and no problem, or no value and the problem."""
    setting = given.setting
    if setting is None:
        return None, _unknown(given)
    value = setting.kind.read(given.value)
    if isinstance(value, Path):
        value = _at_home(value, home)
    if value is not None:
        return value, None
    kind = setting.kind
    got = kind.got(given.value)
    return None, f"{setting.name}: expected {kind.expected}, got {got} ({given.source})"


def _at_home(path: Path, home: str) -> Path | None:
    """`~/x` in the home folder; None for what a shell would have to know (`~somebody`)."""
    first, *rest = path.parts or (".",)
    if not first.startswith("~"):
        return path
    return Path(home, *rest) if first == "~" and home else None


def _unknown(given: _Given) -> str:
    # Only the key is shown: the value of a misspelt secret is still a secret.
    variable = given.source.startswith("environment")
    names = [setting.variable if variable else setting.name for setting in settings()]
    near = difflib.get_close_matches(given.key, names, n=1)
    key = given.key if given.key.isidentifier() else redact.got(given.key)
    hint = f"; did you mean {near[0]}?" if near else "; `rota config check` lists what can be set"
    return f"{key}: expected the name of a setting, got an unknown one ({given.source}){hint}"


def _disagreements(config: Config) -> Iterable[tuple[set[str], str]]:
    """Values that are fine alone and not together, with the names involved."""
    if config.lease_renew_interval * 2 >= config.lease_ttl:
        # Otherwise one renewal that comes late loses the lease, and every shard moves for nothing.
        limit = compact(config.lease_ttl / 2)
        got = compact(config.lease_renew_interval)
        source = config.sources["lease_renew_interval"]
        text = f"expected less than half of lease_ttl ({limit}), got {got} ({source})"
        yield {"lease_renew_interval", "lease_ttl"}, f"lease_renew_interval: {text}"
