"""The command line: `rota …`. One file per command or group; `app.py` puts them together."""

from rota.cli.app import main

__all__ = ["main"]
