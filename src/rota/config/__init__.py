"""Settings: from flags, then `ROTA_*` variables, then `rota.toml`, then defaults.

`read` finds the file and is the only part that touches the machine; `load` is pure and reports all
problems at once, each as "key: expected …, got … (where from)". What may be set is declared once,
field by field, in `settings.py`. Secrets never appear in a message, a repr or `redacted()`.
"""

from rota.config.load import load
from rota.config.read import read
from rota.config.settings import Config, Setting, settings

__all__ = ["Config", "Setting", "load", "read", "settings"]
